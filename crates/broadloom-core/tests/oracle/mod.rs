//! Which assignments solve a small system of dimension and row constraints?
//!
//! This is the test oracle: it decides by trying all candidates, so it can judge a solver without
//! sharing any reasoning with it. It depends on nothing but `std`, and on no code of the crate.
//!
//! The semantics, in full:
//!
//! - A ground dimension ([`Dim`]) is the unit or an atom (a size and a basis). `d1 ⊑ d2` iff `d2`
//!   is the unit or `d1 = d2` (Formal Core, Def. 1.2). An atom of size 1 is not the unit.
//! - A ground row ([`Row`]) is a sequence of dimensions with a marker position. Its expansion to
//!   a larger rank inserts units at the marker (Formal Core, Def. 2.2).
//! - A row term ([`RowTerm`]) is `lead · hole · trail`. The hole is a row variable, replaced by
//!   the variable's content and marker, or the marker itself (Formal Core, Def. 3.2).
//! - A row equality compares the flat sequences and ignores markers (Formal Core, Def. 2.9).
//! - A row inequality `res ⊑ opnd` is the one-shot order: `rank(res) >= rank(opnd)`, and each
//!   dimension of `flat(res)` is `⊑` the one of `opnd` expanded to that rank. The marker of `res`
//!   is not consulted (Formal Core, Def. 2.12(c) and Remark 2.15).
//!
//! For example, in the text form of [`text`],
//!
//! ```text
//! [..r..] ~ [3, 5]
//! [3, <>, 9, 5] <= [..r..]
//! ```
//!
//! is solved only by `r = [3, <>, 5]`: the equality fixes the content, and the inequality leaves
//! one place for the unit that `9` meets.
//!
//! Code map: [`eval`] is the definition of a solution, [`naive`] the plain product of all
//! assignments, [`enumerate`] the fast search that must agree with it, [`binding`] the check of
//! claims about all solutions, [`generate`] random systems, [`transform`] changes of a system that
//! keep its meaning, [`text`] printing and parsing.

// Each test file that includes this module uses a part of it.
#![allow(dead_code, unused_imports)]

pub mod binding;
pub mod enumerate;
pub mod eval;
pub mod generate;
pub mod naive;
pub mod shifted;
pub mod text;
pub mod transform;

pub use binding::{Binding, PatternDim, Rest, RowPattern, binding_holds, counterexample};
pub use enumerate::{enumerate, satisfiable};
pub use eval::{holds, satisfies};
pub use generate::{Profile, generate};
pub use naive::{enumerate_naive, naive_candidates};
pub use shifted::shifted_system;
pub use transform::{mirrored, mirrored_assignment, shuffled};

/// A size with its basis; two atoms are related only if they are identical.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Atom {
    /// The size, at least 1.
    pub size: u32,
    /// The basis: 0 is the default one, printed as nothing; 1 prints as `:b`, 2 as `:c`, ….
    pub basis: u8,
}

/// A ground dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dim {
    /// The unit, which every dimension refines.
    Unit,
    /// A size that must be met exactly.
    Atom(Atom),
}

/// A ground row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Row {
    /// The flat content.
    pub dims: Vec<Dim>,
    /// The position at which expansion inserts units: `0..=dims.len()`.
    pub marker: usize,
}

/// A dimension term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DimTerm {
    /// The dimension variable of this index.
    Var(usize),
    /// An atom.
    Atom(Atom),
    /// The unit.
    Unit,
}

/// The row variable or the marker between the two flanks of a row term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hole {
    /// The row variable of this index.
    Var(usize),
    /// The marker of a closed row.
    Marker,
}

/// A row term `lead · hole · trail`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowTerm {
    /// The flank before the hole.
    pub lead: Vec<DimTerm>,
    /// The row variable, or the marker.
    pub hole: Hole,
    /// The flank after the hole.
    pub trail: Vec<DimTerm>,
}

/// One constraint. Inequalities are written result first, as in `res ⊑ opnd`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Constraint {
    /// The two dimensions are identical.
    DimEq(DimTerm, DimTerm),
    /// The first dimension refines the second.
    DimLe(DimTerm, DimTerm),
    /// The two rows have the same flat content.
    RowEq(RowTerm, RowTerm),
    /// The first row refines the second, in the one-shot order.
    RowLe(RowTerm, RowTerm),
}

/// The role of a variable. It does not change what a solution is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tag {
    /// A variable of an input.
    Leaf,
    /// A variable of a parameter.
    Param,
    /// Any other variable.
    Interior,
}

/// A system of constraints. Dimension variables are `0..dim_vars`, row variables `0..row_vars`;
/// a variable need not occur in a constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct System {
    /// The number of dimension variables.
    pub dim_vars: usize,
    /// The number of row variables.
    pub row_vars: usize,
    /// The tag of each dimension variable.
    pub dim_tags: Vec<Tag>,
    /// The tag of each row variable.
    pub row_tags: Vec<Tag>,
    /// The constraints that an assignment has to satisfy.
    pub constraints: Vec<Constraint>,
}

