//! Tests of the judge and the search: hand-made cases, and agreement of the search with the plain
//! product of all assignments.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use crate::arithmetic_model::generate::{PROFILES, generate};
use crate::arithmetic_model::judge::{affine, at_least, concat, count, holds, satisfies};
use crate::arithmetic_model::search::{Bounds, Found, Goal, Place, find, naive, search};
use crate::arithmetic_model::{Constraint, DimVar, Ends, Form, Piece, RowVar, System, Window};
use crate::oracle::{self, Assignment, Atom, Dim, DimTerm, Hole, Row, RowTerm, Tag};

fn atom(size: u32) -> Dim {
    Dim::Atom(Atom::new(size))
}

fn named(size: u32) -> Dim {
    Dim::Atom(Atom { size, basis: 1 })
}

fn form(stride: u64, offset: u64) -> Form {
    Form { stride, offset, window: None }
}

fn windowed(stride: u64, offset: u64, dilation: u64, ends: Ends) -> Form {
    Form { stride, offset, window: Some(Window { dilation, ends }) }
}

#[test]
fn strided_axes_have_room_for_the_offset() {
    assert!(affine(atom(6), &form(2, 0), atom(3), None));
    assert!(affine(atom(6), &form(2, 1), atom(3), None));
    assert!(affine(atom(7), &form(2, 2), atom(3), None));
    assert!(!affine(atom(6), &form(2, 2), atom(3), None));
    assert!(affine(atom(3), &form(1, 2), atom(1), None));
}

#[test]
fn windows_reach_beyond_the_ends_only_if_padded() {
    // Three taps at stride 2: the last of four windows starts at 6 and ends at 8.
    assert!(affine(atom(9), &windowed(2, 0, 1, Ends::Valid), atom(4), Some(atom(3))));
    // Dilated by two it ends at 10, and an offset moves it.
    assert!(affine(atom(11), &windowed(2, 0, 2, Ends::Valid), atom(4), Some(atom(3))));
    assert!(affine(atom(12), &windowed(2, 1, 2, Ends::Valid), atom(4), Some(atom(3))));
    assert!(affine(atom(8), &windowed(2, 3, 2, Ends::Padded), atom(4), Some(atom(7))));
}

#[test]
fn windows_drop_less_than_a_stride() {
    let dropping = windowed(2, 0, 1, Ends::Dropped);
    for (axis, fits) in [(8, false), (9, true), (10, true), (11, false)] {
        assert_eq!(affine(atom(axis), &dropping, atom(4), Some(atom(3))), fits);
    }
}

#[test]
fn affine_axes_share_the_basis_but_not_the_unit() {
    assert!(affine(named(4), &form(2, 0), named(2), None));
    assert!(!affine(named(4), &form(2, 0), atom(2), None));
    assert!(affine(atom(4), &windowed(2, 0, 1, Ends::Padded), atom(2), Some(named(2))));
    assert!(!affine(atom(4), &windowed(2, 0, 1, Ends::Padded), atom(2), Some(Dim::Unit)));
    assert!(!affine(atom(2), &form(2, 0), Dim::Unit, None));
    assert!(!affine(Dim::Unit, &form(1, 0), atom(1), None));
}

#[test]
fn sizes_of_a_concatenation_add() {
    assert!(concat(atom(5), &[atom(2), atom(3)], 0));
    assert!(concat(atom(5), &[atom(2)], 3));
    assert!(concat(atom(5), &[atom(5), atom(0)], 0));
    assert!(concat(atom(5), &[], 5));
    assert!(concat(atom(2), &[Dim::Unit, Dim::Unit], 0));
    assert!(concat(Dim::Unit, &[Dim::Unit], 0));
    assert!(concat(Dim::Unit, &[atom(1)], 0));
    assert!(!concat(Dim::Unit, &[Dim::Unit], 1));
    assert!(concat(atom(0), &[], 0));
}

