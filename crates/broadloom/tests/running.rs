//! Programs that are run give the right numbers: values, types, what lasts from run to run, and routines.

mod lasting;
mod pointwise;
mod precision;
mod reductions;
mod routines;
mod special;
mod values;
