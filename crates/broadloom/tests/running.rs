//! Programs that are run give the right numbers: values, types, what lasts from run to run, and routines.

mod numbers;

#[path = "laws/dice.rs"]
mod dice;

#[path = "running/lasting.rs"]
mod lasting;
#[path = "running/pointwise.rs"]
mod pointwise;
#[path = "running/precision.rs"]
mod precision;
#[path = "running/reductions.rs"]
mod reductions;
#[path = "running/routines.rs"]
mod routines;
#[path = "running/special.rs"]
mod special;
#[path = "running/values.rs"]
mod values;