#[test]
fn a_concatenation_has_one_basis() {
    assert!(concat(named(5), &[named(2), named(3)], 0));
    assert!(!concat(named(5), &[atom(2), named(3)], 0));
    assert!(!concat(atom(5), &[named(2), named(3)], 0));
    assert!(concat(named(3), &[named(2), Dim::Unit, atom(0)], 0));
    assert!(!concat(Dim::Unit, &[atom(0), named(1)], 1));
}

#[test]
fn counts_are_products() {
    assert!(at_least(Dim::Unit, 1) && !at_least(Dim::Unit, 2) && at_least(named(3), 3));
    assert!(count(1, &[atom(2), named(3), Dim::Unit], 6, None));
    assert!(count(2, &[atom(3)], 1, Some(atom(6))));
    assert!(!count(2, &[atom(3)], 1, Some(atom(7))));
    assert!(count(1, &[], 1, None) && !count(1, &[], 2, None));
    assert!(count(1, &[atom(0), atom(3)], 2, Some(atom(0))));
    assert!(!count(1, &[atom(0), atom(3)], 2, None));
    let enormous = atom(1 << 31);
    assert!(!count(1, &[enormous; 5], 1 << 27, Some(enormous)));
    assert!(count(1, &[enormous; 2], 1 << 31, Some(enormous)));
}

fn var(discardable: bool) -> DimVar {
    DimVar { tag: Tag::Interior, discardable }
}

fn row_var(lead: Option<u32>) -> RowVar {
    RowVar { tag: Tag::Interior, lead }
}

#[test]
fn exact_axes_are_identical() {
    let row = Row { dims: vec![atom(2), Dim::Unit], marker: 1 };
    let assignment = Assignment { dims: vec![named(3)], rows: vec![row] };
    let exact = |axes: &[DimTerm]| {
        let pieces = vec![Piece::Row(0), Piece::Dim(DimTerm::Var(0))];
        holds(&Constraint::Exact { pieces, axes: axes.to_vec(), rest: None }, &assignment)
    };
    let [two, one, three] = [2, 1, 3].map(|size| DimTerm::Atom(Atom::new(size)));
    assert!(exact(&[two, DimTerm::Unit, DimTerm::Atom(Atom { size: 3, basis: 1 })]));
    assert!(!exact(&[two, DimTerm::Unit, three]));
    assert!(!exact(&[two, one, DimTerm::Var(0)]));
    assert!(!exact(&[two, DimTerm::Var(0)]));
}

#[test]
fn only_discardable_variables_are_empty() {
    let system = |discardable| System {
        dims: vec![var(discardable)],
        rows: vec![row_var(None)],
        constraints: Vec::new(),
        planted: None,
    };
    let empty =
        |dim: Dim, axes: Vec<Dim>| Assignment { dims: vec![dim], rows: vec![Row { dims: axes, marker: 0 }] };
    assert!(satisfies(&system(true), &empty(atom(0), vec![])).is_ok());
    assert!(satisfies(&system(false), &empty(atom(0), vec![])).is_err());
    assert!(satisfies(&system(true), &empty(named(0), vec![])).is_err());
    assert!(satisfies(&system(true), &empty(Dim::Unit, vec![atom(0)])).is_err());
}

