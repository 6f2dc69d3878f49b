//! Compares the standard library with the golden values of `broadloom`: results and gradients,
//! number by number. The values were computed with NumPy alone, from textbook definitions, or with PyTorch;
//! their README describes them.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod along;
mod functions;
mod golden;
mod in_rust;
mod layers;
mod torch;
mod training;
mod used_features;
