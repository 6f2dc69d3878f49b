//! Solutions within bounds, by depth-first search.
//!
//! Every solution that [`search`] visits is one, so it can show that a solver is wrong. If it
//! visits none, that shows nothing beyond its [`Bounds`]. It chooses in three stages:
//!
//! 1. The rank of each row variable, and the marker where it is open. A constraint whose ranks are
//!    impossible ends the branch.
//! 2. With these fixed there is one *cell* for each dimension variable and each axis of a row
//!    variable, and every constraint becomes [`Relation`]s between cells and constants.
//! 3. The value of each cell, the cell with the fewest candidates first. When just one cell of a
//!    relation has no value yet, the candidates of that cell are those that make it hold.
//!
//! For example `#(..r..) = 6` at rank 2 is the one relation `r0 · r1 = 6`; the choice of 2 for `r0`
//! leaves 3, in any basis, for `r1`.

use std::ops::ControlFlow;

use broadloom_testing::Dice;

use super::judge::{affine, at_least, concat, count, may_be, satisfies};
use super::{Constraint, Form, Piece, System};
use crate::oracle::{self, Assignment, Dim, DimTerm, Row, RowTerm};

/// The limits of a search.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// The dimensions tried, at most 64.
    pub domain: Vec<Dim>,
    /// The largest rank of a row variable.
    pub max_rank: usize,
    /// The number of choices of stage 3 after which the search is cut off.
    pub steps: usize,
    /// Determines the order of the choices, so that a search that is cut off has seen a bit of
    /// everything.
    pub seed: u64,
}

/// A part of the solutions: those that refute a claim.
#[derive(Clone, Debug)]
pub enum Goal {
    /// All solutions.
    Any,
    /// The two are different dimensions.
    Differ(Place, Place),
    /// The rank of the row variable is not in the range.
    RankOutside(usize, usize, usize),
}

/// The subject of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Ground(Dim),
    Var(usize),
    /// An axis of a row variable, counted from the front.
    Front(usize, usize),
    /// An axis of a row variable, counted from the back.
    Back(usize, usize),
}

/// The result of looking for one solution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    Solution(Assignment),
    /// There is none within the bounds.
    Nothing,
    /// The search was cut off.
    CutOff,
}

/// One solution that meets the goal; the planted one is tried first.
pub fn find(system: &System, bounds: &Bounds, goal: &Goal) -> Found {
    if let Some(planted) = &system.planted
        && satisfies(system, planted).is_ok()
        && goal.met(planted)
    {
        return Found::Solution(planted.clone());
    }
    match search(system, bounds, goal, |solution| ControlFlow::Break(solution.clone())) {
        ControlFlow::Break(Some(solution)) => {
            assert_eq!(satisfies(system, &solution), Ok(()), "{system}\n{solution}");
            Found::Solution(solution)
        }
        ControlFlow::Break(None) => Found::CutOff,
        ControlFlow::Continue(()) => Found::Nothing,
    }
}

/// Visits the solutions that meet the goal, until the visitor breaks or the search is cut off
/// (`Break(None)`). A marker that is not open is visited in one place.
pub fn search<B>(
    system: &System,
    bounds: &Bounds,
    goal: &Goal,
    visit: impl FnMut(&Assignment) -> ControlFlow<B>,
) -> ControlFlow<Option<B>> {
    assert!(bounds.domain.len() <= 64, "a mask has a bit for each value");
    let rows = vec![Row { dims: Vec::new(), marker: 0 }; system.rows.len()];
    let assignment = Assignment { dims: vec![Dim::Unit; system.dims.len()], rows };
    let mut search = Search {
        system,
        bounds,
        goal,
        rng: Dice::new(bounds.seed),
        steps_left: bounds.steps,
        assignment,
        first_cells: Vec::new(),
        relations: Vec::new(),
        cells: Vec::new(),
        visit,
    };
    match search.ranks_fit(0) {
        true => search.choose_rank(0),
        false => ControlFlow::Continue(()),
    }
}

