//! The text of a function: one method for each operation of StableHLO that is used.
//!
//! Every operation is pure, so equal ones are written once. Operations that would change nothing are left out.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use broadloom_loops::mlir::{MlirNames, number};
use rustc_hash::FxHashMap;

use crate::precision::Precision;
use crate::tensor::{Element, Tensor, tensor_text};

/// Functions that put any number of values together, in any order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Monoid {
    Add,
    Mul,
    Max,
    Min,
    And,
    Or,
}

impl Monoid {
    /// Its operation.
    pub fn op(self) -> &'static str {
        match self {
            Monoid::Add => "stablehlo.add",
            Monoid::Mul => "stablehlo.multiply",
            Monoid::Max => "stablehlo.maximum",
            Monoid::Min => "stablehlo.minimum",
            Monoid::And => "stablehlo.and",
            Monoid::Or => "stablehlo.or",
        }
    }

    /// The number that changes nothing.
    pub fn neutral(self) -> f64 {
        match self {
            Monoid::Add | Monoid::Or => 0.0,
            Monoid::Mul | Monoid::And => 1.0,
            Monoid::Max => f64::NEG_INFINITY,
            Monoid::Min => f64::INFINITY,
        }
    }
}

/// The part of an axis that a slice takes: its first position, the end of its positions, and the step between them.
pub(crate) type Span = (u64, u64, u64);

/// The text of a function.
#[derive(Default)]
pub(crate) struct Text {
    lines: String,
    known: FxHashMap<String, String>,
    pub names: MlirNames,
    /// The precision of products.
    precision: Precision,
    count: usize,
    /// The results of the loops that are open, and what was known before each.
    open: Vec<(String, FxHashMap<String, String>)>,
    /// Functions that are called, by their names.
    pub helpers: BTreeMap<String, String>,
}

fn list<T: std::fmt::Display>(items: impl IntoIterator<Item = T>) -> String {
    let mut text = String::new();
    for item in items {
        let _ = write!(text, "{}{item}", if text.is_empty() { "" } else { ", " });
    }
    text
}

fn array<T: std::fmt::Display>(items: impl IntoIterator<Item = T>) -> String {
    let items = list(items);
    if items.is_empty() { "array<i64>".into() } else { format!("array<i64: {items}>") }
}

/// A region that puts two values together, for operations that have one.
fn region(body: &str, of: Element) -> String {
    let t = tensor_text(&[], of);
    match body.is_empty() {
        true => format!("({{ ^bb0(%$a: {t}, %$b: {t}): stablehlo.return %$b : {t} }})"),
        false => {
            format!(
                "({{ ^bb0(%$a: {t}, %$b: {t}): %$c = {body} %$a, %$b : {t} stablehlo.return %$c : {t} }})"
            )
        }
    }
}

impl Text {
    /// An empty text, with products of some precision.
    pub fn new(precision: Precision) -> Text {
        Text { precision, ..Text::default() }
    }

    /// The lines that have been written.
    pub fn finish(self) -> (String, BTreeMap<String, String>) {
        (self.lines, self.helpers)
    }

    /// A line that is no operation: a comment, or the end of the function.
    pub fn line(&mut self, text: &str) {
        if !text.is_empty() {
            self.lines.push_str("    ");
            self.lines.push_str(text);
        }
        self.lines.push('\n');
    }

    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// An operation, written unless an equal one is there already.
    pub fn define(&mut self, operation: String, sizes: Vec<u64>, of: Element) -> Tensor {
        if let Some(name) = self.known.get(&operation) {
            return Tensor { name: name.clone(), sizes, of };
        }
        let name = self.fresh();
        let _ = writeln!(self.lines, "    {name} = {operation}");
        self.known.insert(operation, name.clone());
        Tensor { name, sizes, of }
    }

