//! All solutions up to a rank, by depth-first search.
//!
//! The search visits the same solutions as [`super::enumerate_naive`], except that a marker which
//! no constraint consults ([`System::marker_matters`]) is always 0. It chooses in three stages:
//!
//! 1. The rank of each row variable. A row constraint whose variables all have a rank is checked
//!    for its rank condition at once.
//! 2. With the ranks fixed there is one *cell* for each dimension variable and each axis of a row
//!    variable, and a row constraint is a list of dimension constraints between cells and
//!    constants. Those of an inequality are known when the marker of its operand is; the markers
//!    are chosen one variable after the other, and the others' constraints are there from the
//!    start.
//! 3. The value of each cell.
//!
//! The set of values that are still possible for a cell is a bit mask, bit 0 being the unit. In
//! stage 2 the masks are narrowed by [`narrow`] until nothing changes, and an empty one ends the
//! branch. In stage 3 the choice for a cell narrows the masks of the later cells that share a
//! constraint with it, so that every choice from a mask agrees with all earlier ones.
//!
//! For example `[..r..] <= [3, ..s..]` at ranks 1 and 0 is `r0 ⊑ 3`, and the mask of `r0` is {3};
//! at ranks 1 and 1 the first stage rejects it.

use std::ops::ControlFlow;

use super::{Assignment, Atom, Constraint, Dim, DimTerm, Hole, Row, RowTerm, System};

/// Visits every solution whose row variables have rank at most `max_rank` and whose dimensions
/// are the unit or in `atoms`, which is usually [`System::atoms`]. A marker that no constraint
/// consults is 0; the other markers are visited in all positions that solve the system.
pub fn enumerate<B>(
    system: &System,
    max_rank: usize,
    atoms: &[Atom],
    visit: impl FnMut(&Assignment) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let mut values = vec![Dim::Unit];
    let mut add_atoms = |atoms: &[Atom]| {
        for dim in atoms.iter().map(|atom| Dim::Atom(*atom)) {
            if !values.contains(&dim) {
                values.push(dim);
            }
        }
        values.len()
    };
    let n_candidates = add_atoms(atoms);
    add_atoms(&system.atoms(0));
    assert!(values.len() < 64, "a mask has a bit for each value");
    let row_vars = 0..system.row_vars;
    let mut search = Search {
        system,
        max_rank,
        marker_matters: row_vars.map(|var| system.marker_matters(var)).collect(),
        values,
        candidates: (1 << n_candidates) - 1,
        assignment: Assignment {
            dims: vec![Dim::Unit; system.dim_vars],
            rows: vec![EMPTY_ROW; system.row_vars],
        },
        first_cells: vec![0; system.row_vars],
        places: Vec::new(),
        pairs: Vec::new(),
        plan: Plan::default(),
        visit,
    };
    if search.ranks_fit(0) {
        search.choose_ranks(0)?;
    }
    ControlFlow::Continue(())
}

/// A solution within the bounds of [`enumerate`], if there is one. No fresh atom is needed. The
/// answer `None` does not exclude a solution of a larger rank.
pub fn satisfiable(system: &System, max_rank: usize, atoms: &[Atom]) -> Option<Assignment> {
    let flow = enumerate(system, max_rank, atoms, |assignment| ControlFlow::Break(assignment.clone()));
    flow.break_value()
}

const EMPTY_ROW: Row = Row { dims: Vec::new(), marker: 0 };

/// A set of values, by their index in [`Search::values`].
type Mask = u64;

const UNIT: Mask = 1;

/// One side of a dimension constraint: a cell, or the set that has just the one value.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Cell(usize),
    Value(Mask),
}

#[derive(Clone, Copy)]
enum Relation {
    Eq,
    Le,
}

/// A dimension constraint between two different cells.
#[derive(Clone, Copy)]
struct Pair {
    relation: Relation,
    left: usize,
    right: usize,
}

/// The place where the value of a cell is stored in the assignment.
#[derive(Clone, Copy)]
enum Place {
    Dim(usize),
    Axis(usize, usize),
}

