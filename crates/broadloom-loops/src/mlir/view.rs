//! The part of a tensor that a nest sees, and the index map from the nest's loops to it.
//!
//! An index map of `linalg` stays inside its tensor, and a loop that is an index by itself runs along the whole axis. So
//! windows that reach beyond the ends see a padded tensor, and loops along a part of an axis see a slice:
//!
//! ```text
//! x[o + k - 1]   of 8, o in 0..8, k in 0..3    tensor.pad %x low[1] high[1]       (o, k) -> (o + k)
//! x[a + 3]       of 5, a in 0..2               tensor.extract_slice %x[3] [2] [1] (a) -> (a)
//! ```

use broadloom_core::Size;

use super::body::{Loops, Symbol};
use super::function::Writer;
use super::types::tensor;
use crate::buffer::{Cell, Index, LoopSum, LoopVar};
use crate::{BufferId, Dtype};

/// One axis as a nest sees it.
#[derive(Clone, Debug)]
struct Axis {
    size: u64,
    /// The number of cells put before and after it.
    pad: (u64, u64),
    /// The part that is seen, if it is not the whole axis: its start and its size.
    slice: Option<(String, u64)>,
    /// The index into the part that is seen.
    at: LoopSum,
}

impl Axis {
    fn padded(&self) -> u64 {
        self.pad.0 + self.size + self.pad.1
    }

    fn seen(&self) -> u64 {
        self.slice.as_ref().map_or(self.padded(), |(_, size)| *size)
    }
}

/// The part of a tensor that a nest sees.
#[derive(Clone, Debug)]
pub(super) struct View {
    pub buffer: BufferId,
    dtype: Dtype,
    axes: Vec<Axis>,
}

impl View {
    /// The index of each axis of the part that is seen.
    pub fn map(&self) -> impl Iterator<Item = &LoopSum> {
        self.axes.iter().map(|axis| &axis.at)
    }

    /// The type of the part that is seen.
    pub fn seen(&self) -> String {
        tensor(&self.axes.iter().map(Axis::seen).collect::<Vec<u64>>(), self.dtype)
    }

    fn whole(&self) -> String {
        tensor(&self.axes.iter().map(|axis| axis.size).collect::<Vec<u64>>(), self.dtype)
    }

    fn padded(&self) -> String {
        tensor(&self.axes.iter().map(Axis::padded).collect::<Vec<u64>>(), self.dtype)
    }

    fn is_padded(&self) -> bool {
        self.axes.iter().any(|axis| axis.pad != (0, 0))
    }

    fn is_sliced(&self) -> bool {
        self.axes.iter().any(|axis| axis.slice.is_some())
    }

    /// Returns true if the loops reach beyond the ends.
    pub fn reaches_beyond(&self) -> bool {
        self.is_padded()
    }

    /// `[3, 0] [2, 4] [1, 1]`: the start of the part, its sizes, and steps of 1.
    fn part(&self) -> String {
        let start = |axis: &Axis| axis.slice.as_ref().map_or("0".to_string(), |(start, _)| start.clone());
        let list = |of: &dyn Fn(&Axis) -> String| self.axes.iter().map(of).collect::<Vec<_>>().join(", ");
        let (starts, sizes) = (list(&start), list(&|axis| axis.seen().to_string()));
        format!("[{starts}] [{sizes}] [{}]", list(&|_| "1".into()))
    }

    /// `[1, 0] [8, 3] [1, 1]`: the original tensor inside the padded one.
    fn inside(&self) -> String {
        let list = |of: &dyn Fn(&Axis) -> String| self.axes.iter().map(of).collect::<Vec<_>>().join(", ");
        let (starts, sizes) = (list(&|axis| axis.pad.0.to_string()), list(&|axis| axis.size.to_string()));
        format!("[{starts}] [{sizes}] [{}]", list(&|_| "1".into()))
    }
}

/// The distances by which an index reaches beyond the two ends of an axis.
pub(super) fn reach(at: &LoopSum, loops: &Loops, size: u64) -> (u64, u64) {
    let extent =
        |var: LoopVar| loops.iter().find(|(known, _)| *known == var).map_or(1, |(_, extent)| *extent);
    let range = at.range(|var| Some(extent(var).into()));
    let (least, greatest) = range.unwrap_or((at.offset, at.offset));
    // A negative distance becomes 0: the index stays inside that end.
    ((-least).get(), (greatest + 1 - size).get())
}