    /// Opens a loop of so many turns over the values that it begins with, of which the first counts. Returns what a turn finds.
    pub fn open_while(&mut self, firsts: &[Tensor], turns: i64) -> Vec<Tensor> {
        let names: Vec<String> = firsts.iter().map(|_| self.fresh()).collect();
        let result = self.fresh();
        let pairs = list(names.iter().zip(firsts).map(|(name, first)| format!("{name} = {}", first.name)));
        let types = list(firsts.iter().map(Tensor::text));
        let t = tensor_text(&[], Element::I32);
        let (most, more, sign) = (self.fresh(), self.fresh(), tensor_text(&[], Element::BOOL));
        let many = if firsts.len() == 1 { String::new() } else { format!(":{}", firsts.len()) };
        self.line(&format!("{result}{many} = stablehlo.while({pairs}) : {types}"));
        self.line(&format!("cond {{ {most} = stablehlo.constant dense<{turns}> : {t}"));
        self.line(&format!(
            "  {more} = stablehlo.compare LT, {}, {most}, SIGNED : ({t}, {t}) -> {sign}",
            names[0]
        ));
        self.line(&format!("  stablehlo.return {more} : {sign} }} do {{"));
        self.open.push((result, self.known.clone()));
        firsts.iter().zip(names).map(|(first, name)| Tensor { name, ..first.clone() }).collect()
    }

    /// Closes the loop that was opened last, with what the next turn finds. Returns what the last one leaves.
    pub fn close_while(&mut self, next: &[Tensor]) -> Vec<Tensor> {
        let (names, types) =
            (list(next.iter().map(|tensor| &tensor.name)), list(next.iter().map(Tensor::text)));
        self.line(&format!("stablehlo.return {names} : {types} }}"));
        let Some((result, known)) = self.open.pop() else { return Vec::new() };
        // What was computed inside is not known outside.
        self.known = known;
        let name = |at: usize| if next.len() == 1 { result.clone() } else { format!("{result}#{at}") };
        next.iter().enumerate().map(|(at, tensor)| Tensor { name: name(at), ..tensor.clone() }).collect()
    }

    fn fresh(&mut self) -> String {
        self.count += 1;
        format!("%{}", self.count - 1)
    }

    /// The same tensor, divided as an attribute of Shardy says.
    pub fn constrained(&mut self, tensor: &Tensor, sharding: &str) -> Tensor {
        let operation = format!("sdy.sharding_constraint {} {sharding} : {}", tensor.name, tensor.text());
        self.define(operation, tensor.sizes.clone(), tensor.of)
    }

    /// A number, in every element.
    pub fn splat(&mut self, value: f64, sizes: &[u64], of: Element) -> Tensor {
        let text = match of {
            Element::U32 => (value as u32).to_string(),
            Element::Of(dtype) => number(dtype, value),
        };
        self.constant(&text, sizes, of)
    }

    /// An integer, in every element.
    pub fn integers(&mut self, value: i64, sizes: &[u64], of: Element) -> Tensor {
        self.constant(&value.to_string(), sizes, of)
    }

    /// A word, in every element.
    pub fn word(&mut self, value: u32, sizes: &[u64]) -> Tensor {
        self.constant(&value.to_string(), sizes, Element::U32)
    }

    fn constant(&mut self, text: &str, sizes: &[u64], of: Element) -> Tensor {
        let operation = format!("stablehlo.constant dense<{text}> : {}", tensor_text(sizes, of));
        self.define(operation, sizes.to_vec(), of)
    }

    /// The positions along an axis.
    pub fn iota(&mut self, axis: usize, sizes: &[u64], of: Element) -> Tensor {
        let operation = format!("stablehlo.iota dim = {axis} : {}", tensor_text(sizes, of));
        self.define(operation, sizes.to_vec(), of)
    }

    /// An operation on each element of tensors of one type.
    pub fn each(&mut self, op: &str, operands: &[&Tensor]) -> Tensor {
        let first = operands[0];
        let operation = format!(
            "stablehlo.{op} {} : {}",
            list(operands.iter().map(|operand| &operand.name)),
            first.text()
        );
        self.define(operation, first.sizes.clone(), first.of)
    }

    /// A function of each element that StableHLO has beside its operations, in the dialect `chlo`, from which compilers make them.
    pub fn of_library(&mut self, op: &str, x: &Tensor) -> Tensor {
        let operation = format!("chlo.{op} {} : {} -> {}", x.name, x.text(), x.text());
        self.define(operation, x.sizes.clone(), x.of)
    }

