//! Large systems of shifted constraints, `[2, a, ..r..] <= [..s.., b, 3]`, often of a row with itself.
//!
//! Such a constraint of a row with itself says that the row is periodic, or made of a flank; several of
//! them tie periods to each other. The systems have up to four rows and no anchors, so nothing bounds
//! their ranks, and enumeration alone decides few of them.

use broadloom_testing::Dice;

use super::{Atom, Constraint, DimTerm, Hole, RowTerm, System};

const ROW_VARS: usize = 4;
const DIM_VARS: usize = 3;
const MAX_FLANK: usize = 4;
const SIZES: [u32; 3] = [2, 3, 5];

/// The system of this seed: four to eight constraints, most of them of a row with itself.
pub fn shifted_system(seed: u64) -> System {
    let mut rng = Dice::new(seed);
    let n_constraints = rng.between((4, 8));
    let constraints = (0..n_constraints).map(|_| shifted(&mut rng)).collect();
    System::new(DIM_VARS, ROW_VARS, constraints)
}

fn shifted(rng: &mut Dice) -> Constraint {
    let row_var = rng.below(ROW_VARS);
    let other = if rng.percent(60) { row_var } else { rng.below(ROW_VARS) };
    let n_axes = rng.between((1, MAX_FLANK));
    let n_other = if rng.percent(50) { n_axes } else { rng.between((1, MAX_FLANK)) };
    let front = RowTerm { lead: flank(rng, n_axes), hole: Hole::Var(row_var), trail: Vec::new() };
    let back = RowTerm { lead: Vec::new(), hole: Hole::Var(other), trail: flank(rng, n_other) };
    let (left, right) = if rng.percent(80) { (front, back) } else { (back, front) };
    if rng.percent(10) { Constraint::RowEq(left, right) } else { Constraint::RowLe(left, right) }
}

fn flank(rng: &mut Dice, n_axes: usize) -> Vec<DimTerm> {
    let axis = |_| match rng.percent(85) {
        true => DimTerm::Var(rng.below(DIM_VARS)),
        false => DimTerm::Atom(Atom::new(SIZES[rng.below(SIZES.len())])),
    };
    (0..n_axes).map(axis).collect()
}
