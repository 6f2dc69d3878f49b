//! Random small systems with arithmetic, by kind.
//!
//! As in `tests/oracle/generate.rs`, [`generate`] is a function of the seed, a system draws its
//! atoms from a small palette of its own, and a part of the systems is *planted*: a solution is
//! chosen first. There the numbers of a constraint are mostly made to fit, and a constraint that
//! the solution violates is thrown away. The solution is kept with the system.

use broadloom_testing::Dice;

use super::judge::{holds, size};
use super::{Constraint, DimVar, Ends, Form, Piece, RowVar, System, Window};
use crate::oracle::{self, Assignment, Atom, Dim, DimTerm, Hole, Row, RowTerm, Tag};

/// A kind of random systems. Pairs of numbers are inclusive ranges.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// The name for reports.
    pub name: &'static str,
    pub dim_vars: (usize, usize),
    pub row_vars: (usize, usize),
    pub constraints: (usize, usize),
    /// The forms of constraints, with weights.
    pub shapes: &'static [(Shape, usize)],
    /// The share, in percent, of dimension variables that are discardable.
    pub discardable_percent: usize,
    /// The share, in percent, of row variables whose marker is declared.
    pub declared_percent: usize,
    /// The share, in percent, of dimension terms that are variables.
    pub dim_var_percent: usize,
    /// The share, in percent, of units among dimensions that are no variables.
    pub unit_percent: usize,
    /// The share, in percent, of systems that are planted.
    pub planted_percent: usize,
    /// True if sizes and factors are enormous.
    pub enormous: bool,
    /// The share, in percent, of systems on which the solver may give up.
    pub give_up_percent: u64,
}

/// A form of constraints. Flanks have at most two axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Affine,
    Concat,
    AtLeast,
    Count,
    Exact,
    DimEq,
    DimLe,
    RowEq,
    RowLe,
    /// An equality of a row variable and a closed row.
    Anchor,
}

use Shape::*;

const PLAIN: Profile = Profile {
    name: "plain",
    dim_vars: (2, 5),
    row_vars: (0, 0),
    constraints: (2, 6),
    shapes: &[],
    discardable_percent: 15,
    declared_percent: 30,
    dim_var_percent: 75,
    unit_percent: 12,
    planted_percent: 60,
    enormous: false,
    give_up_percent: 1,
};

/// All profiles.
pub const PROFILES: [Profile; 9] = [
    Profile { name: "affine", shapes: &[(Affine, 6), (AtLeast, 1), (DimEq, 1)], unit_percent: 5, ..PLAIN },
    Profile {
        name: "concat",
        shapes: &[(Concat, 6), (AtLeast, 1), (DimEq, 1)],
        discardable_percent: 45,
        ..PLAIN
    },
    Profile {
        name: "affine and order",
        shapes: &[(Affine, 4), (DimLe, 4), (DimEq, 1), (AtLeast, 1)],
        unit_percent: 5,
        ..PLAIN
    },
    Profile {
        name: "concat and order",
        shapes: &[(Concat, 4), (DimLe, 4), (AtLeast, 1)],
        discardable_percent: 45,
        ..PLAIN
    },
    Profile {
        name: "count",
        row_vars: (1, 3),
        dim_vars: (2, 4),
        shapes: &[(Count, 6), (RowEq, 1), (RowLe, 2), (Anchor, 1), (DimLe, 1), (AtLeast, 1)],
        ..PLAIN
    },
    Profile {
        name: "exact",
        row_vars: (1, 3),
        dim_vars: (2, 4),
        shapes: &[(Exact, 6), (RowEq, 1), (RowLe, 3), (DimLe, 1), (DimEq, 1)],
        ..PLAIN
    },
    Profile {
        name: "markers",
        row_vars: (1, 3),
        dim_vars: (2, 3),
        shapes: &[(RowLe, 6), (RowEq, 1), (Anchor, 1), (Exact, 1), (Count, 1), (DimLe, 1)],
        declared_percent: 70,
        dim_var_percent: 40,
        ..PLAIN
    },
    Profile {
        name: "everything",
        row_vars: (0, 3),
        shapes: &[
            (Affine, 2),
            (Concat, 2),
            (AtLeast, 1),
            (Count, 2),
            (Exact, 2),
            (DimEq, 1),
            (DimLe, 2),
            (RowEq, 1),
            (RowLe, 2),
            (Anchor, 1),
        ],
        ..PLAIN
    },
    Profile {
        name: "enormous",
        row_vars: (0, 2),
        shapes: &[(Affine, 3), (Concat, 3), (AtLeast, 2), (Count, 3), (Exact, 1), (DimLe, 1), (RowLe, 1)],
        enormous: true,
        give_up_percent: 4,
        ..PLAIN
    },
];