    /// The derivatives of `digamma`, as many as another tensor says, in the same dialect.
    pub fn polygamma(&mut self, order: &Tensor, x: &Tensor) -> Tensor {
        let t = x.text();
        let operation = format!("chlo.polygamma {}, {} : {t}, {t} -> {t}", order.name, x.name);
        self.define(operation, x.sizes.clone(), x.of)
    }

    /// A comparison of elements: `LT`, `LE`, `EQ`, `NE`, `GE`, `GT`.
    pub fn compare(&mut self, direction: &str, a: &Tensor, b: &Tensor) -> Tensor {
        let made = tensor_text(&a.sizes, Element::BOOL);
        let (t, kind) = (a.text(), a.of.comparison());
        let operation =
            format!("stablehlo.compare {direction}, {}, {}, {kind} : ({t}, {t}) -> {made}", a.name, b.name);
        self.define(operation, a.sizes.clone(), Element::BOOL)
    }

    /// The second where the first holds, else the third.
    pub fn select(&mut self, condition: &Tensor, a: &Tensor, b: &Tensor) -> Tensor {
        let operands = list([&condition.name, &a.name, &b.name]);
        let operation = format!("stablehlo.select {operands} : {}, {}", condition.text(), a.text());
        self.define(operation, a.sizes.clone(), a.of)
    }

    /// The same tensor, which is computed once and not fused with what reads it.
    pub fn barrier(&mut self, a: &Tensor) -> Tensor {
        let operation = format!("stablehlo.optimization_barrier {} : {}", a.name, a.text());
        self.define(operation, a.sizes.clone(), a.of)
    }

    /// The same numbers in another type.
    pub fn convert(&mut self, a: &Tensor, of: Element) -> Tensor {
        if a.of == of {
            return a.clone();
        }
        let operation =
            format!("stablehlo.convert {} : ({}) -> {}", a.name, a.text(), tensor_text(&a.sizes, of));
        self.define(operation, a.sizes.clone(), of)
    }

    /// Floats rounded to fewer bits, in the same type.
    pub fn reduce_precision(&mut self, a: &Tensor, exponent: u32, mantissa: u32) -> Tensor {
        let format = format!("format = e{exponent}m{mantissa}");
        let operation = format!("stablehlo.reduce_precision {}, {format} : {}", a.name, a.text());
        self.define(operation, a.sizes.clone(), a.of)
    }

    fn changed(&mut self, operation: &str, a: &Tensor, sizes: Vec<u64>) -> Tensor {
        let operation = format!("{operation} : ({}) -> {}", a.text(), tensor_text(&sizes, a.of));
        self.define(operation, sizes, a.of)
    }

    /// A tensor along further axes. `dims` says where its own axes are, in ascending order.
    pub fn broadcast(&mut self, a: &Tensor, sizes: &[u64], dims: &[usize]) -> Tensor {
        if a.sizes == sizes {
            return a.clone();
        }
        let operation = format!("stablehlo.broadcast_in_dim {}, dims = [{}]", a.name, list(dims));
        self.changed(&operation, a, sizes.to_vec())
    }

    /// The same tensor with its axes in another order.
    pub fn transpose(&mut self, a: &Tensor, order: &[usize]) -> Tensor {
        if order.iter().copied().eq(0..a.rank()) {
            return a.clone();
        }
        let sizes = order.iter().map(|axis| a.sizes[*axis]).collect();
        self.changed(&format!("stablehlo.transpose {}, dims = [{}]", a.name, list(order)), a, sizes)
    }

    /// The same elements under other axes.
    pub fn reshape(&mut self, a: &Tensor, sizes: &[u64]) -> Tensor {
        if a.sizes == sizes {
            return a.clone();
        }
        self.changed(&format!("stablehlo.reshape {}", a.name), a, sizes.to_vec())
    }

