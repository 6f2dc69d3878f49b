//! Changes of a system that must change no shape.

use broadloom_core::Role;
use broadloom_testing::Dice;

use super::system::{Dim, Says, Shapes, System, Term, Value};

/// The constraints in another order, and the sides of equalities swapped at random.
pub fn shuffled(system: &System, rng: &mut Dice) -> System {
    let mut other = system.clone();
    for left in (1..=other.says.len()).rev() {
        other.says.swap(left - 1, rng.below(left));
    }
    for says in &mut other.says {
        match says {
            Says::Eq(a, b) if rng.percent(50) => std::mem::swap(a, b),
            Says::Made(_, opnds) if rng.percent(50) => opnds.reverse(),
            _ => {}
        }
    }
    other
}

/// One constraint said twice.
pub fn repeated(system: &System, rng: &mut Dice) -> System {
    let mut other = system.clone();
    if !system.says.is_empty() {
        other.says.push(system.says[rng.below(system.says.len())].clone());
    }
    other
}

/// One leaf read by a new result that is made of it alone.
pub fn with_reader(system: &System, rng: &mut Dice) -> Option<System> {
    let row = leaf(system, rng, |role| role != Role::Interior)?;
    let mut other = system.clone();
    let reader = other.row(Role::Interior, system.rows[row].marker);
    other.sum(reader, &[Term::var(row)]);
    Some(other)
}

/// The number of axes that was found for a leaf, stated.
pub fn with_rank(system: &System, shapes: &Shapes, rng: &mut Dice) -> Option<System> {
    let row = leaf(system, rng, |role| matches!(role, Role::Leaf | Role::Param))?;
    let mut other = system.clone();
    let axes: Vec<Dim> = shapes.rows[row].iter().map(|_| Dim::Var(other.dim(Role::Interior))).collect();
    other.equate(Term::var(row), Term::closed(&axes));
    Some(other)
}

/// The shape that was found for a leaf, stated; but not of these rows.
pub fn with_shape(system: &System, shapes: &Shapes, but: &[usize], rng: &mut Dice) -> Option<System> {
    let row = leaf(system, rng, |role| matches!(role, Role::Leaf | Role::Param))?;
    if but.contains(&row) {
        return None;
    }
    let stated = |value: &Value| match value {
        Value::Unit => Dim::Unit,
        Value::Size(size) => Dim::Size(*size),
    };
    let axes: Vec<Dim> = shapes.rows[row].iter().map(stated).collect();
    let mut other = system.clone();
    other.equate(Term::var(row), Term::closed(&axes));
    Some(other)
}

fn leaf(system: &System, rng: &mut Dice, is: impl Fn(Role) -> bool) -> Option<usize> {
    let rows: Vec<usize> = (0..system.rows.len()).filter(|row| is(system.rows[*row].role)).collect();
    (!rows.is_empty()).then(|| rng.pick(&rows))
}