/// The number of attempts of a planted system to find a constraint that its solution satisfies.
const N_TRIES: usize = 200;

const ENORMOUS_SIZES: [u32; 8] = [1, 2, 3, 6, 65_536, 92_682, 1 << 31, u32::MAX];
const ENORMOUS_NUMBERS: [u64; 10] =
    [0, 1, 2, 6, 1 << 16, 1 << 32, (1 << 32) - 1, 1 << 62, i64::MAX as u64, u64::MAX];

/// The system of this profile and seed.
pub fn generate(seed: u64, profile: &Profile) -> System {
    let mut rng = Dice::new(seed);
    let palette = (0..rng.between((2, 6))).map(|_| {
        let size = match profile.enormous {
            true => ENORMOUS_SIZES[rng.below(ENORMOUS_SIZES.len())],
            false => 1 + rng.below(8) as u32,
        };
        Atom { size, basis: u8::from(rng.percent(12)) }
    });
    let palette = palette.collect();
    let mut tag = || [Tag::Leaf, Tag::Param, Tag::Interior][rng.below(3)];
    let (dim_tags, row_tags) = ([(); 5].map(|_| tag()), [(); 3].map(|_| tag()));
    let dims = (0..rng.between(profile.dim_vars))
        .map(|at| DimVar { tag: dim_tags[at], discardable: rng.percent(profile.discardable_percent) })
        .collect();
    let rows = (0..rng.between(profile.row_vars))
        .map(|at| RowVar {
            tag: row_tags[at],
            lead: rng.percent(profile.declared_percent).then_some(rng.below(3) as u32),
        })
        .collect();
    let planted = rng.percent(profile.planted_percent);
    let mut generator = Generator { profile, dims, rows, palette, planted: None, rng };
    generator.planted = planted.then(|| generator.assignment());
    let mut constraints = Vec::new();
    for _ in 0..generator.rng.between(profile.constraints) {
        let n_tries = if planted { N_TRIES } else { 1 };
        constraints.extend((0..n_tries).find_map(|_| {
            let constraint = generator.constraint();
            let fits = generator.planted.as_ref().is_none_or(|planted| holds(&constraint, planted));
            fits.then_some(constraint)
        }));
    }
    let Generator { dims, rows, planted, .. } = generator;
    System { dims, rows, constraints, planted }
}

/// The system with its constraints permuted.
pub fn shuffled(system: &System, seed: u64) -> System {
    let mut rng = Dice::new(seed);
    let mut ids: Vec<usize> = (0..system.constraints.len()).collect();
    for n_left in (1..=ids.len()).rev() {
        ids.swap(n_left - 1, rng.below(n_left));
    }
    system.part(ids)
}

struct Generator<'a> {
    profile: &'a Profile,
    dims: Vec<DimVar>,
    rows: Vec<RowVar>,
    palette: Vec<Atom>,
    planted: Option<Assignment>,
    rng: Dice,
}

