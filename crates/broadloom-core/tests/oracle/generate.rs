//! Random small systems, by kind.
//!
//! A [`Profile`] gives the number of variables and constraints of a system and the [`Shape`]s of
//! its constraints; [`generate`] is a function of the seed, so a failure is reported by profile
//! name and seed. The numbers are tuned so that a good part of the systems has a solution and a
//! good part has none, in two ways. A system draws its atoms from a small palette of its own, so
//! that the same ones meet often. And a part of the systems is *planted*: an assignment is chosen
//! first, and constraints that it violates are thrown away.

use broadloom_testing::Dice;

use super::{Assignment, Atom, Constraint, Dim, DimTerm, Hole, Row, RowTerm, System, Tag, holds};

/// A kind of random systems. Pairs of numbers are inclusive ranges.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The name for reports.
    pub name: &'static str,
    /// The number of dimension variables.
    pub dim_vars: (usize, usize),
    /// The number of row variables.
    pub row_vars: (usize, usize),
    /// The number of constraints; a cycle may add a few more.
    pub constraints: (usize, usize),
    /// The forms of constraints, with weights.
    pub shapes: &'static [(Shape, usize)],
    /// The number of different atoms of one system, at most 4.
    pub palette: (usize, usize),
    /// The share, in percent, of dimension terms that are variables, if there are any.
    pub dim_var_percent: usize,
    /// The share, in percent, of units among dimension terms that are no variables.
    pub unit_percent: usize,
    /// The share, in percent, of systems that are planted.
    pub planted_percent: usize,
}

/// A form of constraints. Flanks have at most two axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// An equality of two dimension terms.
    DimEq,
    /// An inequality of two dimension terms.
    DimLe,
    /// An equality of two row terms, each open or closed.
    RowEq,
    /// An inequality of two row terms, each open or closed.
    RowLe,
    /// An equality of open row terms whose flanks lie differently, often of the same variable.
    ShiftedEq,
    /// An inequality of open row terms whose flanks lie differently, often of the same variable.
    ShiftedLe,
    /// An equality of a row variable and a closed row of one to three axes.
    AnchorEq,
    /// An inequality, either way, of a row variable and a closed row of one to three axes.
    AnchorLe,
    /// Inequalities, sometimes equalities, from row variable to row variable and back to the first.
    Cycle,
}

/// Dimension variables only, with dense inequalities.
pub const DIMS: Profile = Profile {
    name: "dims",
    dim_vars: (1, 5),
    row_vars: (0, 0),
    constraints: (2, 7),
    shapes: &[(Shape::DimEq, 1), (Shape::DimLe, 4)],
    palette: (1, 4),
    dim_var_percent: 66,
    unit_percent: 15,
    planted_percent: 5,
};

/// Few variables and short rows of all forms.
pub const ROWS: Profile = Profile {
    name: "rows",
    dim_vars: (0, 3),
    row_vars: (1, 3),
    constraints: (1, 5),
    shapes: &[(Shape::RowEq, 3), (Shape::RowLe, 6), (Shape::AnchorEq, 1), (Shape::AnchorLe, 2)],
    palette: (1, 3),
    dim_var_percent: 35,
    unit_percent: 15,
    planted_percent: 35,
};

/// Row equalities only, which are word equations.
pub const WORDS: Profile = Profile {
    name: "words",
    dim_vars: (0, 2),
    row_vars: (1, 3),
    constraints: (1, 4),
    shapes: &[(Shape::ShiftedEq, 6), (Shape::RowEq, 1), (Shape::AnchorEq, 1)],
    palette: (1, 3),
    dim_var_percent: 25,
    unit_percent: 10,
    planted_percent: 40,
};

/// Row inequalities only, with flanks that lie differently.
pub const INEQUALITIES: Profile = Profile {
    name: "inequalities",
    dim_vars: (0, 2),
    row_vars: (1, 3),
    constraints: (2, 5),
    shapes: &[(Shape::ShiftedLe, 4), (Shape::RowLe, 2), (Shape::AnchorLe, 3)],
    palette: (1, 3),
    dim_var_percent: 25,
    unit_percent: 10,
    planted_percent: 35,
};

/// Cycles of rank facts, most of them just closing.
pub const CYCLES: Profile = Profile {
    name: "cycles",
    dim_vars: (0, 2),
    row_vars: (1, 3),
    constraints: (2, 4),
    shapes: &[(Shape::Cycle, 3), (Shape::AnchorLe, 3), (Shape::RowLe, 1), (Shape::DimLe, 1)],
    palette: (1, 3),
    dim_var_percent: 25,
    unit_percent: 10,
    planted_percent: 35,
};

/// A bit of everything.
pub const MIXED: Profile = Profile {
    name: "mixed",
    dim_vars: (0, 3),
    row_vars: (1, 3),
    constraints: (2, 6),
    shapes: &[
        (Shape::DimEq, 1),
        (Shape::DimLe, 2),
        (Shape::RowEq, 1),
        (Shape::RowLe, 3),
        (Shape::ShiftedEq, 2),
        (Shape::ShiftedLe, 2),
        (Shape::AnchorEq, 1),
        (Shape::AnchorLe, 2),
        (Shape::Cycle, 1),
    ],
    palette: (1, 3),
    dim_var_percent: 40,
    unit_percent: 15,
    planted_percent: 35,
};

