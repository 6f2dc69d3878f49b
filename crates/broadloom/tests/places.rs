//! Errors name the steps they refer to, so that a front end can show the places in the source.

use broadloom::{Error, ErrorKind, Graph, MessageLine, Routine, SpecOptions, StepId, Tensor};

/// The steps and short texts of some parts.
fn places(parts: &[MessageLine]) -> Vec<(Option<usize>, Option<&str>)> {
    parts.iter().map(|part| (part.step.map(StepId::index), part.short.as_deref())).collect()
}

/// The place of the step that an error is about.
fn place(error: &Error) -> Option<usize> {
    error.step().map(StepId::index)
}

/// The error of a refused step, which has the place that the step would have had.
fn refused(graph: &mut Graph, make: impl FnOnce(&mut Graph) -> Result<Tensor, Error>) -> Error {
    let (steps, tensors) = (graph.steps(), graph.len());
    let error = make(graph).expect_err("a mistake");
    assert_eq!(place(&error), Some(steps), "{error}");
    assert_eq!((graph.steps(), graph.len()), (steps, tensors), "a refused step leaves no trace");
    error
}

#[test]
fn both_ends_and_the_links_between() -> Result<(), Error> {
    let mut g = Graph::new();
    let x = g.data("x", "32 | 784")?; // 0
    let (w, b) = (g.param("w"), g.param_shaped("b", "64")?); // 1, 2
    let hidden = g.compose(w, x)?; // 3
    let hidden = g.add(hidden, b)?; // 4
    let hidden = g.relu(hidden)?; // 5
    let target = g.data("target", "32 | 10")?; // 6
    let error = refused(&mut g, |g| g.sub(hidden, target));
    assert_eq!(places(error.ends()), [(Some(2), Some("64")), (Some(6), Some("10"))], "{error}");
    let steps: Vec<_> = error.chain().iter().map(|link| link.step.map(StepId::index)).collect();
    assert_eq!(steps, [Some(4), Some(5), Some(7)], "{error}");
    let last = &error.chain()[2];
    assert!(last.text.starts_with("here: "));
    assert_eq!(Some(&last.text["here: ".len()..]), last.short.as_deref());
    Ok(())
}

#[test]
fn what_never_becomes_a_step() -> Result<(), Error> {
    let mut g = Graph::new();
    let x = g.data("x", "32 | 784")?;
    let other = {
        let mut other = Graph::new();
        (0..9).map(|_| other.number(1.0)).last().expect("nine")
    };
    refused(&mut g, |g| g.data("y", "3 ->> 4"));
    refused(&mut g, |g| g.data("y", "3:unit"));
    refused(&mut g, |g| g.einsum("i j =>> i", &[x]));
    refused(&mut g, |g| g.einsum("i; j => i j", &[x]));
    refused(&mut g, |g| g.einsum("... | 2*o+k; k => o", &[x, x]));
    refused(&mut g, |g| {
        g.einsum_with(
            "i | j => i",
            &[x],
            &SpecOptions { coefficients: &[("s", 2)], ..SpecOptions::default() },
        )
    });
    refused(&mut g, |g| g.add(x, other));
    refused(&mut g, |g| g.pointwise("+", &[]));
    refused(&mut g, |g| g.convert(x, 0, 1));
    let number = g.number(3.0);
    refused(&mut g, |g| g.gather(x, number));
    Ok(())
}

#[test]
fn sizes_that_were_set() -> Result<(), Error> {
    let mut g = Graph::new();
    let x = g.data("x", "6, 4")?;
    let y = g.einsum("i j => j i", &[x])?;
    let i = g.captured(y, "i")?;
    let steps = g.steps();
    let error = g.set(i, 5).expect_err("a mistake");
    assert_eq!(place(&error), Some(steps));
    assert_eq!(places(error.ends()), [(Some(0), Some("6")), (Some(steps), Some("5"))], "{error}");
    assert_eq!(place(&g.scale(i, 0, i).expect_err("a mistake")), Some(steps));
    assert_eq!(place(&g.set(i, 0).expect_err("a mistake")), Some(steps));
    Ok(())
}

#[test]
fn windows_say_where_their_sizes_come_from() -> Result<(), Error> {
    let mut g = Graph::new();
    let (x, kernel) = (g.data("x", "9")?, g.data("kernel", "3")?);
    let error = refused(&mut g, |g| g.einsum("5*o<+k; k => o", &[x, kernel]));
    assert_eq!(error.kind(), ErrorKind::Arithmetic);
    assert_eq!(error.ends()[0].step, g.step_of(x), "{error}");
    assert_eq!(error.ends()[1].step, error.step(), "{error}");
    let (short, wide) = (g.data("short", "2")?, g.data("wide", "5")?);
    let error = refused(&mut g, |g| g.einsum("o<+k; k => o", &[short, wide]));
    assert_eq!(places(error.ends()), [(g.step_of(short).map(StepId::index), Some("2"))], "{error}");
    Ok(())
}

#[test]
fn assignments_of_one_text() -> Result<(), Error> {
    let mut g = Graph::new();
    let (x, y) = (g.data("x", "3")?, g.data("y", "4")?);
    let mut routine = Routine::new("two");
    let steps = g.steps();
    // The second of two is refused, and the first is retracted with it.
    let names = [("x", x), ("y", y)];
    let error = routine.assign(&mut g, "{a} = x; {b} = a + y", &names).expect_err("a mistake");
    assert_eq!(place(&error), Some(steps + 1), "{error}");
    assert_eq!(g.steps(), steps);
    let error = routine.assign(&mut g, "{a} = x; c = y", &names).expect_err("a mistake");
    assert_eq!(place(&error), Some(steps + 1), "{error}");
    Ok(())
}