impl Generator<'_> {
    fn assignment(&mut self) -> Assignment {
        let discardable: Vec<bool> = self.dims.iter().map(|var| var.discardable).collect();
        let dims = discardable.into_iter().map(|discardable| {
            let empty = discardable && self.rng.percent(35);
            if empty { Dim::Atom(Atom::new(0)) } else { self.dim() }
        });
        let dims = dims.collect();
        let leads: Vec<Option<u32>> = self.rows.iter().map(|var| var.lead).collect();
        let rows = leads.into_iter().map(|lead| {
            let rank = [0, 1, 1, 2, 2][self.rng.below(5)];
            let marker = lead.map_or(self.rng.below(rank + 1), |lead| rank.min(lead as usize));
            Row { dims: (0..rank).map(|_| self.dim()).collect(), marker }
        });
        let rows = rows.collect();
        Assignment { dims, rows }
    }

    fn dim(&mut self) -> Dim {
        if self.rng.percent(self.profile.unit_percent) {
            Dim::Unit
        } else {
            Dim::Atom(self.palette[self.rng.below(self.palette.len())])
        }
    }

    fn dim_term(&mut self) -> DimTerm {
        if self.rng.percent(self.profile.dim_var_percent) {
            return DimTerm::Var(self.rng.below(self.dims.len()));
        }
        match self.dim() {
            Dim::Unit => DimTerm::Unit,
            Dim::Atom(atom) => DimTerm::Atom(atom),
        }
    }

    fn dim_terms(&mut self, n_terms: usize) -> Vec<DimTerm> {
        (0..n_terms).map(|_| self.dim_term()).collect()
    }

    /// A term that has this value in the planted solution, if there is one.
    fn term_for(&mut self, dim: Dim) -> DimTerm {
        let planted = self.planted.iter().flat_map(|planted| planted.dims.iter().enumerate());
        let same: Vec<usize> = planted.filter(|(_, value)| **value == dim).map(|(at, _)| at).collect();
        let empty = size(dim) == 0;
        if !same.is_empty() && (empty || self.rng.percent(60)) {
            return DimTerm::Var(same[self.rng.below(same.len())]);
        }
        match dim {
            Dim::Unit => DimTerm::Unit,
            // There is no literal of size zero, and no variable to take its place.
            Dim::Atom(_) if empty => DimTerm::Unit,
            Dim::Atom(atom) => DimTerm::Atom(atom),
        }
    }

    /// The size in the planted solution, if there is one.
    fn planted_size(&self, term: DimTerm) -> Option<u128> {
        self.planted.as_ref().map(|planted| u128::from(size(planted.dim(term))))
    }

    fn planted_axes(&self, pieces: &[Piece]) -> Option<Vec<Dim>> {
        let planted = self.planted.as_ref()?;
        let axes = pieces.iter().flat_map(|piece| match piece {
            Piece::Dim(term) => vec![planted.dim(*term)],
            Piece::Row(row_var) => planted.rows[*row_var].dims.clone(),
        });
        Some(axes.collect())
    }

    /// One of the small numbers, or an enormous one.
    fn number(&mut self, small: &[u64]) -> u64 {
        if self.profile.enormous && self.rng.percent(40) {
            ENORMOUS_NUMBERS[self.rng.below(ENORMOUS_NUMBERS.len())]
        } else {
            small[self.rng.below(small.len())]
        }
    }

    fn constraint(&mut self) -> Constraint {
        let shapes = self.profile.shapes;
        let usable = |shape: Shape| match shape {
            RowEq | RowLe | Anchor => !self.rows.is_empty(),
            _ => true,
        };
        let shapes: Vec<(Shape, usize)> =
            shapes.iter().copied().filter(|(shape, _)| usable(*shape)).collect();
        let mut pick = self.rng.below(shapes.iter().map(|(_, weight)| weight).sum());
        let found = shapes.iter().find(|(_, weight)| {
            let found = pick < *weight;
            pick = pick.saturating_sub(*weight);
            found
        });
        match found.expect("the pick is below the sum of the weights").0 {
            Affine => self.affine(),
            Concat => self.concat(),
            AtLeast => Constraint::AtLeast(self.dim_term(), self.number(&[0, 1, 2, 2, 3, 4, 5, 6, 8, 9])),
            Count => self.count(),
            Exact => self.exact(),
            DimEq => Constraint::Order(oracle::Constraint::DimEq(self.dim_term(), self.dim_term())),
            DimLe => Constraint::Order(oracle::Constraint::DimLe(self.dim_term(), self.dim_term())),
            RowEq => Constraint::Order(oracle::Constraint::RowEq(self.row_term(), self.row_term())),
            RowLe => Constraint::Order(oracle::Constraint::RowLe(self.row_term(), self.row_term())),
            Anchor => self.anchor(),
        }
    }

    fn affine(&mut self) -> Constraint {
        let window = match self.rng.below(10) {
            0..3 => None,
            kind => {
                let ends = [Ends::Padded, Ends::Valid, Ends::Dropped][(kind - 3) / 2 % 3];
                Some(Window { dilation: self.number(&[1, 1, 1, 2, 3]).max(1), ends })
            }
        };
        let form = Form {
            stride: self.number(&[1, 1, 1, 2, 2, 3]).max(1),
            offset: self.number(&[0, 0, 0, 1, 2, 3, 4]),
            window,
        };
        let (axis, over) = (self.dim_term(), self.dim_term());
        Constraint::Affine { axis, form, over, kernel: window.map(|_| self.dim_term()) }
    }

    fn concat(&mut self) -> Constraint {
        let n_components = [0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4][self.rng.below(11)];
        let (axis, components) = (self.dim_term(), self.dim_terms(n_components));
        let parts: Option<u128> = components.iter().map(|term| self.planted_size(*term)).sum();
        let missing = self.planted_size(axis).zip(parts).and_then(|(axis, parts)| axis.checked_sub(parts));
        let literal = match missing {
            Some(missing) if self.rng.percent(80) => missing as u64,
            _ => self.number(&[0, 0, 0, 1, 2, 3]),
        };
        Constraint::Concat { axis, components, literal }
    }

    fn pieces(&mut self) -> (Vec<Piece>, Option<usize>) {
        let n_pieces = [0, 1, 1, 1, 2, 2, 2, 2, 3][self.rng.below(9)];
        let mut pieces = Vec::new();
        for _ in 0..n_pieces {
            let row = !self.rows.is_empty() && self.rng.percent(60);
            let piece =
                if row { Piece::Row(self.rng.below(self.rows.len())) } else { Piece::Dim(self.dim_term()) };
            // The same row twice is possible, but seldom.
            if !row || !pieces.contains(&piece) || self.rng.percent(20) {
                pieces.push(piece);
            }
        }
        let rows = pieces.iter().filter_map(|piece| match piece {
            Piece::Dim(_) => None,
            Piece::Row(row_var) => Some(*row_var),
        });
        let rows: Vec<usize> = rows.collect();
        let rest = (!rows.is_empty() && self.rng.percent(60)).then(|| rows[self.rng.below(rows.len())]);
        (pieces, rest)
    }

    fn count(&mut self) -> Constraint {
        let (pieces, rest) = self.pieces();
        let over = self.rng.percent(35).then(|| self.dim_term());
        let n_divisors = [0, 0, 0, 1, 1, 2][self.rng.below(6)];
        let divided_by = self.dim_terms(n_divisors);
        let denom = self.number(&[1, 1, 1, 1, 2, 3]).max(1);
        let fitting = self.planted_axes(&pieces).and_then(|axes| {
            let axes = axes.into_iter().map(|dim| Some(u128::from(size(dim))));
            let divisors = divided_by.iter().map(|term| self.planted_size(*term));
            let left =
                axes.chain(divisors).try_fold(u128::from(denom), |left, factor| left.checked_mul(factor?));
            let over = over.map_or(Some(1), |over| self.planted_size(over)).filter(|over| *over > 0);
            let (left, over) = left.zip(over)?;
            u64::try_from(left / over).ok().filter(|coeff| left % over == 0 && *coeff > 0)
        });
        let coeff = match fitting {
            Some(coeff) if self.rng.percent(85) => coeff,
            _ => self.number(&[1, 2, 3, 4, 6, 8, 12, 24]).max(1),
        };
        Constraint::Count { pieces, coeff, over, denom, divided_by, rest }
    }

    fn exact(&mut self) -> Constraint {
        let (pieces, rest) = self.pieces();
        let axes = match self.planted_axes(&pieces) {
            Some(axes) if self.rng.percent(90) => axes.into_iter().map(|dim| self.term_for(dim)).collect(),
            _ => {
                let n_axes = [0, 1, 1, 2, 2, 2, 3, 4][self.rng.below(8)];
                self.dim_terms(n_axes)
            }
        };
        Constraint::Exact { pieces, axes, rest }
    }

    fn anchor(&mut self) -> Constraint {
        let row_var = self.rng.below(self.rows.len());
        let trail: Vec<DimTerm> = match self.planted_axes(&[Piece::Row(row_var)]) {
            Some(axes) => axes.into_iter().map(|dim| self.term_for(dim)).collect(),
            None => {
                let n_axes = self.rng.below(3);
                self.dim_terms(n_axes)
            }
        };
        let closed = RowTerm { lead: Vec::new(), hole: Hole::Marker, trail };
        Constraint::Order(oracle::Constraint::RowEq(RowTerm::var(row_var), closed))
    }

    /// A row term with a variable, a marker, or a marker at the left edge.
    fn row_term(&mut self) -> RowTerm {
        let mut flank = || [0, 0, 0, 1, 1, 2][self.rng.below(6)];
        let (n_lead, n_trail) = (flank(), flank());
        let hole = match self.rng.below(10) {
            0..7 => Hole::Var(self.rng.below(self.rows.len())),
            _ => Hole::Marker,
        };
        let (n_lead, n_trail) = match hole {
            Hole::Marker if self.rng.percent(50) => (0, n_lead + n_trail),
            _ => (n_lead, n_trail),
        };
        RowTerm { lead: self.dim_terms(n_lead), hole, trail: self.dim_terms(n_trail) }
    }
}
