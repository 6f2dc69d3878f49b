//! An axis of a tensor by its place: the first or the last one of a kind, among axes without names.

use broadloom_spec::{Axis, Builder, Kind, Row, Shape, Spec};

/// The first or the last axis of a kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Along {
    /// The kind.
    pub kind: Kind,
    /// True for the first axis, false for the last.
    pub leads: bool,
    /// The kinds that may have axes besides it.
    pub open: [bool; 3],
}

/// The names of the other axes in specs, by kind.
const ROWS: [&str; 3] = ["b", "i", "o"];

impl Along {
    /// The first axis of a kind, of any tensor.
    pub fn first(kind: Kind) -> Along {
        Along { kind, leads: true, open: [true; 3] }
    }

    /// The last axis of a kind, of any tensor.
    pub fn last(kind: Kind) -> Along {
        Along { kind, leads: false, open: [true; 3] }
    }

    /// A shape with some axes in its place.
    pub fn shape(&self, build: &mut Builder, axes: &[Axis]) -> Shape<Axis> {
        let [batch, input, output] = Kind::ALL.map(|kind| {
            let axes = if kind == self.kind { axes } else { &[] }.iter().cloned();
            let row = build.row(ROWS[kind as usize]);
            match (self.open[kind as usize], self.leads) {
                (false, _) => Row::closed(axes),
                (true, true) => Row::open(axes, row, []),
                (true, false) => Row::open([], row, axes),
            }
        });
        Shape::new(Some(batch), Some(input), output)
    }

    /// The spec that makes the axis, called `t`, the first batch axis.
    pub fn to_front(&self) -> Option<Spec> {
        let mut build = Builder::new();
        let axis = [build.label("t")];
        let own = self.shape(&mut build, &axis);
        let front = Along { kind: Kind::Batch, leads: true, open: self.open }.shape(&mut build, &axis);
        build.finish(vec![own], vec![front])
    }

    /// The spec that puts the first batch axis, called `t`, into its place.
    pub fn back(&self) -> Option<Spec> {
        let mut build = Builder::new();
        let axis = [build.label("t")];
        let front = Along::first(Kind::Batch).shape(&mut build, &axis);
        let own = Along { open: [true; 3], ..*self }.shape(&mut build, &axis);
        build.finish(vec![front], vec![own])
    }

    /// The shape of a tensor that has the axis, with a name for it.
    pub fn declared(&self, name: &str) -> String {
        let row = |kind: Kind| match (kind == self.kind, self.open[kind as usize], self.leads) {
            (true, true, true) => format!("{name}, ..."),
            (true, true, false) => format!("..., {name}"),
            (true, false, _) => name.to_string(),
            (false, true, _) => "...".to_string(),
            (false, false, _) => String::new(),
        };
        format!("{} | {} -> {}", row(Kind::Batch), row(Kind::Input), row(Kind::Output))
    }

    /// The place of the axis in memory, where a tensor has so many axes of each kind.
    pub fn in_memory(&self, ranks: [usize; 3]) -> Option<usize> {
        let [batch, input, output] = ranks;
        // Memory has the batch axes first, then outputs, then inputs.
        let (start, rank) = match self.kind {
            Kind::Batch => (0, batch),
            Kind::Output => (batch, output),
            Kind::Input => (batch + output, input),
        };
        Some(if self.leads { start } else { start + rank.checked_sub(1)? })
    }
}
