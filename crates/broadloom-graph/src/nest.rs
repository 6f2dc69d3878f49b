//! Loop nests for people and for other programs: text and JSON. For MLIR, see `lower/mlir`.

pub(crate) mod size_names;

use std::fmt::Write;

use broadloom_core::Size;
use broadloom_core::projection::{Index, Phase};
use broadloom_spec::Kind;
use rustc_hash::FxHashSet;

use crate::logic::{contraction, sources};
use crate::project::Projected;
use crate::step::{Leaf, Op, Step, Tensor};
use crate::{Error, Graph};

impl Projected {
    /// How far reads of a tensor reach beyond the ends of each of its axes, in memory order: what its
    /// buffer needs as margins for this operation.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let (x, kernel) = (g.data("x", "8")?, g.data("kernel", "3")?);
    /// let y = g.einsum("o=+2*k; k => o", &[x, kernel])?;
    /// // A window of span 5 around each of 8 positions.
    /// assert_eq!(g.projection(y)?.margins(1), [(2, 2)]);
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn margins(&self, tensor: usize) -> Vec<(u64, u64)> {
        let extent = |index: u32| self.projection.loops.get(index as usize).map(|each| each.extent);
        let reach = |(index, size): (&Index, &Size)| match index {
            // What is negative, or not known to be a number, is no margin: code with addresses beyond it is refused.
            Index::Sum(sum) => {
                sum.range(extent).map_or((0, 0), |(low, high)| ((-low).get(), (high + 1 - *size).get()))
            }
            Index::Symbol(_) | Index::Concat(_) => (0, 0),
        };
        self.projection.maps[tensor].iter().zip(&self.sizes[tensor]).map(reach).collect()
    }

    /// The sizes of a tensor in memory order, as numbers.
    pub fn shape(&self, tensor: usize) -> Vec<u64> {
        self.sizes[tensor].iter().map(|size| size.get()).collect()
    }

    /// The same loops and maps with another tensor in the place of the result: how the gradient of an
    /// operand is accumulated. Nothing is inferred; the maps are addressed by slot.
    pub fn with_result(&self, tensor: usize) -> Projected {
        let mut view = self.clone();
        let order = std::iter::once(tensor).chain((0..self.tensors.len()).filter(|other| *other != tensor));
        for (to, from) in order.enumerate() {
            view.tensors[to] = self.tensors[from];
            view.sizes[to].clone_from(&self.sizes[from]);
            view.projection.maps[to].clone_from(&self.projection.maps[from]);
        }
        view.results = 1;
        view
    }
}

impl Graph {
    /// The loop nest of the operation that makes a tensor, as text: product space, index maps, loops.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let (a, b) = (g.data("a", "i=2, k=3")?, g.data("b", "k=3, j=4")?);
    /// let c = g.einsum("i k; k j => i j", &[a, b])?;
    /// g.name(c, "c");
    /// let text = g.show_nest(c)?;
    /// assert!(text.contains("for i in 0..2\n  for j in 0..4\n    for k in 0..3"));
    /// assert!(text.contains("c[i, j] += a[i, k] * b[k, j]"));
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn show_nest(&mut self, result: Tensor) -> Result<String, Error> {
        let nest = self.projection(result)?;
        let step = self.tensors[result.index()].step;
        let mut text = format!("{}\n", self.subject(step).replace('`', ""));
        for rule in self.rules_text(step) {
            let _ = writeln!(text, "rule {rule}");
        }
        let names = self.loop_names(&nest);
        for (name, driven) in names.iter().zip(self.class_texts(&nest)) {
            let _ = writeln!(text, "class {name}: {driven}");
        }
        let sizes = self.shown_size_names(&nest)?;
        let _ = writeln!(text, "product space: {}", self.space_text(&nest, &sizes));
        for (at, tensor) in nest.tensors.iter().enumerate() {
            if self.number_of(*tensor).is_some() {
                continue;
            }
            let role = if at < nest.results { "writes" } else { "reads" };
            let _ = write!(text, "{role} {}", self.cell_text(&nest, &names, at));
            let sizes: Vec<String> = nest.sizes[at].iter().map(Size::to_string).collect();
            let _ = write!(text, " of {} ({})", self.label_of(*tensor), sizes.join(" × "));
            let margins = nest.margins(at);
            if margins.iter().any(|margin| *margin != (0, 0)) {
                let shown: Vec<String> =
                    margins.iter().map(|(left, right)| format!("{left}+{right}")).collect();
                let _ = write!(text, ", margins {}", shown.join(", "));
            }
            text.push('\n');
        }
        self.write_loops(&nest, &sizes, &mut text);
        Ok(text)
    }