    /// A part of each axis.
    pub fn slice(&mut self, a: &Tensor, spans: &[Span]) -> Tensor {
        if spans.iter().zip(&a.sizes).all(|(span, size)| *span == (0, *size, 1)) {
            return a.clone();
        }
        let span = |(start, end, step): &Span| match step {
            1 => format!("{start}:{end}"),
            _ => format!("{start}:{end}:{step}"),
        };
        let sizes = spans.iter().map(|(start, end, step)| (end - start).div_ceil(*step)).collect();
        self.changed(&format!("stablehlo.slice {} [{}]", a.name, list(spans.iter().map(span))), a, sizes)
    }

    /// A tensor in the opposite order along some axes.
    pub fn reverse(&mut self, a: &Tensor, axes: &[usize]) -> Tensor {
        if axes.is_empty() {
            return a.clone();
        }
        let operation = format!("stablehlo.reverse {}, dims = [{}] : {}", a.name, list(axes), a.text());
        self.define(operation, a.sizes.clone(), a.of)
    }

    /// A tensor with a number before and after each axis.
    pub fn pad(&mut self, a: &Tensor, value: f64, pads: &[(u64, u64)]) -> Tensor {
        if pads.iter().all(|pad| *pad == (0, 0)) {
            return a.clone();
        }
        let fill = self.splat(value, &[], a.of);
        let sizes: Vec<u64> = a.sizes.iter().zip(pads).map(|(size, pad)| pad.0 + size + pad.1).collect();
        let (low, high) = (list(pads.iter().map(|pad| pad.0)), list(pads.iter().map(|pad| pad.1)));
        let interior = list(pads.iter().map(|_| 0));
        let operation = format!(
            "stablehlo.pad {}, {}, low = [{low}], high = [{high}], interior = [{interior}] : ({}, {}) -> {}",
            a.name,
            fill.name,
            a.text(),
            fill.text(),
            tensor_text(&sizes, a.of)
        );
        self.define(operation, sizes, a.of)
    }

    /// Tensors one after another along an axis.
    pub fn concatenate(&mut self, parts: &[Tensor], axis: usize) -> Tensor {
        if let [only] = parts {
            return only.clone();
        }
        let mut sizes = parts[0].sizes.clone();
        sizes[axis] = parts.iter().map(|part| part.sizes[axis]).sum();
        let operation = format!(
            "stablehlo.concatenate {}, dim = {axis} : ({}) -> {}",
            list(parts.iter().map(|part| &part.name)),
            list(parts.iter().map(Tensor::text)),
            tensor_text(&sizes, parts[0].of)
        );
        self.define(operation, sizes, parts[0].of)
    }

    /// The values along some axes, put together.
    pub fn reduce(&mut self, a: &Tensor, monoid: Monoid, axes: &[usize]) -> Tensor {
        if axes.is_empty() {
            return a.clone();
        }
        let start = self.splat(monoid.neutral(), &[], a.of);
        let kept = (0..a.rank()).filter(|axis| !axes.contains(axis));
        let sizes: Vec<u64> = kept.map(|axis| a.sizes[axis]).collect();
        let operation = format!(
            "stablehlo.reduce({} init: {}) applies {} across dimensions = [{}] : ({}, {}) -> {}",
            a.name,
            start.name,
            monoid.op(),
            list(axes),
            a.text(),
            start.text(),
            tensor_text(&sizes, a.of)
        );
        self.define(operation, sizes, a.of)
    }

    /// A part of a tensor at positions that are known when the module runs.
    pub fn dynamic_slice(&mut self, a: &Tensor, starts: &[Tensor], sizes: &[u64]) -> Tensor {
        let operation = format!(
            "stablehlo.dynamic_slice {}, {}, sizes = [{}] : ({}, {}) -> {}",
            a.name,
            list(starts.iter().map(|start| &start.name)),
            list(sizes),
            a.text(),
            list(starts.iter().map(Tensor::text)),
            tensor_text(sizes, a.of)
        );
        self.define(operation, sizes.to_vec(), a.of)
    }