impl Writer<'_> {
    /// The view that the loops of a nest have of a cell. None if an index is looked up: no map can
    /// express that.
    pub fn view(&self, cell: &Cell, loops: &Loops) -> Option<View> {
        let buffer = self.program.buffer(cell.buffer);
        let mut axes = Vec::new();
        for (index, size) in cell.index.iter().zip(&buffer.shape()) {
            axes.push(match index {
                Index::At(at) => self.axis(at, loops, *size),
                Index::Symbol(symbol) => {
                    let start = match self.symbols.get(*symbol as usize)? {
                        Symbol::Known(value) => (*value as i64).to_string(),
                        Symbol::Argument(_, index) => index.clone()?,
                    };
                    Axis { size: *size, pad: (0, 0), slice: Some((start, 1)), at: LoopSum::fixed(0) }
                }
                Index::Value(_) => return None,
            });
        }
        Some(View { buffer: cell.buffer, dtype: buffer.dtype, axes })
    }

    fn axis(&self, at: &LoopSum, loops: &Loops, size: u64) -> Axis {
        let pad = reach(at, loops, size);
        let inner = LoopSum { offset: at.offset + pad.0, ..at.clone() };
        let along = match inner.terms[..] {
            [(Size::ONE, var)] => loops.iter().find(|(known, _)| *known == var).map(|(_, extent)| *extent),
            _ => None,
        };
        match along {
            Some(extent) if inner.offset != 0 || extent != pad.0 + size + pad.1 => {
                let slice = Some((inner.offset.to_string(), extent));
                Axis { size, pad, slice, at: LoopSum { offset: Size::ZERO, ..inner } }
            }
            _ => Axis { size, pad, slice: None, at: inner },
        }
    }

    /// The value that a nest sees, made from the value of the whole tensor.
    pub fn seen(&mut self, view: &View, whole: &str) -> Result<String, String> {
        let padded = self.padded(view, whole)?;
        Ok(self.sliced(view, &padded))
    }

    /// The value of the whole tensor after a nest has computed `made` from the part that it saw.
    pub fn put_back(&mut self, view: &View, whole: &str, made: &str) -> Result<String, String> {
        let name = self.program.buffer(view.buffer).name.clone();
        let mut value = made.to_string();
        if view.is_sliced() {
            let into = self.padded(view, whole)?;
            let (seen, part, of) = (view.seen(), view.part(), view.padded());
            value = self
                .define(&name, &format!("tensor.insert_slice {value} into {into}{part} : {seen} into {of}"));
        }
        if view.is_padded() {
            let (inside, from, to) = (view.inside(), view.padded(), view.whole());
            value = self.define(&name, &format!("tensor.extract_slice {value}{inside} : {from} to {to}"));
            // Cells written there cannot be relied on.
            self.margins[view.buffer.index()] = None;
        }
        Ok(value)
    }

    /// A tensor padded with the value of its margins, as far as a view reaches.
    fn padded(&mut self, view: &View, whole: &str) -> Result<String, String> {
        let pads: Vec<(u64, u64)> = view.axes.iter().map(|axis| axis.pad).collect();
        self.pad(view.buffer, whole, &pads)
    }

    /// A tensor padded with the value of its margins.
    pub fn pad(&mut self, id: BufferId, whole: &str, pads: &[(u64, u64)]) -> Result<String, String> {
        if pads.iter().all(|pad| *pad == (0, 0)) {
            return Ok(whole.to_string());
        }
        let buffer = self.program.buffer(id);
        let unknown = || format!("the margins of `{}` are read after they were written to", buffer.name);
        let fill = self.margins[id.index()].ok_or_else(unknown)?;
        let key = format!("{whole} {pads:?} {fill:?}");
        if let Some(known) = self.pads.get(&key) {
            return Ok(known.clone());
        }
        let list = |of: &dyn Fn(&(u64, u64)) -> u64| {
            pads.iter().map(|pad| of(pad).to_string()).collect::<Vec<_>>().join(", ")
        };
        let (low, high) = (list(&|pad| pad.0), list(&|pad| pad.1));
        let sizes: Vec<u64> =
            buffer.shape().iter().zip(pads).map(|(size, pad)| pad.0 + size + pad.1).collect();
        let (from, to) = (tensor(&buffer.shape(), buffer.dtype), tensor(&sizes, buffer.dtype));
        let (dtype, name) = (buffer.dtype, format!("{}_padded", buffer.name));
        let points: Vec<String> = (0..pads.len()).map(|axis| format!("%_{axis}: index")).collect();
        let value = self.constant(dtype, fill);
        let padded = self.names.fresh(&name);
        self.line(&format!("{padded} = tensor.pad {whole} low[{low}] high[{high}] {{"));
        self.line(&format!("^bb0({}):", points.join(", ")));
        self.line(&format!("  tensor.yield {value} : {}", super::types::element(dtype)));
        self.line(&format!("}} : {from} to {to}"));
        self.pads.insert(key, padded.clone());
        Ok(padded)
    }

    fn sliced(&mut self, view: &View, padded: &str) -> String {
        if !view.is_sliced() {
            return padded.to_string();
        }
        let name = format!("{}_part", self.program.buffer(view.buffer).name);
        let (part, from, to) = (view.part(), view.padded(), view.seen());
        self.define(&name, &format!("tensor.extract_slice {padded}{part} : {from} to {to}"))
    }
}
