//! The steps of a plan: what NumPy, PyTorch and JAX all have under some name, with all numbers filled in.
//!
//! Python gets them as tuples: the name of the step, then its numbers.

use super::symbols::Symbols;
use broadloom_core::Size;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

/// One operation on one array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArrayStep {
    /// Another shape, with the elements in the same order.
    Reshape(Vec<Size>),
    /// Other places for the axes.
    Permute(Vec<usize>),
    /// A part of every axis.
    Index(Vec<Pick>),
    /// Elements before and behind those of each axis: the neutral element of the reduction, or zeros.
    Pad { margins: Vec<(Size, Size)>, fill: &'static str },
    /// Windows of an axis: two axes, the positions and the places in the window, in the place of one.
    Window { axis: usize, start: u64, over: Size, kernel: Size, stride: u64, dilation: u64 },
    /// Windows put back: one axis in the place of two, and the sum where they overlap.
    Fold { axis: usize, stride: u64, dilation: u64 },
    /// The diagonal of two axes, as the last axis.
    Diagonal(usize, usize),
    /// An axis written to the diagonal of itself and a new last axis.
    Embed(usize),
    /// A reduction over axes.
    Reduce(&'static str, Vec<usize>),
    /// Axes of one element repeated.
    Broadcast(Vec<Size>),
}

/// The part of an axis that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// All of it.
    All,
    /// One element; the axis is gone.
    At(u64),
    /// From a start up to an end in steps.
    Range(Size, Size, u64),
}

/// The recipe for one result.
#[derive(Clone, Debug)]
pub enum Recipe {
    /// Zeros.
    Zeros(Vec<Size>),
    /// Pieces one after another along an axis.
    Concat(usize, Vec<Recipe>),
    /// Pieces that are accumulated.
    Accumulate(Vec<Recipe>),
    /// Operands that are read, combined and written.
    Compute {
        /// The operand, its steps, and the labels of its axes afterwards.
        reads: Vec<(usize, Vec<ArrayStep>, Vec<usize>)>,
        /// The labels that remain, in order, if operands are combined.
        kept: Option<Vec<usize>>,
        /// The steps afterwards.
        write: Vec<ArrayStep>,
    },
}

impl ArrayStep {
    /// The tuple for Python.
    pub fn to_python<'py>(&self, symbols: Symbols<'_, 'py>) -> PyResult<Bound<'py, PyTuple>> {
        let py = symbols.python();
        let tuple = |items: &[Size]| shape(items, symbols)?.into_bound_py_any(py);
        let axes = |items: &[usize]| PyTuple::new(py, items)?.into_bound_py_any(py);
        let items = match self {
            ArrayStep::Reshape(shape) => vec!["reshape".into_bound_py_any(py)?, tuple(shape)?],
            ArrayStep::Permute(order) => vec!["permute".into_bound_py_any(py)?, axes(order)?],
            ArrayStep::Index(picks) => {
                let picks: PyResult<Vec<_>> = picks.iter().map(|pick| pick.to_python(symbols)).collect();
                vec!["index".into_bound_py_any(py)?, PyTuple::new(py, picks?)?.into_bound_py_any(py)?]
            }
            ArrayStep::Pad { margins, fill } => {
                let both =
                    |(before, after): &(Size, Size)| Ok((symbols.size(*before)?, symbols.size(*after)?));
                let margins: Vec<_> = margins.iter().map(both).collect::<PyResult<_>>()?;
                let margins = PyTuple::new(py, margins)?.into_bound_py_any(py)?;
                vec!["pad".into_bound_py_any(py)?, margins, fill.into_bound_py_any(py)?]
            }
            ArrayStep::Window { axis, start, over, kernel, stride, dilation } => {
                let numbers = [
                    (*axis as u64).into(),
                    (*start).into(),
                    *over,
                    *kernel,
                    (*stride).into(),
                    (*dilation).into(),
                ];
                named(symbols, "window", &numbers)?
            }
            ArrayStep::Fold { axis, stride, dilation } => {
                named(symbols, "fold", &[*axis as u64, *stride, *dilation].map(Size::from))?
            }
            ArrayStep::Diagonal(first, second) => {
                named(symbols, "diagonal", &[*first as u64, *second as u64].map(Size::from))?
            }
            ArrayStep::Embed(axis) => named(symbols, "embed", &[Size::from(*axis as u64)])?,
            ArrayStep::Reduce(name, over) => {
                vec!["reduce".into_bound_py_any(py)?, name.into_bound_py_any(py)?, axes(over)?]
            }
            ArrayStep::Broadcast(shape) => vec!["broadcast".into_bound_py_any(py)?, tuple(shape)?],
        };
        PyTuple::new(py, items)
    }
}

impl Pick {
    fn to_python<'py>(self, symbols: Symbols<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        let py = symbols.python();
        let slice = py.import("builtins")?.getattr("slice")?;
        match self {
            Pick::All => slice.call1((py.None(), py.None(), py.None())),
            Pick::At(index) => index.into_bound_py_any(py),
            Pick::Range(start, stop, step) => slice.call1((symbols.size(start)?, symbols.size(stop)?, step)),
        }
    }
}

fn named<'py>(symbols: Symbols<'_, 'py>, name: &str, sizes: &[Size]) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let mut items = vec![name.into_bound_py_any(symbols.python())?];
    for size in sizes {
        items.push(symbols.size(*size)?);
    }
    Ok(items)
}

fn shape<'py>(sizes: &[Size], symbols: Symbols<'_, 'py>) -> PyResult<Bound<'py, PyTuple>> {
    let sizes: Vec<_> = sizes.iter().map(|size| symbols.size(*size)).collect::<PyResult<_>>()?;
    PyTuple::new(symbols.python(), sizes)
}

impl Recipe {
    /// Nested tuples for Python, the name of the node first.
    pub fn to_python<'py>(&self, symbols: Symbols<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        let py = symbols.python();
        let nodes = |nodes: &[Recipe]| -> PyResult<Bound<'py, PyList>> {
            let nodes: PyResult<Vec<_>> = nodes.iter().map(|node| node.to_python(symbols)).collect();
            PyList::new(py, nodes?)
        };
        let steps = |steps: &[ArrayStep]| -> PyResult<Bound<'py, PyList>> {
            let steps: PyResult<Vec<_>> = steps.iter().map(|step| step.to_python(symbols)).collect();
            PyList::new(py, steps?)
        };
        match self {
            Recipe::Zeros(sizes) => ("zeros", shape(sizes, symbols)?).into_bound_py_any(py),
            Recipe::Concat(axis, pieces) => ("concat", *axis, nodes(pieces)?).into_bound_py_any(py),
            Recipe::Accumulate(pieces) => ("accumulate", nodes(pieces)?).into_bound_py_any(py),
            Recipe::Compute { reads, kept, write } => {
                let mut entries = Vec::new();
                for (operand, read, labels) in reads {
                    entries.push((*operand, steps(read)?, PyTuple::new(py, labels)?).into_bound_py_any(py)?);
                }
                let kept = kept.as_ref().map(|kept| PyTuple::new(py, kept)).transpose()?;
                ("compute", PyList::new(py, entries)?, kept, steps(write)?).into_bound_py_any(py)
            }
        }
    }
}