struct Search<'a, F> {
    system: &'a System,
    max_rank: usize,
    /// True for each row variable whose marker has to be chosen.
    marker_matters: Vec<bool>,
    /// The unit, the atoms to try, and then the atoms of the system that are not to be tried.
    values: Vec<Dim>,
    /// The values that a cell may take.
    candidates: Mask,
    /// The current choices; complete whenever it is visited.
    assignment: Assignment,
    /// The first cell of each row variable; the cells of its other axes follow.
    first_cells: Vec<usize>,
    /// The place of each cell.
    places: Vec<Place>,
    /// The constraints between cells, for the ranks and markers chosen so far.
    pairs: Vec<Pair>,
    plan: Plan,
    visit: F,
}

/// The order of stage 3. It is rebuilt for each choice of ranks and markers.
#[derive(Default)]
struct Plan {
    /// The cells with more than one value left: first those with constraints among them,
    /// neighbours close to each other, and last those that are free.
    order: Vec<usize>,
    /// True for each cell that is in the order.
    ordered: Vec<bool>,
    /// For each place in the order, the end of its part of `checks`; it starts where the one
    /// before ends.
    check_ends: Vec<usize>,
    /// The consequences of a choice for later cells.
    checks: Vec<Check>,
    /// A stack of the masks of all cells; a choice that narrows masks works on a copy on top.
    masks: Vec<Mask>,
}

/// A later cell to narrow.
#[derive(Clone, Copy)]
struct Check {
    later: usize,
    role: Role,
}

/// The role of the chosen cell in the constraint.
#[derive(Clone, Copy)]
enum Role {
    Equal,
    Result,
    Operand,
}