/// A value for each variable of a system.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Assignment {
    /// The value of each dimension variable.
    pub dims: Vec<Dim>,
    /// The value of each row variable.
    pub rows: Vec<Row>,
}

impl Atom {
    /// An atom of the default basis.
    pub fn new(size: u32) -> Atom {
        Atom { size, basis: 0 }
    }
}

impl RowTerm {
    /// The row term that is just this variable.
    pub fn var(row_var: usize) -> RowTerm {
        RowTerm { lead: Vec::new(), hole: Hole::Var(row_var), trail: Vec::new() }
    }

    /// The row variable in the hole, if the term is open.
    pub fn row_var(&self) -> Option<usize> {
        match self.hole {
            Hole::Var(row_var) => Some(row_var),
            Hole::Marker => None,
        }
    }

    /// The number of axes in the two flanks.
    pub fn flank_len(&self) -> usize {
        self.lead.len() + self.trail.len()
    }

    fn dim_terms(&self) -> impl Iterator<Item = DimTerm> {
        self.lead.iter().chain(&self.trail).copied()
    }
}

impl Constraint {
    /// All dimension terms that occur, in reading order.
    pub fn dim_terms(&self) -> Vec<DimTerm> {
        match self {
            Constraint::DimEq(left, right) | Constraint::DimLe(left, right) => vec![*left, *right],
            Constraint::RowEq(left, right) | Constraint::RowLe(left, right) => {
                left.dim_terms().chain(right.dim_terms()).collect()
            }
        }
    }
}

impl System {
    /// A system whose variables are all [`Tag::Interior`].
    pub fn new(dim_vars: usize, row_vars: usize, constraints: Vec<Constraint>) -> System {
        System {
            dim_vars,
            row_vars,
            dim_tags: vec![Tag::Interior; dim_vars],
            row_tags: vec![Tag::Interior; row_vars],
            constraints,
        }
    }

    /// The atoms that occur in the system, in order, and then `n_fresh` atoms that do not.
    ///
    /// The number of fresh atoms that are enough depends on the question. The constraints compare
    /// dimensions only by identity and with the unit, so any map of ground dimensions that fixes
    /// the unit and the atoms of the system maps solutions to solutions, of the same ranks and
    /// markers: if `d1 ⊑ d2` and `d1 ≠ d2` then `d2` is the unit, and stays the unit.
    ///
    /// - *Is there a solution of these ranks?* No fresh atom is needed: map every other atom to
    ///   the unit.
    /// - *Do all solutions make two terms equal, or match a set of [`Binding`]s?* One is enough.
    ///   Once the ranks are fixed such a claim is a conjunction of equalities, so it fails at one
    ///   pair of different values. If either of them is an atom `f` outside the system, map `f`
    ///   to the fresh atom and the other outside atoms to the unit: the two stay different. With
    ///   none it can go wrong: no constraint at all would seem to entail `a = _`. (An atom that
    ///   only the claim mentions has to be added to the list, in front of the fresh ones.)
    /// - *A claim with alternatives*, such as "`a = b`, or one of them is the unit", fails only
    ///   where several things differ at once, and may need as many fresh atoms as there are
    ///   dimensions in the claim. The same holds for counting or for comparing whole solution
    ///   sets "up to renaming of atoms".
    pub fn atoms(&self, n_fresh: usize) -> Vec<Atom> {
        let mut atoms: Vec<Atom> = Vec::new();
        for term in self.constraints.iter().flat_map(Constraint::dim_terms) {
            if let DimTerm::Atom(atom) = term
                && !atoms.contains(&atom)
            {
                atoms.push(atom);
            }
        }
        atoms.sort_unstable();
        let n_occurring = atoms.len();
        let mut size = 7;
        while atoms.len() < n_occurring + n_fresh {
            if !atoms.contains(&Atom::new(size)) {
                atoms.push(Atom::new(size));
            }
            size += 1;
        }
        atoms
    }

    /// Returns true if some constraint consults the marker of this row variable, which only the
    /// operand side of an inequality does.
    pub fn marker_matters(&self, row_var: usize) -> bool {
        self.constraints.iter().any(
            |constraint| matches!(constraint, Constraint::RowLe(_, opnd) if opnd.row_var() == Some(row_var)),
        )
    }

    /// The assignment with every marker that no constraint consults put to 0, which is the one
    /// representative that [`enumerate`] visits.
    pub fn canonical(&self, assignment: &Assignment) -> Assignment {
        let mut canonical = assignment.clone();
        for (row_var, row) in canonical.rows.iter_mut().enumerate() {
            if !self.marker_matters(row_var) {
                row.marker = 0;
            }
        }
        canonical
    }
}