/// `[3, 4] <= [..r..]` with `r = [3]` needs the marker after the axis.
#[test]
fn a_declared_marker_is_where_it_was_declared() {
    let closed = |sizes: &[u32]| RowTerm {
        lead: Vec::new(),
        hole: Hole::Marker,
        trail: sizes.iter().map(|size| DimTerm::Atom(Atom::new(*size))).collect(),
    };
    let system = |lead| System {
        dims: Vec::new(),
        rows: vec![row_var(lead)],
        constraints: vec![
            Constraint::Order(oracle::Constraint::RowLe(closed(&[3, 4]), RowTerm::var(0))),
            Constraint::Order(oracle::Constraint::RowEq(RowTerm::var(0), closed(&[3]))),
        ],
        planted: None,
    };
    let found = |lead| {
        let system = system(lead);
        find(&system, &Bounds { domain: system.domain(), max_rank: 2, steps: 1_000, seed: 0 }, &Goal::Any)
    };
    let solution = Assignment { dims: vec![], rows: vec![Row { dims: vec![atom(3)], marker: 1 }] };
    assert_eq!(found(None), Found::Solution(solution.clone()));
    assert_eq!(found(Some(1)), Found::Solution(solution.clone()));
    assert_eq!(found(Some(2)), Found::Solution(solution.clone()));
    assert_eq!(found(Some(0)), Found::Nothing);
    assert!(satisfies(&system(Some(0)), &solution).is_err());
}

#[test]
fn a_claim_is_refuted_by_another_basis() {
    let count = Constraint::Count {
        pieces: vec![Piece::Dim(DimTerm::Var(0))],
        coeff: 4,
        over: None,
        denom: 1,
        divided_by: Vec::new(),
        rest: None,
    };
    let system = System { dims: vec![var(false)], rows: Vec::new(), constraints: vec![count], planted: None };
    let bounds = Bounds { domain: system.domain(), max_rank: 2, steps: 1_000, seed: 0 };
    let found = find(&system, &bounds, &Goal::Differ(Place::Var(0), Place::Ground(atom(4))));
    assert_eq!(found, Found::Solution(Assignment { dims: vec![named(4)], rows: vec![] }));
}

/// The search visits each solution once, and all of them, up to markers that nothing consults.
#[test]
fn the_search_agrees_with_the_product_of_all_assignments() {
    let mut n_solutions = 0;
    for (profile, seed) in PROFILES.iter().flat_map(|profile| (0..80).map(move |seed| (profile, seed))) {
        let mut system = generate(seed, profile);
        system.planted = None;
        system.dims.truncate(3);
        system.rows.truncate(if system.dims.len() > 2 { 1 } else { 2 });
        let (n_dims, n_rows) = (system.dims.len(), system.rows.len());
        system.constraints.retain(|constraint| {
            constraint.row_vars().iter().all(|row| *row < n_rows)
                && constraint.dim_terms().iter().all(|term| match term {
                    DimTerm::Var(dim_var) => *dim_var < n_dims,
                    _ => true,
                })
        });
        let domain = vec![Dim::Unit, atom(0), atom(1), atom(2), atom(4), named(2)];
        let max_rank = if n_rows == 2 { 1 } else { 2 };
        let bounds = Bounds { domain, max_rank, steps: usize::MAX, seed };
        let mut found = BTreeSet::new();
        let _: ControlFlow<Option<()>> = search(&system, &bounds, &Goal::Any, |solution| {
            assert_eq!(satisfies(&system, solution), Ok(()), "{system}\n{solution}");
            assert!(found.insert(solution.clone()), "twice: {system}\n{solution}");
            ControlFlow::Continue(())
        });
        let mut expected = BTreeSet::new();
        for mut solution in naive(&system, &bounds) {
            for (row_var, row) in solution.rows.iter_mut().enumerate() {
                if system.rows[row_var].lead.is_none() && !system.marker_is_open(row_var) {
                    row.marker = 0;
                }
            }
            expected.insert(solution);
        }
        assert_eq!(found, expected, "profile {}, seed {seed}:\n{system}", profile.name);
        n_solutions += found.len();
    }
    assert!(n_solutions > 10_000, "only {n_solutions} solutions: the generator changed");
}

/// A planted solution is one.
#[test]
fn planted_solutions_are_solutions() {
    for (profile, seed) in PROFILES.iter().flat_map(|profile| (0..1_000).map(move |seed| (profile, seed))) {
        let system = generate(seed, profile);
        if let Some(planted) = &system.planted {
            assert_eq!(satisfies(&system, planted), Ok(()), "{system}\n{planted}");
        }
    }
}