/// All profiles.
pub const PROFILES: [&Profile; 6] = [&DIMS, &ROWS, &WORDS, &INEQUALITIES, &CYCLES, &MIXED];

const MAX_FLANK: usize = 2;

/// The number of attempts of a planted system to find a constraint that its assignment satisfies.
const N_TRIES: usize = 300;

/// The system of this profile and seed.
pub fn generate(seed: u64, profile: &Profile) -> System {
    let mut rng = Dice::new(seed);
    let mut palette = [(1, 0), (2, 0), (3, 0), (2, 1)].map(|(size, basis)| Atom { size, basis });
    for n_left in (1..=palette.len()).rev() {
        palette.swap(n_left - 1, rng.below(n_left));
    }
    let n_atoms = rng.between(profile.palette);
    let mut generator = Generator {
        profile,
        dim_vars: rng.between(profile.dim_vars),
        row_vars: rng.between(profile.row_vars),
        palette: palette[..n_atoms].to_vec(),
        rng,
    };
    let planted = generator.rng.percent(profile.planted_percent);
    let planted = planted.then(|| generator.assignment());
    let mut constraints = Vec::new();
    for _ in 0..generator.rng.between(profile.constraints) {
        let found = match &planted {
            None => Some(generator.constraints()),
            Some(planted) => (0..N_TRIES).find_map(|_| {
                let found = generator.constraints();
                let all_hold = found.iter().all(|constraint| holds(constraint, planted));
                all_hold.then_some(found)
            }),
        };
        constraints.extend(found.unwrap_or_default());
    }
    let (dim_vars, row_vars) = (generator.dim_vars, generator.row_vars);
    let mut tag = || [Tag::Leaf, Tag::Param, Tag::Interior][generator.rng.below(3)];
    System {
        dim_vars,
        row_vars,
        dim_tags: (0..dim_vars).map(|_| tag()).collect(),
        row_tags: (0..row_vars).map(|_| tag()).collect(),
        constraints,
    }
}

struct Generator<'a> {
    profile: &'a Profile,
    dim_vars: usize,
    row_vars: usize,
    palette: Vec<Atom>,
    rng: Dice,
}

