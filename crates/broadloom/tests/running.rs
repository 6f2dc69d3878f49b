//! Programs give the right numbers: values, types, lasting tensors, and routines.

mod functions;
mod gamma;
mod lasting;
mod pointwise;
mod precision;
mod reductions;
mod routines;
mod special;
mod values;
