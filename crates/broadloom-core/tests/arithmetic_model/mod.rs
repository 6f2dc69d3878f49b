//! Which assignments solve a small system with arithmetic?
//!
//! This extends the oracle of `tests/oracle`, whose terms and ground rows it takes over, by sizes:
//! affine axes, concatenation, least sizes, element counts and exact sequences of axes. Like that
//! oracle it decides by trying candidates, and it uses no code of the crate.
//!
//! The semantics, in full, beyond those of `tests/oracle`:
//!
//! - `size(unit) = 1`. Atoms have sizes from one on; a *discardable* dimension variable may also be
//!   the atom of size 0 in the default basis. No axis of a row variable is empty.
//! - A row variable whose marker is declared after `lead` axes has it at `min(lead, rank)`.
//! - *Affine*: the axis, the iterated dimension `over` and the kernel are no units; the axis has
//!   the basis of `over`; and `axis = stride·over + c1·kernel + c0`, where
//!   without a window `c1 = 0` and `c0 = max(0, offset + 1 - stride)`,
//!   with a padded one `c1 = c0 = 0`, and
//!   with a valid one `c1 = dilation` and `c0 = 1 + offset - stride - dilation`;
//!   one that drops the rest is like a valid one, and the axis has up to `stride - 1` elements more.
//! - *Concat*: the axis has the sum of the components and the literal, and all atoms among axis and
//!   components that are not empty have one basis.
//! - *AtLeast*: the size is not below the number.
//! - *Count*: `denom · (product of all axes of the pieces) · (product of the divisors)` is
//!   `coeff · over`; an absent `over` is 1.
//! - *Exact*: the axes of the pieces, one after another, are identical to the given dimensions.
//!
//! The `rest` of a count or an exact sequence is for closing, and does not change the meaning.
//!
//! Code map: [`judge`] is the definition of a solution, [`search`] finds solutions, [`generate`]
//! makes random systems, [`text`] prints, [`shrink`] makes a failure small, [`translate`] asks the
//! solver.

pub mod generate;
pub mod judge;
pub mod search;
pub mod shrink;
pub mod text;
pub mod translate;

use crate::oracle::{self, Assignment, Atom, Dim, DimTerm, RowTerm, Tag};

/// A dimension variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DimVar {
    /// Its owner, which does not change what a solution is.
    pub tag: Tag,
    /// True if it may be empty.
    pub discardable: bool,
}

/// A row variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowVar {
    /// Its owner, which does not change what a solution is.
    pub tag: Tag,
    /// The number of axes before its declared marker, if one is declared.
    pub lead: Option<u32>,
}

/// The form of an affine axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    pub stride: u64,
    pub offset: u64,
    pub window: Option<Window>,
}

/// A window that moves along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub dilation: u64,
    pub ends: Ends,
}

/// The behaviour of a window at the ends of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    Padded,
    Valid,
    Dropped,
}

/// One axis, or all axes of a row variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    Dim(DimTerm),
    Row(usize),
}

/// One constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Constraint {
    /// An equality or inequality without arithmetic.
    Order(oracle::Constraint),
    Affine {
        axis: DimTerm,
        form: Form,
        over: DimTerm,
        /// There if and only if the form has a window.
        kernel: Option<DimTerm>,
    },
    Concat {
        axis: DimTerm,
        components: Vec<DimTerm>,
        literal: u64,
    },
    AtLeast(DimTerm, u64),
    Count {
        pieces: Vec<Piece>,
        coeff: u64,
        over: Option<DimTerm>,
        denom: u64,
        divided_by: Vec<DimTerm>,
        rest: Option<usize>,
    },
    Exact {
        pieces: Vec<Piece>,
        axes: Vec<DimTerm>,
        rest: Option<usize>,
    },
}