    /// A tensor of which a part is replaced.
    pub fn dynamic_update_slice(&mut self, a: &Tensor, part: &Tensor, starts: &[Tensor]) -> Tensor {
        let operation = format!(
            "stablehlo.dynamic_update_slice {}, {}, {} : ({}, {}, {}) -> {}",
            a.name,
            part.name,
            list(starts.iter().map(|start| &start.name)),
            a.text(),
            part.text(),
            list(starts.iter().map(Tensor::text)),
            a.text()
        );
        self.define(operation, a.sizes.clone(), a.of)
    }

    /// Two factors in the type in which they are multiplied: floats of 16 bits as they are if both have the same type and the sum has 32
    /// bits, all others in the type of the sum, or rounded if that is wanted and makes the product faster.
    fn factors(&mut self, a: &Tensor, b: &Tensor, sum: Element, is_of_matrices: bool) -> (Tensor, Tensor) {
        if a.of == b.of && a.of.is_short_float() && sum == Element::F32 {
            return (a.clone(), b.clone());
        }
        let rounds = self.precision == Precision::Bf16 && sum == Element::F32 && is_of_matrices;
        let of = if rounds { Element::BF16 } else { sum };
        (self.convert(a, of), self.convert(b, of))
    }

    /// Products summed over pairs of axes: the axes of the result are the batch axes, the other axes of the first and
    /// those of the second. Sums of one type may be rounded to another.
    pub fn dot_general(
        &mut self,
        (a, b): (&Tensor, &Tensor),
        batch: (&[usize], &[usize]),
        summed: (&[usize], &[usize]),
        (sum, of): (Element, Element),
    ) -> Tensor {
        // Each factor of a product of matrices has axes that the other one has not. Other products are bound by memory.
        let shared = batch.0.len() + summed.0.len();
        let (a, b) = self.factors(a, b, sum, a.rank() > shared && b.rank() > shared);
        let precision = self.precision.word(a.of, sum);
        let free = |t: &Tensor, batch: &[usize], summed: &[usize]| -> Vec<u64> {
            let free = (0..t.rank()).filter(|axis| !batch.contains(axis) && !summed.contains(axis));
            free.map(|axis| t.sizes[axis]).collect()
        };
        let mut sizes: Vec<u64> = batch.0.iter().map(|axis| a.sizes[*axis]).collect();
        sizes.extend(free(&a, batch.0, summed.0));
        sizes.extend(free(&b, batch.1, summed.1));
        let batching = match batch.0 {
            [] => String::new(),
            _ => format!("batching_dims = [{}] x [{}], ", list(batch.0), list(batch.1)),
        };
        let operation = format!(
            "stablehlo.dot_general {}, {}, {batching}contracting_dims = [{}] x [{}], precision = [{precision}, {precision}] : ({}, {}) -> {}",
            a.name,
            b.name,
            list(summed.0),
            list(summed.1),
            a.text(),
            b.text(),
            tensor_text(&sizes, of)
        );
        self.define(operation, sizes, of)
    }

    /// The elements of a tensor at positions on some of its axes. The axes of the result are those of the positions, then
    /// the other axes of the tensor. An axis in a batch has no positions: it goes along an axis of the positions.
    pub fn gather(
        &mut self,
        a: &Tensor,
        axes: &[usize],
        positions: &Tensor,
        batches: &[(usize, usize)],
    ) -> Tensor {
        let points = &positions.sizes[..positions.rank() - 1];
        let others: Vec<usize> = (0..a.rank()).filter(|axis| !axes.contains(axis)).collect();
        let sizes: Vec<u64> =
            points.iter().copied().chain(others.iter().map(|axis| a.sizes[*axis])).collect();
        let sought = not_in(batches, axes);
        let slices = (0..a.rank()).map(|axis| if axes.contains(&axis) { 1 } else { a.sizes[axis] });
        let operation = format!(
            "\"stablehlo.gather\"({}, {}) <{{dimension_numbers = #stablehlo.gather<offset_dims = [{}], collapsed_slice_dims = [{}], \
             {}start_index_map = [{}], index_vector_dim = {}>, indices_are_sorted = false, slice_sizes = {}}}> : ({}, {}) -> {}",
            a.name,
            positions.name,
            list(points.len()..points.len() + others.len()),
            list(&sought),
            in_batches(["operand_batching_dims", "start_indices_batching_dims"], batches),
            list(&sought),
            points.len(),
            array(slices),
            a.text(),
            positions.text(),
            tensor_text(&sizes, a.of)
        );
        self.define(operation, sizes, a.of)
    }

