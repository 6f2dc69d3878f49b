//! Systems with a name, judged in every order of their constraints.

use broadloom_core::Role;

use crate::definition::closing::{Verdict, close};
use crate::definition::solve::{Outcome, solve};
use crate::definition::system::{Dim, System, Term, Value};

const UNIT: Value = Value::Unit;

fn sizes(sizes: &[u64]) -> Vec<Dim> {
    sizes.iter().map(|size| Dim::Size(*size)).collect()
}

fn closed(of: &[u64]) -> Term {
    Term::closed(&sizes(of))
}

fn values(of: &[u64]) -> Vec<Value> {
    of.iter().map(|size| Value::Size(*size)).collect()
}

/// All orders of the constraints; of more than five, those that rotate them.
fn orders(system: &System) -> Vec<System> {
    let mut orders = vec![Vec::new()];
    if system.says.len() > 5 {
        let rotate = |by: usize| {
            let mut other = system.clone();
            other.says.rotate_left(by);
            other
        };
        return (0..system.says.len()).map(rotate).collect();
    }
    for _ in 0..system.says.len() {
        orders = orders
            .into_iter()
            .flat_map(|order: Vec<usize>| {
                let rest: Vec<usize> = (0..system.says.len()).filter(|at| !order.contains(at)).collect();
                rest.into_iter().map(move |at| [&order[..], &[at]].concat())
            })
            .collect();
    }
    let pick = |order: Vec<usize>| System {
        says: order.into_iter().map(|at| system.says[at].clone()).collect(),
        ..system.clone()
    };
    orders.into_iter().map(pick).collect()
}

/// The definition gives a row these axes, and so does the solver, whatever the order.
#[track_caller]
fn closes(system: &System, row: usize, axes: &[Value]) {
    let Verdict::Shapes(mine) = close(system).verdict else { panic!("no shapes by definition:\n{system}") };
    assert_eq!(mine.rows[row], axes, "by definition, in\n{system}");
    for order in orders(system) {
        let Outcome::Shapes(theirs) = solve(&order) else { panic!("refused:\n{order}") };
        assert_eq!(theirs, mine, "in\n{order}");
    }
}

/// A system with some leaves.
fn leaves(count: usize) -> System {
    let mut system = System::default();
    (0..count).for_each(|_| _ = system.row(Role::Leaf, 0));
    system
}

fn sum(system: &mut System, opnds: &[Term]) -> usize {
    let res = system.row(Role::Interior, opnds.iter().map(|opnd| opnd.lead.len()).max().unwrap_or(0));
    system.sum(res, opnds);
    res
}

/// A reader's silence is no claim: `{y ⊑ [784], y ⊑ g, r ⊑ g}`.
#[test]
fn a_silent_reader_takes_no_axes_away() {
    let mut system = leaves(1);
    let (y, r) = (system.row(Role::Interior, 0), system.row(Role::Interior, 0));
    system.refine(Term::var(y), closed(&[784]));
    system.refine(Term::var(y), Term::var(0));
    system.refine(Term::var(r), Term::var(0));
    closes(&system, 0, &values(&[784]));
}

/// `x + b` with `relu(b)`.
#[test]
fn a_bias_has_the_axes_of_what_it_is_added_to() {
    let mut system = leaves(1);
    sum(&mut system, &[closed(&[5, 3]), Term::var(0)]);
    sum(&mut system, &[Term::var(0)]);
    closes(&system, 0, &values(&[5, 3]));
}

/// `(b + c) + x`: both have the axes of `x`, and no more.
#[test]
fn leaves_do_not_support_each_other() {
    let mut system = leaves(2);
    let inner = sum(&mut system, &[Term::var(0), Term::var(1)]);
    sum(&mut system, &[Term::var(inner), closed(&[3])]);
    closes(&system, 0, &values(&[3]));
    closes(&system, 1, &values(&[3]));
}

