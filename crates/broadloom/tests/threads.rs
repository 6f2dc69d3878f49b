//! Graphs and sessions go to other threads; values are lent and taken without a copy.

use std::sync::Arc;

use broadloom::{Array, Copied, Dtype, Error, GivenValues, Graph, Lent, Routine, Session, Shapes, Tensor};

/// These have to be usable from any thread: Python calls them from whichever it has.
#[test]
fn other_threads() {
    fn goes<T: Send + Sync>() {}
    goes::<Graph>();
    goes::<Shapes>();
    goes::<Routine>();
    goes::<Error>();
    fn moves<T: Send>() {}
    moves::<Session>();
}

/// `y = 2 * x` with `x` of three numbers, and what computes it.
fn doubled() -> Result<(Session, Tensor, Tensor, Routine), Error> {
    let mut g = Graph::new();
    let x = g.data("x", "3")?;
    let two = g.number(2.0);
    let y = g.mul(two, x)?;
    let mut routine = Routine::new("double");
    routine.forward(y);
    Ok((Session::new(g)?, x, y, routine))
}

fn shared(numbers: [f32; 3]) -> Result<Arc<Array>, Error> {
    Ok(Arc::new(Array::from_slice(&[3], &numbers)?))
}

#[test]
fn lent_values_are_read_where_they_are() -> Result<(), Error> {
    let (mut session, x, y, routine) = doubled()?;
    let owner = shared([1.0, 2.0, 3.0])?;
    assert_eq!(session.give(&[(x, GivenValues::Lent(Lent::of(&owner)))])?, [None]);
    assert_eq!(Arc::strong_count(&owner), 2, "the session holds on to them");
    session.run(&routine)?;
    session.give_back();
    assert_eq!(Arc::strong_count(&owner), 1, "and lets go");
    assert_eq!(session.get(y)?.to_f64s(), [2.0, 4.0, 6.0]);
    assert!(!session.has_values(x));
    assert!(session.run(&routine).is_err(), "nothing is left of them");
    Ok(())
}

#[test]
fn values_of_another_type_are_copied() -> Result<(), Error> {
    let (mut session, x, y, routine) = doubled()?;
    let owner = Arc::new(Array::from_slice(&[3], &[1i32, 2, 3])?);
    let copied = session.give(&[(x, GivenValues::Lent(Lent::of(&owner)))])?;
    assert_eq!(copied, [Some(Copied::Type { given: Dtype::I32, stored: Dtype::F32 })]);
    session.run(&routine)?;
    assert_eq!(session.get(y)?.to_f64s(), [2.0, 4.0, 6.0]);
    Ok(())
}

#[test]
fn what_windows_read_is_copied() -> Result<(), Error> {
    let mut g = Graph::new();
    let x = g.data("x", "3")?;
    let kernel = g.array("kernel", "3", Array::from_slice(&[3], &[1.0f32, 1.0, 1.0])?)?;
    let y = g.einsum("o=+k; k => o", &[x, kernel])?;
    let mut routine = Routine::new("sums");
    routine.forward(y);
    let mut session = Session::new(g)?;
    let owner = shared([1.0, 2.0, 4.0])?;
    assert_eq!(session.give(&[(x, GivenValues::Lent(Lent::of(&owner)))])?, [Some(Copied::Margins)]);
    session.run(&routine)?;
    assert_eq!(session.take(y)?.numbers(), [3.0, 7.0, 6.0]);
    Ok(())
}

/// A run that assigns to data has memory of its own for it.
#[test]
fn lent_values_are_never_written() -> Result<(), Error> {
    let mut g = Graph::new();
    let x = g.data("x", "3")?;
    let mut routine = Routine::new("grow");
    routine.assign(&mut g, "x =+ 1", &[("x", x)])?;
    routine.forward(x);
    let mut session = Session::new(g)?;
    let owner = shared([1.0, 2.0, 3.0])?;
    session.give(&[(x, GivenValues::Lent(Lent::of(&owner)))])?;
    session.run(&routine)?;
    assert_eq!(session.get(x)?.to_f64s(), [2.0, 3.0, 4.0]);
    assert_eq!(owner.to_f64s(), [1.0, 2.0, 3.0]);
    Ok(())
}

/// A value that was taken out of a session stays as it is in later runs; it is aligned for any vector
/// instruction.
#[test]
fn taken_values_stay() -> Result<(), Error> {
    let (mut session, x, y, routine) = doubled()?;
    let mut results = Vec::new();
    for number in 0..3 {
        session.set(x, &Array::from_slice(&[3], &[number as f32; 3])?)?;
        session.run(&routine)?;
        results.push(session.take(y)?);
        assert!(session.get(y).is_err(), "it is not there any more");
    }
    for (number, taken) in results.iter_mut().enumerate() {
        assert_eq!(taken.numbers(), [2.0 * number as f64; 3]);
        assert!(taken.address().addr().is_multiple_of(64));
    }
    assert_eq!(session.take(x)?.numbers(), [2.0; 3]);
    assert_eq!(session.get(x)?.to_f64s(), [2.0; 3], "a leaf is copied");
    Ok(())
}