#[test]
fn assignments_shown_as_the_caller_likes() -> Result<(), Error> {
    let mut g = Graph::new();
    let (p, gradient) = (g.param_shaped("p", "3")?, g.data("p.grad", "4")?);
    let mut routine = Routine::new("step");
    let names = [("p", p), ("p.grad", gradient)];
    let error = routine.assign(&mut g, "p =- 0.1 * p.grad", &names).expect_err("a mistake");
    assert!(error.message().starts_with("`p =- 0.1 * p.grad`: "), "{error}");
    let error = routine
        .assign_as(&mut g, ".", "p =- 0.1 * p.grad", &names, "p -= rate * grad")
        .expect_err("a mistake");
    assert!(error.message().starts_with("`p -= rate * grad`: "), "{error}");
    Ok(())
}

#[test]
fn every_parameter_that_lacks_a_size() -> Result<(), Error> {
    let mut g = Graph::new();
    let x = g.data("x", "32 | 784")?;
    let (w1, w2, w3) = (g.param("w1"), g.param("w2"), g.param("w3"));
    let unused = g.param("unused");
    let hidden = g.compose(w1, x)?;
    let product = g.step_of(hidden);
    let hidden = g.compose(w2, hidden)?;
    let y = g.compose(w3, hidden)?;
    let target = g.data("target", "32 | 10")?;
    g.sub(y, target)?;
    let missing = g.undetermined();
    let about: Vec<_> = missing.iter().map(Error::step).collect();
    assert_eq!(about, [w1, w2, w3].map(|param| g.step_of(param)));
    assert!(missing.iter().all(|error| error.kind() == ErrorKind::Undetermined));
    assert!(g.step_of(unused).is_some());
    // The place where its size could have come from.
    assert!(missing[0].ends().iter().any(|end| end.step == product), "{}", missing[0]);
    // The one error of the whole program is about the first of them.
    let first = g.final_shapes().expect_err("sizes are missing");
    assert_eq!(first.step(), g.step_of(w1));
    // One stated size determines some of them, and leaves others open.
    let b = g.data("b", "64")?;
    g.add(hidden, b)?;
    let missing = g.undetermined();
    assert_eq!(missing.iter().map(Error::step).collect::<Vec<_>>(), [w1, w2].map(|param| g.step_of(param)));
    let b = g.data("b", "32")?;
    let product = g.compose(w1, x)?;
    g.add(product, b)?;
    assert_eq!(g.undetermined(), []);
    Ok(())
}

#[test]
fn labels_of_declarations() -> Result<(), Error> {
    let mut g = Graph::new();
    let w = g.param_shaped("w", "n -> n")?;
    let table = g.param_shaped("table", "vocabulary -> ..d..")?;
    let x = g.data("x", "... | m=3")?;
    let n = g.captured(w, "n")?;
    assert_eq!(g.size(n), None);
    let m = g.captured(x, "m")?;
    assert_eq!(g.size(m), Some(3));
    g.scale(n, 2, m)?;
    assert_eq!(g.final_shape(w)?.to_string(), "6 -> 6");
    // A row, by its name or by its kind.
    let d = g.captured(table, "d")?;
    let square = g.einsum("i -> j => j -> i", &[w])?;
    let i = g.captured(square, "i")?;
    let vocabulary = g.captured(table, "vocabulary")?;
    g.equal(vocabulary, i)?;
    g.set(d, 8)?;
    assert_eq!(g.final_shape(table)?.to_string(), "6 -> 8");
    let batch = g.captured(x, "batch")?;
    g.set(batch, 5)?;
    assert_eq!(g.final_shape(x)?.to_string(), "5 | 3");
    let size = g.size_number(batch)?;
    assert_eq!(g.label_of(size), "... of the batch row");
    Ok(())
}

#[test]
fn labels_that_are_not_declared() -> Result<(), Error> {
    let mut g = Graph::new();
    let x = g.data("x", "n | m, ..r..")?;
    let error = g.captured(x, "k").expect_err("a mistake").to_string();
    assert_eq!(error, "there is no `k` in `n | m, ..r..`, the shape of `x`\nhelp: it has `n`, `m`, `r`");
    assert!(g.captured(x, "output").is_err(), "its output has a name");
    let plain = g.data("plain", "3, 4")?;
    let error = g.captured(plain, "n").expect_err("a mistake");
    assert_eq!(error.message(), "`plain` was not made by a spec, so it has no `n`");
    Ok(())
}

#[test]
fn conflicts_about_labels_of_declarations() -> Result<(), Error> {
    let mut g = Graph::new();
    let (w, x) = (g.param_shaped("w", "n -> m")?, g.data("x", "8 | 6")?);
    let y = g.compose(w, x)?;
    let bias = g.data("bias", "4")?;
    g.add(y, bias)?;
    let n = g.captured(w, "n")?;
    let error = g.set(n, 5).expect_err("a mistake");
    assert_eq!(error.message(), "`n` of `w` cannot be both 6 and 5", "{error}");
    assert_eq!(places(error.ends())[0], (g.step_of(x).map(StepId::index), Some("6")), "{error}");
    let m = g.captured(w, "m")?;
    g.set(n, 6)?;
    let error = g.scale(n, 4, m).expect_err("a mistake");
    assert_eq!(error.message(), "`n` of `w` is 6, which is not a multiple of 4", "{error}");
    assert_eq!(error.ends()[0].step, g.step_of(w));
    Ok(())
}