    /// The positions of the elements of a tensor along an axis, in the order of the elements. Equal ones stay in the order of
    /// their positions, and what is not a number comes last.
    pub fn argsort(&mut self, a: &Tensor, axis: usize, descending: bool) -> Tensor {
        let places = self.iota(axis, &a.sizes, Element::I64);
        let (key, place) = (tensor_text(&[], a.of), tensor_text(&[], Element::I64));
        let sign = tensor_text(&[], Element::BOOL);
        let compare = |name: &str, direction: &str, x: &str, y: &str| {
            let by = a.of.comparison();
            format!("%${name} = stablehlo.compare {direction}, %${x}, %${y}, {by} : ({key}, {key}) -> {sign}")
        };
        let truth = |name: &str, op: &str, x: &str, y: &str| {
            format!("%${name} = stablehlo.{op} %${x}, %${y} : {sign}")
        };
        let mut body = vec![compare("l", if descending { "GT" } else { "LT" }, "a", "b")];
        let mut first = "l";
        if a.of.comparison() == "FLOAT" {
            body.extend([compare("n", "NE", "b", "b"), compare("m", "EQ", "a", "a")]);
            body.extend([truth("o", "and", "n", "m"), truth("f", "or", "l", "o")]);
            first = "f";
        }
        let result = self.fresh();
        let (names, types) = (list([&a.name, &places.name]), list([a.text(), places.text()]));
        self.line(&format!(
            "{result}:2 = \"stablehlo.sort\"({names}) <{{dimension = {axis} : i64, is_stable = true}}> ({{ ^bb0(%$a: {key}, %$b: \
             {key}, %$c: {place}, %$d: {place}): {} stablehlo.return %${first} : {sign} }}) : ({types}) -> ({types})",
            body.join(" ")
        ));
        Tensor { name: format!("{result}#1"), ..places }
    }

    /// A tensor whose elements at positions on some of its axes are put together with updates, or replaced. The axes of
    /// the updates are those of the positions, then the other axes of the tensor. Batches are as for `gather`.
    pub fn scatter(
        &mut self,
        a: &Tensor,
        (axes, batches): (&[usize], &[(usize, usize)]),
        positions: &Tensor,
        updates: &Tensor,
        monoid: Option<Monoid>,
        unique: bool,
    ) -> Tensor {
        let points = positions.rank() - 1;
        let sought = not_in(batches, axes);
        let operation = format!(
            "\"stablehlo.scatter\"({}, {}, {}) <{{indices_are_sorted = false, scatter_dimension_numbers = \
             #stablehlo.scatter<update_window_dims = [{}], inserted_window_dims = [{}], {}scatter_dims_to_operand_dims = [{}], \
             index_vector_dim = {points}>, unique_indices = {unique}}}> {} : ({}, {}, {}) -> {}",
            a.name,
            positions.name,
            updates.name,
            list(points..updates.rank()),
            list(&sought),
            in_batches(["input_batching_dims", "scatter_indices_batching_dims"], batches),
            list(&sought),
            region(monoid.map_or("", Monoid::op), a.of),
            a.text(),
            positions.text(),
            updates.text(),
            a.text()
        );
        self.define(operation, a.sizes.clone(), a.of)
    }