/// `b + c` alone: nothing says that they have axes.
#[test]
fn leaves_alone_have_no_axes() {
    let mut system = leaves(2);
    sum(&mut system, &[Term::var(0), Term::var(1)]);
    closes(&system, 0, &[]);
}

/// `t = v + b`, `h = t * x`: `b` has the axes of `v`.
#[test]
fn the_nearest_use_decides() {
    let mut system = leaves(1);
    let t = sum(&mut system, &[closed(&[3]), Term::var(0)]);
    sum(&mut system, &[Term::var(t), closed(&[2, 5, 3])]);
    closes(&system, 0, &values(&[3]));
}

/// `[oh, ow, ⟨c⟩] * gain` with a vector `gain`.
#[test]
fn channels_have_the_axis_of_a_gain() {
    let mut system = leaves(1);
    sum(&mut system, &[Term::open(&sizes(&[7, 7]), 0, &[]), closed(&[3])]);
    closes(&system, 0, &values(&[3]));
}

/// A rate used with `[3]` and `[8, 3]` has one axis; with `[5]` besides, it is the unit.
#[test]
fn different_uses_have_something_in_common() {
    let mut system = leaves(1);
    sum(&mut system, &[Term::var(0), closed(&[3])]);
    sum(&mut system, &[Term::var(0), closed(&[8, 3])]);
    closes(&system, 0, &values(&[3]));
    sum(&mut system, &[Term::var(0), closed(&[5])]);
    closes(&system, 0, &[UNIT]);
}

/// The same with the longer use first: it is not enough to be longer by one axis only.
#[test]
fn the_shortest_use_decides() {
    let mut system = leaves(1);
    sum(&mut system, &[Term::var(0), closed(&[8, 3])]);
    sum(&mut system, &[Term::var(0), closed(&[3])]);
    closes(&system, 0, &values(&[3]));
}

/// Two leaves that are added, one used at 3 and one at 5: nothing says which of them is to be had.
#[test]
fn a_family_with_two_sizes_relaxes() {
    let mut system = leaves(2);
    sum(&mut system, &[Term::var(0), closed(&[3])]);
    sum(&mut system, &[Term::var(1), closed(&[5])]);
    sum(&mut system, &[Term::var(0), Term::var(1)]);
    closes(&system, 0, &[UNIT]);
    closes(&system, 1, &[UNIT]);
}

/// A filler takes what is there, after the leaves, and nobody takes anything from it.
#[test]
fn a_filler_comes_last() {
    let mut system = leaves(1);
    let filler = system.row(Role::Filler, 0);
    sum(&mut system, &[Term::var(0), Term::var(filler)]);
    closes(&system, 0, &[]);
    sum(&mut system, &[Term::var(0), closed(&[3])]);
    closes(&system, filler, &values(&[3]));
}

/// `[⟨a⟩, 5] + b`: the axis is there, whatever `a` is.
#[test]
fn a_flank_is_there() {
    let mut system = leaves(2);
    sum(&mut system, &[Term::open(&[], 0, &sizes(&[5])), Term::var(1)]);
    closes(&system, 1, &values(&[5]));
}

/// The same where `a` is a filler.
#[test]
fn a_flank_of_a_filler_is_there() {
    let mut system = leaves(1);
    let filler = system.row(Role::Filler, 0);
    sum(&mut system, &[Term::open(&[], filler, &sizes(&[5])), Term::var(0)]);
    closes(&system, 0, &values(&[5]));
}

/// `a ≈ [3, ⟨s⟩]`, `b + s`: the 3 stands before `s`, and says nothing about `b`.
#[test]
fn what_stands_before_a_row_is_no_part_of_it() {
    let mut system = leaves(2);
    let rest = system.row(Role::Interior, 0);
    system.equate(Term::var(0), Term::open(&sizes(&[3]), rest, &[]));
    sum(&mut system, &[Term::var(1), Term::var(rest)]);
    closes(&system, 1, &[]);
}