    /// The names of a nest's loops: the labels of the spec they drive, and letters where there are none.
    pub fn loop_names(&self, nest: &Projected) -> Vec<String> {
        let spec = match self.steps.get(nest.step as usize) {
            Some(Step::Op { op: Op::Einsum { spec, .. }, .. }) => Some(self.spec(*spec)),
            _ => None,
        };
        let mut names: Vec<String> = Vec::new();
        // Letters are taken in their order, unless a label before has the name.
        let (mut taken, mut letters) = (FxHashSet::default(), letters());
        for label in &nest.labels {
            let axes = spec.as_ref().map(|spec| &spec.spec.names.axes);
            let named = label.zip(axes).and_then(|(label, axes)| axes.iter().nth(label as usize));
            let name = named.map(|(_, name)| name.text.to_string());
            let name = name.or_else(|| letters.find(|letter| !taken.contains(letter))).unwrap_or_default();
            taken.insert(name.clone());
            names.push(name);
        }
        names
    }

    /// The names of sizes that can be shown: a name that is also a loop's would be read as that loop.
    fn shown_size_names(&mut self, nest: &Projected) -> Result<Vec<Option<String>>, Error> {
        let loops: FxHashSet<String> = self.loop_names(nest).into_iter().collect();
        let sizes = self.size_names(nest)?;
        Ok(sizes.into_iter().map(|name| name.filter(|name| !loops.contains(name))).collect())
    }

    /// What the operation relates, as its shape logic says: the one list that sizes and loops are read from.
    fn rules_text(&self, step: u32) -> Vec<String> {
        let Some(Step::Op { op, .. }) = self.steps.get(step as usize) else { return Vec::new() };
        let operands = self.step_operands(step);
        if let Op::Einsum { spec, .. } = op {
            let spec = self.spec(*spec);
            let rows = spec
                .spec
                .shapes()
                .enumerate()
                .flat_map(|(slot, shape)| shape.rows().map(move |(kind, row)| (slot, kind, row)));
            let said = rows.map(|(slot, kind, row)| (slot, kind, spec.written(row, row.span)));
            let of =
                |slot: usize| operands.get(slot).map_or("the result".into(), |tensor| self.label_of(*tensor));
            let written = said.filter(|(_, _, text)| !text.is_empty());
            return written
                .map(|(slot, kind, text)| format!("{} of {} ≈ {text}", kind.name(), of(slot)))
                .collect();
        }
        if let (Op::Convert { .. }, [from]) = (op, operands) {
            return vec![format!(
                "elements of the result = elements of {}, in memory order",
                self.label_of(*from)
            )];
        }
        let row = |slot: usize, kind: Kind| {
            let tensor = operands.get(slot).map_or("?".into(), |tensor| self.label_of(*tensor));
            format!("{} of {tensor}", kind.name())
        };
        let contracted = contraction(*op)
            .map(|[(a, input), (b, output)]| format!("{} ⊑ {}", row(a, input), row(b, output)));
        let broadcast = Kind::ALL
            .into_iter()
            .flat_map(|kind| sources(*op, operands.len(), kind).map(move |(slot, from)| (kind, slot, from)));
        // Rows without axes relate nothing.
        let empty = |slot: usize, kind: Kind| self.rows(operands[slot])[kind as usize].is_empty();
        let broadcast = broadcast.filter(|(_, slot, from)| !empty(*slot, *from));
        let broadcast = broadcast
            .map(|(kind, slot, from)| format!("{} of the result ⊑ {}", kind.name(), row(slot, from)));
        contracted.into_iter().chain(broadcast).collect()
    }

    /// The axes that each loop drives.
    fn class_texts(&self, nest: &Projected) -> Vec<String> {
        let mut driven: Vec<Vec<String>> = vec![Vec::new(); nest.projection.loops.len()];
        for (at, map) in nest.projection.maps.iter().enumerate() {
            let name = if at < nest.results && self.name_of(nest.tensors[at]).is_none() {
                "the result".into()
            } else {
                self.label_of(nest.tensors[at])
            };
            for (axis, index) in map.iter().enumerate() {
                let mut drives = |index: u32| {
                    driven[index as usize].push(format!("axis {} of {name}", axis + 1));
                };
                match index {
                    Index::Sum(sum) => sum.terms.iter().for_each(|(_, index)| drives(*index)),
                    Index::Symbol(_) => {}
                    Index::Concat(segments) => segments.iter().for_each(|segment| drives(segment.index)),
                }
            }
        }
        driven.into_iter().map(|axes| axes.join(", ")).collect()
    }