impl Goal {
    /// Returns true if a solution refutes the claim. An axis that does not exist refutes nothing.
    fn met(&self, assignment: &Assignment) -> bool {
        match *self {
            Goal::Any => true,
            Goal::Differ(one, two) => match (one.dim(assignment), two.dim(assignment)) {
                (Some(one), Some(two)) => one != two,
                _ => false,
            },
            Goal::RankOutside(row, least, greatest) => {
                !(least..=greatest).contains(&assignment.rows[row].dims.len())
            }
        }
    }
}

impl Place {
    fn dim(self, assignment: &Assignment) -> Option<Dim> {
        match self {
            Place::Ground(dim) => Some(dim),
            Place::Var(dim_var) => Some(assignment.dims[dim_var]),
            Place::Front(row, at) => assignment.rows[row].dims.get(at).copied(),
            Place::Back(row, at) => assignment.rows[row].dims.iter().rev().nth(at).copied(),
        }
    }
}

/// One argument of a relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Cell(usize),
    Value(Dim),
}

#[derive(Clone, Debug)]
enum Relation {
    Equal(Side, Side),
    Differ(Side, Side),
    Refines(Side, Side),
    Affine { axis: Side, form: Form, over: Side, kernel: Option<Side> },
    Concat { axis: Side, components: Vec<Side>, literal: u64 },
    AtLeast(Side, u64),
    Count { denom: u64, factors: Vec<Side>, coeff: u64, over: Option<Side> },
}

/// The candidates of a cell, by their index in the domain.
type Mask = u64;

struct Search<'a, F> {
    system: &'a System,
    bounds: &'a Bounds,
    goal: &'a Goal,
    rng: Dice,
    steps_left: usize,
    /// Ranks and markers while they are chosen, and the values whenever a solution is visited.
    assignment: Assignment,
    /// The first cell of each row variable.
    first_cells: Vec<usize>,
    /// The relations for the chosen ranks and markers, each with its different cells.
    relations: Vec<(Relation, Vec<usize>)>,
    /// The value of each cell that has one.
    cells: Vec<Option<Dim>>,
    visit: F,
}

