//! The parts of a graph that can be read while its solver is closed.

use broadloom_core::DimTerm;

use crate::notation::Specs;
use crate::step::{Step, Tensor, TensorData};
use crate::symbols::table::SymbolData;

/// The parts of a graph that can be read while its solver is closed.
pub(crate) struct View<'a> {
    pub axes: &'a [DimTerm],
    pub tensors: &'a [TensorData],
    pub labels: &'a [DimTerm],
    pub bases: &'a [Box<str>],
    pub symbols: &'a [SymbolData],
    pub steps: &'a [Step],
    pub operands: &'a [Tensor],
    pub specs: &'a Specs,
}