    fn space_text(&self, nest: &Projected, sizes: &[Option<String>]) -> String {
        let (reductions, names) = (nest.reductions(), self.loop_names(nest));
        let factor = |loops: &Vec<u32>| {
            let each = |index: &u32| {
                let (at, extent) = (*index as usize, nest.projection.loops[*index as usize].extent);
                let value = sizes[at].as_ref().map(|size| format!("{size} = {extent}"));
                let reduction = reductions.binary_search(index).is_ok().then(|| "reduction".to_string());
                let notes: Vec<String> = value.into_iter().chain(reduction).collect();
                let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(", ")) };
                format!("{} in 0..{}{notes}", names[at], extent_text(nest, sizes, *index))
            };
            loops.iter().map(each).collect::<Vec<_>>().join(", then ")
        };
        let factors: Vec<String> = nest.projection.factors().iter().map(factor).collect();
        if factors.is_empty() { "one point".into() } else { factors.join("; ") }
    }

    /// The loops, one nest for each phase in which something is written.
    fn write_loops(&self, nest: &Projected, sizes: &[Option<String>], text: &mut String) {
        let names = self.loop_names(nest);
        let mut word = "";
        let assign = |at| if nest.is_injective(at).holds() { "=" } else { nest.accumulate.sign() };
        let signs: Vec<&str> = (0..nest.results).map(assign).collect();
        for phase in nest.projection.phases_with_maps() {
            if phase.maps.first().is_none_or(|first| *first >= nest.results) {
                continue;
            }
            for (depth, index) in phase.loops.iter().enumerate() {
                let (name, extent) = (&names[*index as usize], extent_text(nest, sizes, *index));
                let start = if depth == 0 { word } else { "" };
                let _ = writeln!(text, "{}{start}for {name} in 0..{extent}", "  ".repeat(depth));
            }
            self.write_body(nest, &phase, (&names, &signs), text);
            word = "then ";
        }
    }

    fn write_body(&self, nest: &Projected, phase: &Phase, words: (&[String], &[&str]), text: &mut String) {
        let (names, signs) = words;
        let (results, reads) = phase.maps.split_at(phase.maps.partition_point(|at| *at < nest.results));
        let cell = |at: &usize| self.cell_in_phase(nest, names, *at, &phase.loops);
        let read: Vec<String> = reads.iter().map(cell).collect();
        let combined = match self.steps.get(self.tensors[nest.tensors[0].index()].step as usize) {
            _ if read.is_empty() => "0".into(),
            Some(Step::Op { op: Op::Pointwise(name), .. }) if name.starts_with(char::is_alphabetic) => {
                format!("{name}({})", read.join(", "))
            }
            Some(Step::Op { op: Op::Pointwise(name), .. }) => read.join(&format!(" {name} ")),
            Some(Step::Op { op: Op::Einsum { combine: crate::Combine::Sum, .. }, .. }) => read.join(" + "),
            _ => read.join(" * "),
        };
        for at in results {
            let (write, assign) = (cell(at), signs[*at]);
            let _ = writeln!(text, "{}{write} {assign} {combined}", "  ".repeat(phase.loops.len()));
        }
    }

    /// A tensor with its index while some loops run.
    fn cell_in_phase(&self, nest: &Projected, names: &[String], at: usize, phase: &[u32]) -> String {
        match nest.projection.in_phase(at, phase) {
            Some(map) => {
                let name = |index: u32| names[index as usize].clone();
                self.cell_with(nest, at, map.iter().map(|sum| sum.text(&name)).collect())
            }
            None => self.cell_text(nest, names, at),
        }
    }

    /// A tensor with its index: `a[i, k]`, or its value if it is a number.
    fn cell_text(&self, nest: &Projected, names: &[String], at: usize) -> String {
        let indices = nest.projection.maps[at].iter().map(|index| index_text(names, index));
        self.cell_with(nest, at, indices.collect())
    }

    fn cell_with(&self, nest: &Projected, at: usize, indices: Vec<String>) -> String {
        let tensor = nest.tensors[at];
        if let Some(value) = self.number_of(tensor) {
            return value.to_string();
        }
        let name = match self.name_of(tensor) {
            Some(name) => name.to_string(),
            None if at < nest.results => "result".into(),
            None => format!("({})", self.label_of(tensor)),
        };
        if indices.is_empty() { name } else { format!("{name}[{}]", indices.join(", ")) }
    }

    fn number_of(&self, tensor: Tensor) -> Option<f64> {
        match self.steps.get(self.tensors[tensor.index()].step as usize) {
            Some(Step::Leaf { leaf: Leaf::Number(value), .. }) => Some(*value),
            _ => None,
        }
    }

    /// The loop nest of the operation that makes a tensor, as one JSON object.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let (x, y) = (g.data("x", "n=8")?, g.data("y", "8")?);
    /// let sum = g.add(y, x)?;
    /// let json = g.nest_json(sum)?;
    /// assert!(json.contains(r#"{"name": "i", "extent": 8, "size_name": "n", "factor": 0"#));
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn nest_json(&mut self, result: Tensor) -> Result<String, Error> {
        let nest = self.projection(result)?;
        let sizes = self.size_names(&nest)?;
        let (reductions, names) = (nest.reductions(), self.loop_names(&nest));
        let driven = self.class_texts(&nest);
        let each = |(at, each): (usize, &broadloom_core::projection::Loop)| {
            format!(
                r#"{{"name": {}, "extent": {}, "size_name": {}, "factor": {}, "reduction": {}, "drives": {}}}"#,
                quoted(&names[at]),
                each.extent,
                sizes[at].as_ref().map_or("null".into(), |name| quoted(name)),
                each.factor,
                reductions.binary_search(&(at as u32)).is_ok(),
                quoted(&driven[at]),
            )
        };
        let loops: Vec<String> = nest.projection.loops.iter().enumerate().map(each).collect();
        let tensor = |at: usize| {
            let indices: Vec<String> =
                nest.projection.maps[at].iter().map(|index| quoted(&index_text(&names, index))).collect();
            let name = quoted(&self.label_of(nest.tensors[at]));
            format!(
                r#"{{"tensor": {name}, "sizes": {:?}, "index": [{}]}}"#,
                nest.sizes[at],
                indices.join(", ")
            )
        };
        let list = |range: std::ops::Range<usize>| range.map(tensor).collect::<Vec<_>>().join(", ");
        let verdict = |verdict| format!("{verdict:?}").to_lowercase();
        let step = self.tensors[result.index()].step;
        let rules: Vec<String> = self.rules_text(step).iter().map(|rule| quoted(rule)).collect();
        Ok(format!(
            r#"{{"rules": [{}], "loops": [{}], "writes": [{}], "reads": [{}], "injective": "{}", "surjective": "{}", "needs_initialisation": {}}}"#,
            rules.join(", "),
            loops.join(", "),
            list(0..nest.results),
            list(nest.results..nest.tensors.len()),
            verdict(nest.is_injective(0)),
            verdict(nest.is_surjective(0)),
            nest.needs_initialisation(0),
        ))
    }
}