/// A system of constraints, and its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct System {
    pub dims: Vec<DimVar>,
    pub rows: Vec<RowVar>,
    pub constraints: Vec<Constraint>,
    /// A solution that the generator began with. A clue for the search, which checks it.
    pub planted: Option<Assignment>,
}

impl Constraint {
    /// All dimension terms that occur, in reading order.
    pub fn dim_terms(&self) -> Vec<DimTerm> {
        let dims = |pieces: &[Piece]| -> Vec<DimTerm> {
            let dims = pieces.iter().filter_map(|piece| match piece {
                Piece::Dim(dim) => Some(*dim),
                Piece::Row(_) => None,
            });
            dims.collect()
        };
        match self {
            Constraint::Order(constraint) => constraint.dim_terms(),
            Constraint::Affine { axis, over, kernel, .. } => {
                [*axis, *over].into_iter().chain(*kernel).collect()
            }
            Constraint::Concat { axis, components, .. } => {
                std::iter::once(axis).chain(components).copied().collect()
            }
            Constraint::AtLeast(dim, _) => vec![*dim],
            Constraint::Count { pieces, over, divided_by, .. } => {
                dims(pieces).into_iter().chain(*over).chain(divided_by.iter().copied()).collect()
            }
            Constraint::Exact { pieces, axes, .. } => {
                dims(pieces).into_iter().chain(axes.iter().copied()).collect()
            }
        }
    }

    /// All row variables that occur, in reading order.
    pub fn row_vars(&self) -> Vec<usize> {
        match self {
            Constraint::Order(oracle::Constraint::RowEq(left, right))
            | Constraint::Order(oracle::Constraint::RowLe(left, right)) => {
                [left, right].into_iter().filter_map(RowTerm::row_var).collect()
            }
            Constraint::Count { pieces, rest, .. } | Constraint::Exact { pieces, rest, .. } => {
                let rows = pieces.iter().filter_map(|piece| match piece {
                    Piece::Dim(_) => None,
                    Piece::Row(row) => Some(*row),
                });
                rows.chain(*rest).collect()
            }
            _ => Vec::new(),
        }
    }
}

impl System {
    /// The part of the system with just these constraints.
    pub fn part(&self, ids: impl IntoIterator<Item = usize>) -> System {
        let constraints = ids.into_iter().map(|id| self.constraints[id].clone()).collect();
        System { constraints, ..self.clone() }
    }

    /// The system without one constraint.
    pub fn without(&self, id: usize) -> System {
        self.part((0..self.constraints.len()).filter(|other| *other != id))
    }

    /// The dimensions that a search tries: the unit, the empty one, small sizes in two bases, and
    /// those that the system and its planted solution mention. Sizes reach beyond those that the
    /// generator writes, because sums and products do.
    pub fn domain(&self) -> Vec<Dim> {
        let mut domain = vec![Dim::Unit];
        let mut add = |dim: Dim| {
            if !domain.contains(&dim) {
                domain.push(dim);
            }
        };
        let small = (0..=16).map(|size| (size, 0)).chain((1..=8).map(|size| (size, 1)));
        small.for_each(|(size, basis)| add(Dim::Atom(Atom { size, basis })));
        for term in self.constraints.iter().flat_map(Constraint::dim_terms) {
            if let DimTerm::Atom(atom) = term {
                add(Dim::Atom(atom));
            }
        }
        if let Some(planted) = &self.planted {
            let axes = planted.rows.iter().flat_map(|row| &row.dims);
            planted.dims.iter().chain(axes).for_each(|dim| add(*dim));
        }
        domain
    }

    /// Returns true if the marker of a row variable is a choice that some constraint consults.
    pub fn marker_is_open(&self, row_var: usize) -> bool {
        self.rows[row_var].lead.is_none()
            && self.constraints.iter().any(|constraint| {
                matches!(constraint, Constraint::Order(oracle::Constraint::RowLe(_, opnd))
                    if opnd.row_var() == Some(row_var))
            })
    }
}
