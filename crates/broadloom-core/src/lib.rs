//! The inference engine of Broadloom.
pub mod order;