/// How often a loop runs: the name of the size, or the number.
fn extent_text(nest: &Projected, sizes: &[Option<String>], index: u32) -> String {
    let extent = nest.projection.loops[index as usize].extent;
    sizes[index as usize].clone().unwrap_or_else(|| extent.to_string())
}

/// An index in words: `2*o + k - 1`.
fn index_text(names: &[String], index: &Index) -> String {
    match index {
        Index::Sum(sum) => sum.text(&|index| names[index as usize].clone()),
        Index::Symbol(symbol) => format!("${symbol}"),
        Index::Concat(segments) => {
            let part = |segment: &broadloom_core::projection::Segment| {
                let name = &names[segment.index as usize];
                if segment.offset == 0 { name.clone() } else { format!("{name} + {}", segment.offset) }
            };
            segments.iter().map(part).collect::<Vec<_>>().join(" ^ ")
        }
    }
}

/// `i`, `j`, `k`, …, then `i1`, `j1`, ….
fn letters() -> impl Iterator<Item = String> {
    (0u32..).flat_map(|round| {
        ('i'..='z')
            .map(move |letter| if round == 0 { letter.to_string() } else { format!("{letter}{round}") })
    })
}

/// A JSON string.
fn quoted(text: &str) -> String {
    let escape = |letter: char| match letter {
        '"' => "\\\"".to_string(),
        '\\' => "\\\\".to_string(),
        '\n' => "\\n".to_string(),
        letter if u32::from(letter) < 0x20 => format!("\\u{:04x}", u32::from(letter)),
        letter => letter.to_string(),
    };
    format!("\"{}\"", text.chars().map(escape).collect::<String>())
}