impl<B, F: FnMut(&Assignment) -> ControlFlow<B>> Search<'_, F> {
    /// Stage 1, when the variables before `row_var` have a rank and a marker.
    fn choose_rank(&mut self, row_var: usize) -> ControlFlow<Option<B>> {
        if row_var == self.system.rows.len() {
            return self.lay_out();
        }
        let n_ranks = self.bounds.max_rank + 1;
        let first = self.rng.below(n_ranks);
        for rank in (0..n_ranks).map(|at| (first + at) % n_ranks) {
            self.assignment.rows[row_var].dims.resize(rank, Dim::Unit);
            if !self.ranks_fit(row_var + 1) {
                continue;
            }
            let markers = match self.system.rows[row_var].lead {
                Some(lead) => (lead as usize).min(rank)..=(lead as usize).min(rank),
                None if self.system.marker_is_open(row_var) => 0..=rank,
                None => 0..=0,
            };
            for marker in markers {
                self.assignment.rows[row_var].marker = marker;
                self.choose_rank(row_var + 1)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Returns true if the constraints on row variables before `n_known` are possible with their
    /// ranks.
    fn ranks_fit(&self, n_known: usize) -> bool {
        let known = |constraint: &&Constraint| constraint.row_vars().iter().all(|row| *row < n_known);
        let ranks_hold = self.system.constraints.iter().filter(known).all(|constraint| match constraint {
            Constraint::Order(oracle::Constraint::RowEq(left, right)) => self.rank(left) == self.rank(right),
            Constraint::Order(oracle::Constraint::RowLe(res, opnd)) => self.rank(res) >= self.rank(opnd),
            Constraint::Exact { pieces, axes, .. } => self.rank_of_pieces(pieces) == axes.len(),
            _ => true,
        });
        let goal_holds = match *self.goal {
            Goal::RankOutside(row, ..) if row < n_known => self.goal.met(&self.assignment),
            _ => true,
        };
        ranks_hold && goal_holds
    }

    fn rank_of(&self, row_var: usize) -> usize {
        self.assignment.rows[row_var].dims.len()
    }

    fn rank(&self, term: &RowTerm) -> usize {
        term.flank_len() + term.row_var().map_or(0, |row_var| self.rank_of(row_var))
    }

    fn rank_of_pieces(&self, pieces: &[Piece]) -> usize {
        let ranks = pieces.iter().map(|piece| match piece {
            Piece::Dim(_) => 1,
            Piece::Row(row_var) => self.rank_of(*row_var),
        });
        ranks.sum()
    }

    /// Stage 2: the relations for the ranks and markers chosen.
    fn lay_out(&mut self) -> ControlFlow<Option<B>> {
        let mut n_cells = self.system.dims.len();
        self.first_cells.clear();
        for row in &self.assignment.rows {
            self.first_cells.push(n_cells);
            n_cells += row.dims.len();
        }
        let mut relations = Vec::new();
        for constraint in &self.system.constraints {
            self.relate(constraint, &mut relations);
        }
        if let Goal::Differ(one, two) = *self.goal {
            match (self.place(one), self.place(two)) {
                (Some(one), Some(two)) => relations.push(Relation::Differ(one, two)),
                _ => return ControlFlow::Continue(()),
            }
        }
        self.relations = relations.into_iter().map(|relation| (relation.clone(), relation.cells())).collect();
        self.cells = vec![None; n_cells];
        let mut masks: Vec<Mask> = (0..n_cells).map(|cell| self.lawful(cell)).collect();
        let all: Vec<usize> = (0..self.relations.len()).collect();
        if self.narrow(&all, &mut masks) {
            self.choose_value(&masks)?;
        }
        ControlFlow::Continue(())
    }

    /// The values that a cell may have before any constraint.
    fn lawful(&self, cell: usize) -> Mask {
        let discardable = self.system.dims.get(cell).is_some_and(|var| var.discardable);
        let values = self.bounds.domain.iter().enumerate();
        values.filter(|(_, dim)| may_be(**dim, discardable)).fold(0, |mask, (at, _)| mask | (1 << at))
    }

    /// Stage 3, with the candidates of the cells that have no value.
    fn choose_value(&mut self, masks: &[Mask]) -> ControlFlow<Option<B>> {
        let open = (0..self.cells.len()).filter(|cell| self.cells[*cell].is_none());
        let Some(cell) = open.min_by_key(|cell| masks[*cell].count_ones()) else {
            return self.solution();
        };
        let concerned: Vec<usize> =
            (0..self.relations.len()).filter(|at| self.relations[*at].1.contains(&cell)).collect();
        let n_values = self.bounds.domain.len();
        let first = self.rng.below(n_values);
        for at in (0..n_values).map(|at| (first + at) % n_values).filter(|at| masks[cell] >> at & 1 == 1) {
            let Some(left) = self.steps_left.checked_sub(1) else {
                return ControlFlow::Break(None);
            };
            self.steps_left = left;
            self.cells[cell] = Some(self.bounds.domain[at]);
            let mut masks = masks.to_vec();
            if self.narrow(&concerned, &mut masks) {
                self.choose_value(&masks)?;
            }
        }
        self.cells[cell] = None;
        ControlFlow::Continue(())
    }

    fn solution(&mut self) -> ControlFlow<Option<B>> {
        let mut values = self.cells.iter().map(|value| value.expect("every cell has a value"));
        self.assignment.dims.iter_mut().for_each(|dim| *dim = values.next().expect("one for each"));
        let axes = self.assignment.rows.iter_mut().flat_map(|row| &mut row.dims);
        axes.for_each(|dim| *dim = values.next().expect("one for each"));
        (self.visit)(&self.assignment).map_break(Some)
    }

    /// Judges the relations whose cells all have a value, and where just one has none removes the
    /// candidates that violate the relation. False if nothing is left.
    fn narrow(&mut self, relations: &[usize], masks: &mut [Mask]) -> bool {
        relations.iter().all(|at| {
            let (relation, cells) = &self.relations[*at];
            let mut open = cells.iter().copied().filter(|cell| self.cells[*cell].is_none());
            match (open.next(), open.next()) {
                (None, _) => relation.holds(&self.cells),
                (Some(cell), None) => {
                    let mut left = masks[cell];
                    for (at, value) in self.bounds.domain.iter().enumerate() {
                        if left >> at & 1 == 1 {
                            self.cells[cell] = Some(*value);
                            if !relation.holds(&self.cells) {
                                left &= !(1 << at);
                            }
                        }
                    }
                    self.cells[cell] = None;
                    masks[cell] = left;
                    left != 0
                }
                _ => true,
            }
        })
    }

    fn relate(&self, constraint: &Constraint, relations: &mut Vec<Relation>) {
        let side = |term: DimTerm| self.side(term);
        let sides = |terms: &[DimTerm]| terms.iter().map(|term| self.side(*term)).collect::<Vec<_>>();
        match constraint {
            Constraint::Order(oracle::Constraint::DimEq(left, right)) => {
                relations.push(Relation::Equal(side(*left), side(*right)));
            }
            Constraint::Order(oracle::Constraint::DimLe(res, opnd)) => {
                relations.push(Relation::Refines(side(*res), side(*opnd)));
            }
            Constraint::Order(oracle::Constraint::RowEq(left, right)) => {
                let pairs = self.axes(left).into_iter().zip(self.axes(right));
                relations.extend(pairs.map(|(left, right)| Relation::Equal(left, right)));
            }
            Constraint::Order(oracle::Constraint::RowLe(res, opnd)) => {
                let marker =
                    opnd.lead.len() + opnd.row_var().map_or(0, |row| self.assignment.rows[row].marker);
                let n_inserted = self.rank(res) - self.rank(opnd);
                let mut expanded = self.axes(opnd);
                let units = std::iter::repeat_n(Side::Value(Dim::Unit), n_inserted);
                expanded.splice(marker..marker, units);
                let pairs = self.axes(res).into_iter().zip(expanded);
                relations.extend(pairs.map(|(res, opnd)| Relation::Refines(res, opnd)));
            }
            Constraint::Affine { axis, form, over, kernel } => relations.push(Relation::Affine {
                axis: side(*axis),
                form: *form,
                over: side(*over),
                kernel: kernel.map(side),
            }),
            Constraint::Concat { axis, components, literal } => relations.push(Relation::Concat {
                axis: side(*axis),
                components: sides(components),
                literal: *literal,
            }),
            Constraint::AtLeast(term, least) => relations.push(Relation::AtLeast(side(*term), *least)),
            Constraint::Count { pieces, coeff, over, denom, divided_by, rest: _ } => {
                let mut factors = self.axes_of_pieces(pieces);
                factors.extend(sides(divided_by));
                let over = over.map(side);
                relations.push(Relation::Count { denom: *denom, factors, coeff: *coeff, over });
            }
            Constraint::Exact { pieces, axes, rest: _ } => {
                let pairs = self.axes_of_pieces(pieces).into_iter().zip(sides(axes));
                relations.extend(pairs.map(|(left, right)| Relation::Equal(left, right)));
            }
        }
    }

    fn side(&self, term: DimTerm) -> Side {
        match term {
            DimTerm::Var(dim_var) => Side::Cell(dim_var),
            DimTerm::Atom(atom) => Side::Value(Dim::Atom(atom)),
            DimTerm::Unit => Side::Value(Dim::Unit),
        }
    }

    fn cells_of(&self, row_var: usize) -> impl Iterator<Item = Side> + use<B, F> {
        let first = self.first_cells[row_var];
        (first..first + self.rank_of(row_var)).map(Side::Cell)
    }

    fn axes(&self, term: &RowTerm) -> Vec<Side> {
        let lead = term.lead.iter().map(|term| self.side(*term));
        let hole = term.row_var().into_iter().flat_map(|row_var| self.cells_of(row_var));
        lead.chain(hole).chain(term.trail.iter().map(|term| self.side(*term))).collect()
    }

    fn axes_of_pieces(&self, pieces: &[Piece]) -> Vec<Side> {
        let axes = pieces.iter().flat_map(|piece| match piece {
            Piece::Dim(term) => vec![self.side(*term)],
            Piece::Row(row_var) => self.cells_of(*row_var).collect(),
        });
        axes.collect()
    }

    fn place(&self, place: Place) -> Option<Side> {
        match place {
            Place::Ground(dim) => Some(Side::Value(dim)),
            Place::Var(dim_var) => Some(Side::Cell(dim_var)),
            Place::Front(row, at) => self.cells_of(row).nth(at),
            Place::Back(row, at) => {
                let axes: Vec<Side> = self.cells_of(row).collect();
                axes.into_iter().rev().nth(at)
            }
        }
    }
}

impl Relation {
    /// The different cells that occur.
    fn cells(&self) -> Vec<usize> {
        let sides: Vec<Side> = match self {
            Relation::Equal(left, right) | Relation::Differ(left, right) | Relation::Refines(left, right) => {
                vec![*left, *right]
            }
            Relation::Affine { axis, over, kernel, .. } => {
                [*axis, *over].into_iter().chain(*kernel).collect()
            }
            Relation::Concat { axis, components, .. } => {
                std::iter::once(axis).chain(components).copied().collect()
            }
            Relation::AtLeast(side, _) => vec![*side],
            Relation::Count { factors, over, .. } => factors.iter().copied().chain(*over).collect(),
        };
        let mut cells: Vec<usize> = Vec::new();
        for side in sides {
            if let Side::Cell(cell) = side
                && !cells.contains(&cell)
            {
                cells.push(cell);
            }
        }
        cells
    }

    /// Returns true if the relation holds, when all its cells have a value.
    fn holds(&self, cells: &[Option<Dim>]) -> bool {
        let dim = |side: Side| match side {
            Side::Cell(cell) => cells[cell].expect("all cells have a value"),
            Side::Value(dim) => dim,
        };
        let dims = |sides: &[Side]| sides.iter().map(|side| dim(*side)).collect::<Vec<_>>();
        match self {
            Relation::Equal(left, right) => dim(*left) == dim(*right),
            Relation::Differ(left, right) => dim(*left) != dim(*right),
            Relation::Refines(res, opnd) => dim(*res).refines(dim(*opnd)),
            Relation::Affine { axis, form, over, kernel } => {
                affine(dim(*axis), form, dim(*over), kernel.map(dim))
            }
            Relation::Concat { axis, components, literal } => concat(dim(*axis), &dims(components), *literal),
            Relation::AtLeast(side, least) => at_least(dim(*side), *least),
            Relation::Count { denom, factors, coeff, over } => {
                count(*denom, &dims(factors), *coeff, over.map(dim))
            }
        }
    }
}

/// All solutions within the bounds, from the product of all assignments; for tests of the search.
pub fn naive(system: &System, bounds: &Bounds) -> Vec<Assignment> {
    let mut all = vec![Assignment { dims: Vec::new(), rows: Vec::new() }];
    for _ in &system.dims {
        all = each(&all, &bounds.domain, |assignment, dim| assignment.dims.push(*dim));
    }
    let mut rows = Vec::new();
    for rank in 0..=bounds.max_rank {
        let mut contents: Vec<Vec<Dim>> = vec![Vec::new()];
        for _ in 0..rank {
            contents = each(&contents, &bounds.domain, |content, dim| content.push(*dim));
        }
        for dims in contents {
            rows.extend((0..=rank).map(|marker| Row { dims: dims.clone(), marker }));
        }
    }
    for _ in &system.rows {
        all = each(&all, &rows, |assignment, row| assignment.rows.push(row.clone()));
    }
    all.retain(|assignment| satisfies(system, assignment).is_ok());
    all
}

fn each<T: Clone, C>(all: &[T], choices: &[C], mut extend: impl FnMut(&mut T, &C)) -> Vec<T> {
    let mut extended = Vec::with_capacity(all.len() * choices.len());
    for (one, choice) in all.iter().flat_map(|one| choices.iter().map(move |choice| (one, choice))) {
        let mut one = one.clone();
        extend(&mut one, choice);
        extended.push(one);
    }
    extended
}