    /// The values in each window, put together.
    pub fn reduce_window(&mut self, a: &Tensor, monoid: Monoid, windows: &[Window]) -> Tensor {
        let start = self.splat(monoid.neutral(), &[], a.of);
        let sizes: Vec<u64> = windows.iter().map(|window| window.count).collect();
        let pads = list(windows.iter().map(|window| format!("[{}, {}]", window.pad.0, window.pad.1)));
        let operation = format!(
            "\"stablehlo.reduce_window\"({}, {}) <{{window_dimensions = {}, window_strides = {}, window_dilations = {}, padding = \
             dense<[{pads}]> : tensor<{}x2xi64>}}> {} : ({}, {}) -> {}",
            a.name,
            start.name,
            array(windows.iter().map(|window| window.size)),
            array(windows.iter().map(|window| window.stride)),
            array(windows.iter().map(|window| window.dilation)),
            a.rank(),
            region(monoid.op(), a.of),
            a.text(),
            start.text(),
            tensor_text(&sizes, a.of)
        );
        self.define(operation, sizes, a.of)
    }

    /// A convolution of `batch, feature, space…` with `space…, input feature, output feature`, in groups of features. Sums of one type may
    /// be rounded to another.
    pub fn convolution(
        &mut self,
        (a, kernel): (&Tensor, &Tensor),
        windows: &[Window],
        groups: u64,
        (sum, of): (Element, Element),
    ) -> Tensor {
        let (a, kernel) = self.factors(a, kernel, sum, true);
        let precision = self.precision.word(a.of, sum);
        let space = windows.len();
        let features = kernel.sizes[space + 1];
        let mut sizes = vec![a.sizes[0], features];
        sizes.extend(windows.iter().map(|window| window.count));
        let dims: Vec<String> = (0..space).map(|axis| axis.to_string()).collect();
        let labelled = |first: &[&str], dims: &[String], last: &[&str]| {
            list(
                first
                    .iter()
                    .map(ToString::to_string)
                    .chain(dims.iter().cloned())
                    .chain(last.iter().map(ToString::to_string)),
            )
        };
        let (data, weights) = (labelled(&["b", "f"], &dims, &[]), labelled(&[], &dims, &["i", "o"]));
        let each = |of: &dyn Fn(&Window) -> String| list(windows.iter().map(of));
        let operation = format!(
            "stablehlo.convolution({}, {}) dim_numbers = [{data}]x[{weights}]->[{data}], window = {{stride = [{}], pad = [{}], \
             lhs_dilate = [{}], rhs_dilate = [{}], reverse = [{}]}} {{batch_group_count = 1 : i64, feature_group_count = {groups} : i64, \
             precision_config = [#stablehlo<precision {precision}>, #stablehlo<precision {precision}>]}} : ({}, {}) -> {}",
            a.name,
            kernel.name,
            each(&|window| window.stride.to_string()),
            each(&|window| format!("[{}, {}]", window.pad.0, window.pad.1)),
            each(&|window| window.spread.to_string()),
            each(&|window| window.dilation.to_string()),
            each(&|_| "false".into()),
            a.text(),
            kernel.text(),
            tensor_text(&sizes, of)
        );
        self.define(operation, sizes, of)
    }
}

/// The axes that are in no batch.
fn not_in(batches: &[(usize, usize)], axes: &[usize]) -> Vec<usize> {
    axes.iter().copied().filter(|axis| batches.iter().all(|(batch, _)| batch != axis)).collect()
}

/// The axes of batches and the axes of positions along which they go, by their names, if there are any.
fn in_batches([axes, points]: [&str; 2], batches: &[(usize, usize)]) -> String {
    if batches.is_empty() {
        return String::new();
    }
    let (of_axes, of_points) = (batches.iter().map(|each| each.0), batches.iter().map(|each| each.1));
    format!("{axes} = [{}], {points} = [{}], ", list(of_axes), list(of_points))
}

/// A window that moves along an axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Window {
    /// The number of its elements.
    pub size: u64,
    /// The number of places where it stands.
    pub count: u64,
    /// The distance between these places.
    pub stride: u64,
    /// The distance between its elements.
    pub dilation: u64,
    /// The distance between neighbours on the axis, which zeros fill.
    pub spread: u64,
    /// The numbers of elements before and after the axis; negative ones are left out.
    pub pad: (i64, i64),
}

impl Window {
    /// A window of one element, which stands everywhere on an axis.
    pub fn along(size: u64) -> Window {
        Window { size: 1, count: size, stride: 1, dilation: 1, spread: 1, pad: (0, 0) }
    }
}