impl<B, F: FnMut(&Assignment) -> ControlFlow<B>> Search<'_, F> {
    /// Stage 1, when the variables before `row_var` have a rank.
    fn choose_ranks(&mut self, row_var: usize) -> ControlFlow<B> {
        if row_var == self.system.row_vars {
            return self.lay_out_cells();
        }
        for rank in 0..=self.max_rank {
            self.assignment.rows[row_var].dims.resize(rank, Dim::Unit);
            if self.ranks_fit(row_var + 1) {
                self.choose_ranks(row_var + 1)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// The start of stage 2: all constraints that depend on no variable's marker.
    fn lay_out_cells(&mut self) -> ControlFlow<B> {
        self.places.clear();
        self.places.extend((0..self.system.dim_vars).map(Place::Dim));
        for (row_var, row) in self.assignment.rows.iter().enumerate() {
            self.first_cells[row_var] = self.places.len();
            let axes = 0..row.dims.len();
            self.places.extend(axes.map(|axis| Place::Axis(row_var, axis)));
        }
        self.pairs.clear();
        let mut masks = vec![self.candidates; self.places.len()];
        let system = self.system;
        for constraint in &system.constraints {
            let possible = match constraint {
                Constraint::DimEq(left, right) => {
                    let (left, right) = (self.side(*left), self.side(*right));
                    self.relate(Relation::Eq, left, right, &mut masks)
                }
                Constraint::DimLe(res, opnd) => {
                    let (res, opnd) = (self.side(*res), self.side(*opnd));
                    self.relate(Relation::Le, res, opnd, &mut masks)
                }
                Constraint::RowEq(left, right) => (0..self.rank(left)).all(|axis| {
                    let (left, right) = (self.axis(left, axis), self.axis(right, axis));
                    self.relate(Relation::Eq, left, right, &mut masks)
                }),
                Constraint::RowLe(res, opnd) => {
                    opnd.hole != Hole::Marker || self.relate_expanded(res, opnd, &mut masks)
                }
            };
            if !possible {
                return ControlFlow::Continue(());
            }
        }
        if narrow_all(&self.pairs, &mut masks) {
            self.choose_markers(0, &masks)?;
        }
        ControlFlow::Continue(())
    }

    /// Stage 2, when the variables before `row_var` have a marker.
    fn choose_markers(&mut self, row_var: usize, masks: &[Mask]) -> ControlFlow<B> {
        if row_var == self.system.row_vars {
            self.make_plan(masks);
            return self.choose_values(0, 0);
        }
        if !self.marker_matters[row_var] {
            return self.choose_markers(row_var + 1, masks);
        }
        let n_pairs = self.pairs.len();
        for marker in 0..=self.assignment.rows[row_var].dims.len() {
            self.assignment.rows[row_var].marker = marker;
            self.pairs.truncate(n_pairs);
            let mut masks = masks.to_vec();
            let system = self.system;
            let possible = system.constraints.iter().all(|constraint| match constraint {
                Constraint::RowLe(res, opnd) if opnd.hole == Hole::Var(row_var) => {
                    self.relate_expanded(res, opnd, &mut masks)
                }
                _ => true,
            });
            if possible && narrow_all(&self.pairs, &mut masks) {
                self.choose_markers(row_var + 1, &masks)?;
            }
        }
        self.pairs.truncate(n_pairs);
        ControlFlow::Continue(())
    }

    /// Stage 3, from this place in the order on. The current masks start at `base`.
    fn choose_values(&mut self, place: usize, base: usize) -> ControlFlow<B> {
        let Some(&cell) = self.plan.order.get(place) else {
            return (self.visit)(&self.assignment);
        };
        let mut values_left = self.plan.masks[base + cell];
        while values_left != 0 {
            let value = values_left & values_left.wrapping_neg();
            values_left ^= value;
            self.store(cell, value);
            if let Some(base) = self.plan.narrow_later(place, value, base, self.places.len()) {
                self.choose_values(place + 1, base)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Returns true if the row constraints on variables before `n_known` can hold with their ranks.
    fn ranks_fit(&self, n_known: usize) -> bool {
        let known = |term: &RowTerm| term.row_var().is_none_or(|row_var| row_var < n_known);
        self.system.constraints.iter().all(|constraint| match constraint {
            Constraint::RowEq(left, right) if known(left) && known(right) => {
                self.rank(left) == self.rank(right)
            }
            Constraint::RowLe(res, opnd) if known(res) && known(opnd) => self.rank(res) >= self.rank(opnd),
            _ => true,
        })
    }

    fn rank(&self, term: &RowTerm) -> usize {
        let content = |row_var: usize| self.assignment.rows[row_var].dims.len();
        term.flank_len() + term.row_var().map_or(0, content)
    }

    /// The dimension at an axis of a row term with known ranks.
    fn axis(&self, term: &RowTerm, axis: usize) -> Side {
        if let Some(dim) = term.lead.get(axis) {
            return self.side(*dim);
        }
        let trail_start = self.rank(term) - term.trail.len();
        match term.hole {
            Hole::Var(row_var) if axis < trail_start => {
                Side::Cell(self.first_cells[row_var] + axis - term.lead.len())
            }
            _ => self.side(term.trail[axis - trail_start]),
        }
    }

    fn side(&self, term: DimTerm) -> Side {
        let dim = match term {
            DimTerm::Var(dim_var) => return Side::Cell(dim_var),
            DimTerm::Atom(atom) => Dim::Atom(atom),
            DimTerm::Unit => Dim::Unit,
        };
        let index = self.values.iter().position(|value| *value == dim);
        Side::Value(1 << index.expect("every atom of the system is a value"))
    }

    /// Adds the dimension constraints of a row inequality. The inserted units constrain nothing.
    fn relate_expanded(&mut self, res: &RowTerm, opnd: &RowTerm, masks: &mut [Mask]) -> bool {
        let inner = opnd.row_var().map_or(0, |row_var| self.assignment.rows[row_var].marker);
        let marker = opnd.lead.len() + inner;
        let n_inserted = self.rank(res) - self.rank(opnd);
        (0..self.rank(opnd)).all(|axis| {
            let res_axis = if axis < marker { axis } else { axis + n_inserted };
            let (res, opnd) = (self.axis(res, res_axis), self.axis(opnd, axis));
            self.relate(Relation::Le, res, opnd, masks)
        })
    }

    /// Adds a dimension constraint; the answer `false` means that no value is left for a side.
    fn relate(&mut self, relation: Relation, left: Side, right: Side, masks: &mut [Mask]) -> bool {
        if left == right {
            return true;
        }
        if let (Side::Cell(left), Side::Cell(right)) = (left, right) {
            self.pairs.push(Pair { relation, left, right });
            return true;
        }
        let mask = |side| match side {
            Side::Cell(cell) => masks[cell],
            Side::Value(value) => value,
        };
        let (left_mask, right_mask) = narrow(relation, mask(left), mask(right));
        for (side, mask) in [(left, left_mask), (right, right_mask)] {
            if let Side::Cell(cell) = side {
                masks[cell] = mask;
            }
        }
        left_mask != 0 && right_mask != 0
    }

    /// Stores the cells that have no choice, and puts the others in order.
    fn make_plan(&mut self, masks: &[Mask]) {
        for (cell, mask) in masks.iter().enumerate() {
            if mask.is_power_of_two() {
                self.store(cell, *mask);
            }
        }
        self.plan.rebuild(masks, &self.pairs);
    }

    fn store(&mut self, cell: usize, value: Mask) {
        let dim = self.values[value.trailing_zeros() as usize];
        match self.places[cell] {
            Place::Dim(dim_var) => self.assignment.dims[dim_var] = dim,
            Place::Axis(row_var, axis) => self.assignment.rows[row_var].dims[axis] = dim,
        }
    }
}

impl Plan {
    fn rebuild(&mut self, masks: &[Mask], pairs: &[Pair]) {
        let has_choice = |cell: usize| !masks[cell].is_power_of_two();
        // The masks are narrowed, so a cell without a choice agrees with all values of the others.
        let open = |pair: &&Pair| has_choice(pair.left) && has_choice(pair.right);
        self.masks.clear();
        self.masks.extend_from_slice(masks);
        self.order.clear();
        self.ordered.clear();
        self.ordered.resize(masks.len(), false);
        self.checks.clear();
        self.check_ends.clear();
        let mut place = 0;
        for start in pairs.iter().filter(open) {
            self.append(start.left);
            while let Some(&cell) = self.order.get(place) {
                for pair in pairs.iter().filter(open) {
                    if pair.left == cell {
                        self.append(pair.right);
                    } else if pair.right == cell {
                        self.append(pair.left);
                    }
                }
                place += 1;
            }
        }
        for place in 0..self.order.len() {
            let (cell, later) = (self.order[place], &self.order[place + 1..]);
            for pair in pairs.iter().filter(open) {
                let (role, other) = match pair.relation {
                    Relation::Eq if pair.left == cell => (Role::Equal, pair.right),
                    Relation::Eq if pair.right == cell => (Role::Equal, pair.left),
                    Relation::Le if pair.left == cell => (Role::Result, pair.right),
                    Relation::Le if pair.right == cell => (Role::Operand, pair.left),
                    _ => continue,
                };
                if later.contains(&other) {
                    self.checks.push(Check { later: other, role });
                }
            }
            self.check_ends.push(self.checks.len());
        }
        for cell in (0..masks.len()).filter(|cell| has_choice(*cell)) {
            self.append(cell);
        }
        self.check_ends.resize(self.order.len(), self.checks.len());
    }

    fn append(&mut self, cell: usize) {
        if !self.ordered[cell] {
            self.ordered[cell] = true;
            self.order.push(cell);
        }
    }

    /// The start of the masks after the choice of a value, unless one of them is empty.
    fn narrow_later(&mut self, place: usize, value: Mask, base: usize, n_cells: usize) -> Option<usize> {
        let check_start = if place == 0 { 0 } else { self.check_ends[place - 1] };
        let checks = &self.checks[check_start..self.check_ends[place]];
        if checks.is_empty() {
            return Some(base);
        }
        let top = base + n_cells;
        if self.masks.len() < top + n_cells {
            self.masks.resize(top + n_cells, 0);
        }
        self.masks.copy_within(base..top, top);
        for check in checks {
            let mask = &mut self.masks[top + check.later];
            *mask &= match check.role {
                Role::Equal => value,
                Role::Result => value | UNIT,
                Role::Operand if value == UNIT => Mask::MAX,
                Role::Operand => value,
            };
            if *mask == 0 {
                return None;
            }
        }
        Some(top)
    }
}

/// Narrows the masks by all pairs until nothing changes; `false` if one of them becomes empty.
fn narrow_all(pairs: &[Pair], masks: &mut [Mask]) -> bool {
    loop {
        let mut changed = false;
        for pair in pairs {
            let before = (masks[pair.left], masks[pair.right]);
            let after = narrow(pair.relation, before.0, before.1);
            if after.0 == 0 || after.1 == 0 {
                return false;
            }
            (masks[pair.left], masks[pair.right]) = after;
            changed |= after != before;
        }
        if !changed {
            return true;
        }
    }
}

/// The values of each side that stand in the relation with some value of the other side.
fn narrow(relation: Relation, left: Mask, right: Mask) -> (Mask, Mask) {
    match relation {
        Relation::Eq => (left & right, left & right),
        Relation::Le if right & UNIT != 0 => (left, right & (left | UNIT)),
        Relation::Le => (left & right, left & right),
    }
}
