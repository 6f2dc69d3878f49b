//! Why a run does not begin, or stops: in the names of the program.

use broadloom_core::Symbol;
use broadloom_graph::lowering::{Face, Leaf, SymbolData, list};
use broadloom_graph::{Error, ErrorKind, Fact, Help, Remedy, Tensor};
use broadloom_loops::Size;
use broadloom_loops::reference::Stop;

use super::Session;
use crate::lower::Content;
use crate::routine::Routine;

impl Session {
    /// A named size without a number.
    pub(super) fn no_number(&self, name: &str) -> Error {
        let message = format!("`{name}` needs a value before the program can run");
        let help = "set data that has this size, say it with `set_sizes`, or declare it with a sample";
        let error = Error::new(ErrorKind::Range, message).with_remedy(Remedy::Size, help);
        // Data that has this size would decide it.
        let has_it = |tensor: &Tensor| {
            let named = |symbol: &Symbol| *self.graph.symbols()[symbol.0 as usize].name == *name;
            self.graph.leaf(*tensor) == Some(Leaf::Data)
                && self.inferred.shapes.symbols_of(*tensor).iter().any(named)
        };
        let error = match self.graph.tensors().find(has_it) {
            Some(data) => error.with_end(self.graph.declared_end(data)),
            None => error,
        };
        let sample = |data: &SymbolData| data.sample.filter(|_| *data.name == *name);
        let samples = self.graph.symbols().iter().zip(&self.sizes.now);
        let samples: Vec<u64> = samples.map(|(data, now)| data.sample.unwrap_or(*now)).collect();
        match (self.graph.symbols().iter().find_map(sample), self.sizes.broken_at(&samples)) {
            (Some(sample), Some(check)) => {
                error.with_end(format!("its sample is {sample}, but the program relies on this: {check}"))
            }
            _ => error,
        }
    }

    /// Something is read that is not there.
    pub(super) fn no_values(&self, node: Content, routine: &Routine) -> Error {
        let (Content::Value(tensor) | Content::Gradient(tensor)) = node else {
            return Error::run("an operation reads a tensor of its own before it is assigned".into());
        };
        let (name, routine) = (self.graph.label_of(tensor), routine.name());
        match node {
            Content::Gradient(_) => {
                let message = format!("`{routine}` reads the gradient of `{name}`, which is not there");
                Error::new(ErrorKind::NoGradient, message).about_values_of(tensor, &name).with_remedy(
                    Remedy::Backward,
                    "call `backward` in the same routine, or `keep` the gradient in the routine that computes it",
                )
            }
            _ => match self.store.gone(node) {
                Some(sizes) => self.gone(tensor, sizes, routine),
                None => Error::new(
                    ErrorKind::NoValues,
                    format!("`{routine}` reads `{name}`, which has no values yet"),
                )
                .about_values_of(tensor, &name)
                .with_end(self.graph.declared_end(tensor))
                .with_remedy(Remedy::Values, "set them with `Session::set`"),
            },
        }
    }

    /// Values that went because a size has changed.
    pub(super) fn gone(&self, tensor: Tensor, sizes: &[u64], routine: &str) -> Error {
        let (name, shape) = (self.graph.label_of(tensor), self.inferred.shapes.get(tensor));
        let message = format!(
            "`{routine}` reads `{name}`, whose values have sizes {}: its shape is `{shape}`",
            list(sizes)
        );
        let now = list(&self.layout.sizes_of(tensor));
        let help = format!("set `{name}` again, with sizes {now}");
        let error = Error::new(ErrorKind::Value, message).with_help(help);
        match self.sizes.decided_by(&self.inferred.shapes.symbols_of(tensor)) {
            Some((by, size, number)) => {
                error.with_end(format!("`{size}` is {number} since `{}` was set", self.graph.label_of(by)))
            }
            None => error,
        }
    }

    /// Why a run stopped, in the names of the program.
    pub(super) fn stopped(&self, at: usize, stop: &Stop) -> Error {
        let program = &self.prepared[at].lowered.program;
        match *stop {
            Stop::Index { buffer, cell, value, below, of } => {
                let (ids, table) = (program.buffer(buffer), program.buffer(of));
                let mut rest = cell;
                let index = |(axis, stride): (usize, &Size)| {
                    let stride = stride.get().max(1);
                    let at = rest / stride;
                    rest %= stride;
                    at.saturating_sub(ids.margin(axis).0).to_string()
                };
                let place: Vec<String> = ids.strides().iter().enumerate().map(index).collect();
                let nodes = &self.prepared[at].lowered.nodes;
                // What has no name is called as it is written.
                let [by, whole] =
                    [(buffer, ids), (of, table)].map(|(id, buffer)| match nodes.get(id.index()) {
                        Some(Content::Value(tensor)) => self.graph.message_name(*tensor),
                        _ => buffer.name.to_string(),
                    });
                let message = format!(
                    "index {value} at [{}] of `{by}` is outside `{whole}`, which has {below} rows",
                    place.join(", "),
                );
                let help = Help::rule(format!("indices are 0 to {}", below - 1));
                let ends = [buffer, of].into_iter().filter_map(|id| match nodes.get(id.index()) {
                    Some(Content::Value(tensor)) => Some(self.graph.declared_end(*tensor)),
                    _ => None,
                });
                let error = Error::new(ErrorKind::Value, message);
                let error = match u64::try_from(value) {
                    Ok(index) => error.with_fact(Fact::Index { index, rows: below }),
                    Err(_) => error,
                };
                ends.fold(error, Error::with_end).with_help(help)
            }
            Stop::Memory { buffer } => {
                let buffer = program.buffer(buffer);
                let sizes: Vec<String> = buffer.sizes.iter().map(Size::to_string).collect();
                let message =
                    format!("there is no room for `{}`, {} numbers", buffer.name, sizes.join(" × "));
                Error::run(message)
                    .with_help("the reference evaluator keeps every tensor; machine code does not")
            }
            Stop::Address { buffer } => {
                let name = &program.buffer(buffer).name;
                Error::run(format!("a cell outside `{name}` was addressed; this is a defect of the library"))
            }
        }
    }
}
