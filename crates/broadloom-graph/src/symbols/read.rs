//! Named sizes as the program knows them so far.

use std::sync::Arc;

use broadloom_core::order::Dim;
use broadloom_core::{Closed, Form, Symbol};
use broadloom_diagnostics::{Code, Wording};

use crate::error::{Error, ErrorKind};
use crate::size::{SymbolicSize, range_text};
use crate::symbols::table::SymbolData;
use crate::{Graph, rust_code};

/// The number of a named size, if it has one: by what was said so far, or by the last closing.
pub(crate) fn symbol_number(graph: &Graph, at: usize) -> Option<u64> {
    let observed = graph.solver.observe_dim(graph.symbols[at].var).and_then(crate::shape::elements);
    observed.or_else(|| graph.settled.as_ref()?.numbers[at])
}

/// The range of a named size, as far as the program narrows it.
pub(crate) fn symbol_range(graph: &Graph, at: usize) -> (u64, Option<u64>) {
    match symbol_number(graph, at) {
        Some(number) => (number, Some(number)),
        None => graph.solver.symbol_bounds(Symbol(symbol_stands_for(graph, at) as u32)),
    }
}

/// The symbol that a named size is known by: another one, if it was found equal to another.
pub(crate) fn symbol_stands_for(graph: &Graph, at: usize) -> usize {
    graph.solver.symbol_of(graph.symbols[at].var).map_or(at, |symbol| symbol.0 as usize)
}

pub(crate) fn symbol_at(graph: &Graph, name: &str) -> Option<usize> {
    graph.symbols.find(name)
}

/// The names of symbols, by their numbers.
pub(crate) fn symbol_names(graph: &Graph) -> Arc<[Box<str>]> {
    graph.symbols.iter().map(|data| data.name.clone()).collect()
}

/// The entry of a symbol, by its number: the graph makes all symbols, in the same order.
pub(crate) fn symbol_data(graph: &Graph, symbol: Symbol) -> Option<&SymbolData> {
    graph.symbols.get(symbol.0 as usize)
}

/// An expression, as it is shown while the program is open.
pub(crate) fn expression_of(graph: &Graph, form: &Form) -> SymbolicSize {
    SymbolicSize::new(form, &graph.symbols, |symbol| graph.solver.symbol_bounds(symbol))
}

pub(crate) fn no_such_size(graph: &Graph, name: &str) -> Error {
    let error = Error::new(ErrorKind::Use, format!("there is no size called `{name}`"));
    let names: Vec<String> = graph.dims().map(|name| format!("`{name}`")).collect();
    if names.is_empty() {
        error.with_help(rust_code::help(Wording::new("sizes are declared with ").code(Code::Dim)))
    } else {
        error.with_help(format!("there is {}", names.join(", ")))
    }
}

/// The error for a size outside of its range.
pub fn out_of_range(name: &str, size: u64, range: (u64, Option<u64>)) -> Error {
    let message = format!("`{name}` cannot be {size}: its range is {}", range_text(range));
    Error::new(ErrorKind::Range, message).with_help("give it a size in its range, or declare a wider one")
}

/// Returns true if a size is in a range.
pub fn contains((lo, hi): (u64, Option<u64>), size: u64) -> bool {
    lo <= size && hi.is_none_or(|hi| size <= hi)
}

/// Maps each named size to its representative in a closed program.
pub(crate) fn same_sizes_in(closed: &Closed<'_>, sizes: &[SymbolData]) -> Vec<usize> {
    let symbol = |data: &SymbolData| match closed.dim(data.var) {
        Dim::Symbolic(symbolic) => closed.form(symbolic.form).as_symbol(),
        _ => None,
    };
    let known = sizes.iter().map(symbol).enumerate();
    known.map(|(at, symbol)| symbol.map_or(at, |symbol| symbol.0 as usize)).collect()
}

/// The numbers of named sizes that a closed program decides.
pub(crate) fn numbers_in(closed: &Closed<'_>, sizes: &[SymbolData]) -> Vec<Option<u64>> {
    sizes.iter().map(|data| crate::shape::elements(closed.dim(data.var))).collect()
}