impl Generator<'_> {
    fn assignment(&mut self) -> Assignment {
        let dims = (0..self.dim_vars).map(|_| self.dim()).collect();
        let rows = (0..self.row_vars).map(|_| {
            let rank = [0, 1, 1, 2, 2, 2, 3][self.rng.below(7)];
            Row { dims: (0..rank).map(|_| self.dim()).collect(), marker: self.rng.below(rank + 1) }
        });
        let rows = rows.collect();
        Assignment { dims, rows }
    }

    fn shape(&mut self) -> Shape {
        let shapes = self.profile.shapes;
        let mut pick = self.rng.below(shapes.iter().map(|(_, weight)| weight).sum());
        let found = shapes.iter().find(|(_, weight)| {
            let found = pick < *weight;
            pick = pick.saturating_sub(*weight);
            found
        });
        found.expect("the pick is below the sum of the weights").0
    }

    /// One constraint, or the ones of a cycle.
    fn constraints(&mut self) -> Vec<Constraint> {
        vec![match self.shape() {
            Shape::DimEq => Constraint::DimEq(self.dim_term(), self.dim_term()),
            Shape::DimLe => Constraint::DimLe(self.dim_term(), self.dim_term()),
            Shape::RowEq => {
                let (left, right) = self.row_terms();
                Constraint::RowEq(left, right)
            }
            Shape::RowLe => {
                let (res, opnd) = self.row_terms();
                Constraint::RowLe(res, opnd)
            }
            Shape::ShiftedEq => {
                let (left, right) = self.shifted();
                Constraint::RowEq(left, right)
            }
            Shape::ShiftedLe => {
                let (res, opnd) = self.shifted();
                Constraint::RowLe(res, opnd)
            }
            Shape::AnchorEq => Constraint::RowEq(self.row_var(), self.closed_row()),
            Shape::AnchorLe if self.rng.percent(50) => Constraint::RowLe(self.row_var(), self.closed_row()),
            Shape::AnchorLe => Constraint::RowLe(self.closed_row(), self.row_var()),
            Shape::Cycle => return self.cycle(),
        }]
    }

    fn dim_term(&mut self) -> DimTerm {
        if self.dim_vars > 0 && self.rng.percent(self.profile.dim_var_percent) {
            return DimTerm::Var(self.rng.below(self.dim_vars));
        }
        match self.dim() {
            Dim::Unit => DimTerm::Unit,
            Dim::Atom(atom) => DimTerm::Atom(atom),
        }
    }

    fn dim(&mut self) -> Dim {
        if self.rng.percent(self.profile.unit_percent) {
            Dim::Unit
        } else {
            Dim::Atom(self.palette[self.rng.below(self.palette.len())])
        }
    }

    fn dim_terms(&mut self, n_terms: usize) -> Vec<DimTerm> {
        (0..n_terms).map(|_| self.dim_term()).collect()
    }

    fn row_var(&mut self) -> RowTerm {
        RowTerm::var(self.rng.below(self.row_vars))
    }

    fn closed_row(&mut self) -> RowTerm {
        let n_axes = 1 + self.rng.below(3);
        let n_lead = self.rng.below(n_axes + 1);
        RowTerm { lead: self.dim_terms(n_lead), hole: Hole::Marker, trail: self.dim_terms(n_axes - n_lead) }
    }

    /// Two row terms that are seldom both closed.
    fn row_terms(&mut self) -> (RowTerm, RowTerm) {
        let (mut left, right) = (self.row_term(), self.row_term());
        if left.row_var().is_none() && right.row_var().is_none() && self.rng.percent(80) {
            left.hole = Hole::Var(self.rng.below(self.row_vars));
        }
        if self.rng.percent(50) { (left, right) } else { (right, left) }
    }

    /// A row term with a variable, a marker, or a marker at the left edge.
    fn row_term(&mut self) -> RowTerm {
        let mut flank = || [0, 0, 1, 1, MAX_FLANK][self.rng.below(5)];
        let (n_lead, n_trail) = (flank(), flank());
        let hole = match self.rng.below(10) {
            0..6 => Hole::Var(self.rng.below(self.row_vars)),
            _ => Hole::Marker,
        };
        let (n_lead, n_trail) = if hole == Hole::Marker && self.rng.percent(50) {
            (0, n_lead + n_trail)
        } else {
            (n_lead, n_trail)
        };
        RowTerm { lead: self.dim_terms(n_lead), hole, trail: self.dim_terms(n_trail) }
    }

    /// Two open row terms whose flanks have mostly equally many axes, often the same ones in
    /// another order, but differently distributed.
    fn shifted(&mut self) -> (RowTerm, RowTerm) {
        let var = self.rng.below(self.row_vars);
        let same = self.rng.percent(50);
        let other_var = if same { var } else { self.rng.below(self.row_vars) };
        let n_axes = 1 + self.rng.below(MAX_FLANK + 1);
        let axes = self.dim_terms(n_axes);
        let mut other_axes = if self.rng.percent(50) {
            let mut rotated = axes.clone();
            rotated.rotate_left(self.rng.below(n_axes));
            rotated
        } else {
            self.dim_terms(n_axes)
        };
        if self.rng.percent(if same { 10 } else { 40 }) {
            other_axes.pop();
        }
        let term = self.around(var, axes);
        loop {
            let other = self.around(other_var, other_axes.clone());
            if other.lead.len() != term.lead.len() || other_axes.is_empty() {
                return (term, other);
            }
        }
    }

    /// A row term of the variable with these axes, split into flanks at random.
    fn around(&mut self, row_var: usize, mut axes: Vec<DimTerm>) -> RowTerm {
        let most = axes.len().min(MAX_FLANK);
        let least = axes.len().saturating_sub(MAX_FLANK);
        let trail = axes.split_off(self.rng.between((least, most)));
        RowTerm { lead: axes, hole: Hole::Var(row_var), trail }
    }

    /// A closed walk through the row variables. The axes that the steps add and take away are
    /// mostly equally many, so that the ranks are possible but have no slack.
    fn cycle(&mut self) -> Vec<Constraint> {
        let n_steps = 1 + self.rng.below(self.row_vars);
        let start = self.rng.below(self.row_vars);
        let surplus = [0, 0, 0, 0, 0, 1, 1, 2, -1, -1][self.rng.below(10)];
        let mut balance = -surplus;
        let mut steps = Vec::new();
        for step in 0..n_steps {
            let n_res = self.rng.below(MAX_FLANK + 1);
            let n_opnd = self.rng.below(MAX_FLANK + 1);
            balance += n_res as i32 - n_opnd as i32;
            let from = (start + step) % self.row_vars;
            let to = if step + 1 == n_steps { start } else { (from + 1) % self.row_vars };
            steps.push((from, n_res, n_opnd, to));
        }
        // The last steps make up for what is missing or too much, as far as flanks allow.
        for (_, n_res, n_opnd, _) in steps.iter_mut().rev() {
            while balance > 0 && *n_opnd < 2 * MAX_FLANK {
                *n_opnd += 1;
                balance -= 1;
            }
            while balance < 0 && *n_res < 2 * MAX_FLANK {
                *n_res += 1;
                balance += 1;
            }
        }
        let mut constraints = Vec::new();
        for (from, n_res, n_opnd, to) in steps {
            let (res_axes, opnd_axes) = (self.dim_terms(n_res), self.dim_terms(n_opnd));
            let (res, opnd) = (self.around(from, res_axes), self.around(to, opnd_axes));
            constraints.push(if self.rng.percent(15) {
                Constraint::RowEq(res, opnd)
            } else {
                Constraint::RowLe(res, opnd)
            });
        }
        constraints
    }
}