/// Four rows that are tied, `d ≈ [5, ⟨c⟩]` said first and last: what a row has more than the others is kept, whichever way it is
/// found.
#[test]
fn tied_rows_differ_by_what_stands_between_them() {
    let mut system = leaves(4);
    let longer = |row| Term::open(&sizes(&[5]), row, &[]);
    system.equate(Term::var(3), longer(2));
    system.equate(Term::var(2), Term::var(1));
    system.equate(Term::var(1), Term::var(0));
    system.equate(Term::var(3), longer(1));
    sum(&mut system, &[Term::var(2), closed(&[3])]);
    closes(&system, 0, &values(&[3]));
    closes(&system, 3, &values(&[5, 3]));
}

/// `a ≈ [3, ⟨s⟩]` with the 3 before the marker of `a`: in `a + [7]`, the 7 faces the last axis of `s`, which has no more.
#[test]
fn what_stands_before_a_marker_does_not_reach() {
    let mut system = System::default();
    let (a, s) = (system.row(Role::Leaf, 1), system.row(Role::Interior, 0));
    system.equate(Term::var(a), Term::open(&sizes(&[3]), s, &[]));
    let result = system.row(Role::Interior, 1);
    system.sum(result, &[Term::var(a), closed(&[7])]);
    sum(&mut system, &[Term::var(s), closed(&[2, 4, 7])]);
    closes(&system, s, &values(&[7]));
}

/// Two leaves, one used at 3 and one at 5, that meet only two steps below: a family, too.
#[test]
fn families_reach_through_results() {
    let mut system = leaves(2);
    let used = |system: &mut System, leaf, size| {
        sum(system, &[Term::var(leaf), closed(&[size])]);
        let result = system.row(Role::Interior, 0);
        system.refine(Term::var(result), Term::var(leaf));
        result
    };
    let (c, d) = (used(&mut system, 0, 3), used(&mut system, 1, 5));
    let e = system.row(Role::Interior, 0);
    system.refine(Term::var(e), Term::var(c));
    system.refine(Term::var(e), Term::var(d));
    closes(&system, 0, &[UNIT]);
    closes(&system, 1, &[UNIT]);
}

/// `d ⊑ a`, `d ⊑ b`, and `a` meets `c`, which is used at 5. With `d` open, they are one family; with `d = 3`, `b` is not of it.
#[test]
fn a_known_size_makes_no_family() {
    let mut system = System::default();
    let [a, b, c] = [(); 3].map(|()| Dim::Var(system.dim(Role::Leaf)));
    let [d, e] = [(); 2].map(|()| Dim::Var(system.dim(Role::Interior)));
    let row = system.row(Role::Interior, 0);
    for (res, opnd) in [(d, a), (d, b), (e, a), (e, c), (Dim::Size(5), c)] {
        system.refine(Term::closed(&[res]), Term::closed(&[opnd]));
    }
    system.equate(Term::var(row), Term::closed(&[a, b, c]));
    system.equate(Term::closed(&[d]), closed(&[3]));
    closes(&system, row, &[UNIT, Value::Size(3), UNIT]);
}

/// `[3, ⟨a⟩] ⊑ [⟨b⟩, 3]` with `a ⊑ b ⊑ a`: each axis faces the one before it, and the first of them nothing.
#[test]
fn a_circle_gives_no_axes() {
    let mut system = leaves(2);
    system.refine(Term::open(&sizes(&[3]), 0, &[]), Term::open(&[], 1, &sizes(&[3])));
    system.refine(Term::var(0), Term::var(1));
    system.refine(Term::var(1), Term::var(0));
    closes(&system, 0, &[]);
    closes(&system, 1, &[]);
}

/// `a + [⟨a⟩, 5]`: the 5 stands behind `a` itself, and gives it no axis.
#[test]
fn a_leaf_does_not_face_itself() {
    let mut system = leaves(1);
    sum(&mut system, &[Term::var(0), Term::open(&[], 0, &sizes(&[5]))]);
    closes(&system, 0, &[]);
}
