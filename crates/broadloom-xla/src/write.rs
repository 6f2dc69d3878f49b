//! The function that is being written: one method for each operation of StableHLO that is used.
//!
//! Every operation is pure, so equal ones are written once. Operations that would change nothing are left out.

use std::collections::BTreeMap;
use std::rc::Rc;

use broadloom_loops::Dtype;
use broadloom_loops::mlir::MlirNames;
use broadloom_loops::reference::round;
use rustc_hash::FxHashMap;

use crate::operation::{Lines, Literal, Lookup, Monoid, Op, Operation, Pairs, Span, Window, axes};
use crate::precision::Precision;
use crate::tensor::{Element, Kind, Kinds, Name, Tensor};

/// The text of a function.
#[derive(Default)]
pub(crate) struct Text {
    lines: Lines,
    /// The operations that have been written, each with the number of its result: those of the function, and of each loop that is open.
    known: Known,
    kinds: Kinds,
    names: MlirNames,
    /// The precision of products.
    precision: Precision,
    count: u32,
    /// The results of the loops that are open.
    open: Vec<u32>,
    /// Functions that are called, by their names.
    pub helpers: BTreeMap<String, String>,
}

/// The operations that can be read from the place that is written: those of the function, and of the loops that are open.
#[derive(Default)]
struct Known {
    outside: FxHashMap<Operation, u32>,
    inside: Vec<FxHashMap<Operation, u32>>,
}

impl Known {
    /// The number of the result of an equal operation.
    fn find(&self, operation: &Operation) -> Option<u32> {
        let all = self.inside.iter().chain([&self.outside]);
        all.filter_map(|known| known.get(operation)).next().copied()
    }

    fn insert(&mut self, operation: Operation, number: u32) {
        self.inside.last_mut().unwrap_or(&mut self.outside).insert(operation, number);
    }
}

impl Text {
    /// An empty text, with products of some precision.
    pub fn new(precision: Precision) -> Text {
        Text { precision, ..Text::default() }
    }

    /// The lines that have been written.
    pub fn finish(self) -> (String, BTreeMap<String, String>) {
        (self.lines.text, self.helpers)
    }

    /// A line that is no operation: a comment, or the end of the function.
    pub fn line(&mut self, text: &str) {
        if !text.is_empty() {
            self.lines.word("    ").word(text);
        }
        self.lines.word("\n");
    }

    /// A line for readers, in two parts.
    pub fn comment(&mut self, first: &str, second: &str) {
        self.lines.word("    // ").word(first).word(second).word("\n");
    }

    pub fn is_empty(&self) -> bool {
        self.lines.text.is_empty()
    }

    /// An argument, with a name like the one that is wanted.
    pub fn argument(&mut self, wanted: &str, sizes: &[u64], of: Element) -> Tensor {
        self.lines.given.push(self.names.fresh(wanted));
        let name = Name::Given(self.lines.given.len() as u32 - 1);
        Tensor { name, kind: self.kinds.of(sizes, of) }
    }

    /// The name of a value, with its sign.
    pub fn name_of(&self, tensor: &Tensor) -> String {
        match tensor.name {
            Name::Given(at) => self.lines.given.get(at as usize).cloned().unwrap_or_default(),
            Name::Result(number) => format!("%{number}"),
            Name::Part(number, part) => format!("%{number}#{part}"),
        }
    }

    /// An operation, written unless an equal one is there already.
    fn define(&mut self, op: Op, operands: &[&Tensor], kind: Rc<Kind>) -> Tensor {
        let names = operands.iter().map(|operand| operand.name).collect();
        let operation = Operation { op, operands: names, result: kind.place };
        if let Some(known) = self.known.find(&operation) {
            return Tensor { name: Name::Result(known), kind };
        }
        let number = self.fresh();
        let name = Name::Result(number);
        self.lines.word("    ").name(name).word(" = ").operation(&operation.op, operands, &kind);
        self.lines.word("\n");
        self.known.insert(operation, number);
        Tensor { name, kind }
    }

    /// An operation whose result has other sizes than its first operand.
    fn sized(&mut self, op: Op, operands: &[&Tensor], sizes: &[u64]) -> Tensor {
        let kind = self.kinds.of(sizes, operands[0].of);
        self.define(op, operands, kind)
    }

    /// An operation whose result has the type of its first operand.
    fn alike(&mut self, op: Op, operands: &[&Tensor]) -> Tensor {
        self.define(op, operands, Rc::clone(&operands[0].kind))
    }

    fn fresh(&mut self) -> u32 {
        self.count += 1;
        self.count - 1
    }

    /// Opens a loop of so many turns over the values that it begins with, of which the first counts. Returns what a turn finds.
    pub fn open_while(&mut self, firsts: &[Tensor], turns: i64) -> Vec<Tensor> {
        let inside: Vec<Tensor> = firsts
            .iter()
            .map(|first| Tensor { name: Name::Result(self.fresh()), kind: Rc::clone(&first.kind) })
            .collect();
        let result = self.fresh();
        let (most, more) = (Name::Result(self.fresh()), Name::Result(self.fresh()));
        let lines = &mut self.lines;
        lines.word("    ").name(Name::Result(result));
        if firsts.len() != 1 {
            lines.word(":").number(firsts.len() as u64);
        }
        lines.word(" = stablehlo.while(");
        lines.list(inside.iter().zip(firsts), |lines, (inside, first)| {
            lines.name(inside.name).word(" = ").name(first.name);
        });
        lines.word(") : ").types(firsts).word("\n    cond { ").name(most);
        lines.word(&format!(" = stablehlo.constant dense<{turns}> : tensor<i32>\n      ")).name(more);
        lines.word(" = stablehlo.compare LT, ").name(inside[0].name).word(", ").name(most);
        lines.word(", SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n      stablehlo.return ").name(more);
        lines.word(" : tensor<i1> } do {\n");
        self.open.push(result);
        self.known.inside.push(FxHashMap::default());
        inside
    }

    /// Closes the loop that was opened last, with what the next turn finds. Returns what the last one leaves.
    pub fn close_while(&mut self, next: &[Tensor]) -> Vec<Tensor> {
        self.lines.word("    stablehlo.return ").names(next).word(" : ").types(next).word(" }\n");
        let Some(result) = self.open.pop() else { return Vec::new() };
        // What was computed inside is not known outside.
        self.known.inside.pop();
        let name = |at: usize| match next.len() {
            1 => Name::Result(result),
            _ => Name::Part(result, at as u32),
        };
        let left = |(at, tensor): (usize, &Tensor)| Tensor { name: name(at), kind: Rc::clone(&tensor.kind) };
        next.iter().enumerate().map(left).collect()
    }

    /// Writes the end of the function, which returns some values.
    pub fn end(&mut self, values: &[Tensor]) {
        self.lines.word("\n    return");
        if !values.is_empty() {
            self.lines.word(" ").names(values).word(" : ").types(values);
        }
        self.lines.word("\n");
    }

    /// The same tensor, divided as an attribute of Shardy says.
    pub fn constrained(&mut self, tensor: &Tensor, sharding: Rc<str>) -> Tensor {
        self.alike(Op::Constraint(sharding), &[tensor])
    }

    /// A number, in every element.
    pub fn splat(&mut self, value: f64, sizes: &[u64], of: Element) -> Tensor {
        let literal = match of {
            Element::U32 => Literal::Integer(i64::from(value as u32)),
            Element::Of(dtype) => match (dtype, round(dtype, value)) {
                (Dtype::Bool, value) => Literal::Integer(i64::from(value != 0.0)),
                (_, value) if dtype.is_float() => Literal::Float(value.to_bits()),
                (_, value) => Literal::Integer(value as i64),
            },
        };
        self.constant(literal, sizes, of)
    }

    /// An integer, in every element.
    pub fn integers(&mut self, value: i64, sizes: &[u64], of: Element) -> Tensor {
        self.constant(Literal::Integer(value), sizes, of)
    }

    /// A word, in every element.
    pub fn word(&mut self, value: u32, sizes: &[u64]) -> Tensor {
        self.constant(Literal::Integer(value.into()), sizes, Element::U32)
    }

    fn constant(&mut self, literal: Literal, sizes: &[u64], of: Element) -> Tensor {
        let kind = self.kinds.of(sizes, of);
        self.define(Op::Constant(literal), &[], kind)
    }

    /// The positions along an axis.
    pub fn iota(&mut self, axis: usize, sizes: &[u64], of: Element) -> Tensor {
        let kind = self.kinds.of(sizes, of);
        self.define(Op::Iota(axis as u32), &[], kind)
    }

    /// An operation on each element of tensors of one type.
    pub fn each(&mut self, op: &'static str, operands: &[&Tensor]) -> Tensor {
        self.alike(Op::Each(op), operands)
    }

    /// A function of each element that StableHLO has beside its operations, in the dialect `chlo`, from which compilers make them.
    pub fn of_library(&mut self, op: &'static str, x: &Tensor) -> Tensor {
        self.alike(Op::Library(op), &[x])
    }

    /// The derivatives of `digamma`, as many as another tensor says, in the same dialect.
    pub fn polygamma(&mut self, order: &Tensor, x: &Tensor) -> Tensor {
        self.alike(Op::Polygamma, &[order, x])
    }

    /// A comparison of elements: `LT`, `LE`, `EQ`, `NE`, `GE`, `GT`.
    pub fn compare(&mut self, direction: &'static str, a: &Tensor, b: &Tensor) -> Tensor {
        let kind = self.kinds.of(&a.sizes, Element::BOOL);
        self.define(Op::Compare(direction), &[a, b], kind)
    }

    /// The second where the first holds, else the third.
    pub fn select(&mut self, condition: &Tensor, a: &Tensor, b: &Tensor) -> Tensor {
        self.define(Op::Select, &[condition, a, b], Rc::clone(&a.kind))
    }

    /// The same tensor, which is computed once and not fused with what reads it.
    pub fn barrier(&mut self, a: &Tensor) -> Tensor {
        self.alike(Op::Barrier, &[a])
    }

    /// The same numbers in another type.
    pub fn convert(&mut self, a: &Tensor, of: Element) -> Tensor {
        if a.of == of {
            return a.clone();
        }
        let kind = self.kinds.of(&a.sizes, of);
        self.define(Op::Convert, &[a], kind)
    }

    /// Floats rounded to fewer bits, in the same type.
    pub fn reduce_precision(&mut self, a: &Tensor, exponent: u32, mantissa: u32) -> Tensor {
        self.alike(Op::ReducePrecision { exponent, mantissa }, &[a])
    }

    /// A tensor along further axes. `dims` says where its own axes are, in ascending order.
    pub fn broadcast(&mut self, a: &Tensor, sizes: &[u64], dims: &[usize]) -> Tensor {
        if a.sizes == sizes {
            return a.clone();
        }
        self.sized(Op::Broadcast(axes(dims.iter().copied())), &[a], sizes)
    }

    /// The same tensor with its axes in another order.
    pub fn transpose(&mut self, a: &Tensor, order: &[usize]) -> Tensor {
        if order.iter().copied().eq(0..a.rank()) {
            return a.clone();
        }
        let sizes: Vec<u64> = order.iter().map(|axis| a.sizes[*axis]).collect();
        self.sized(Op::Transpose(axes(order.iter().copied())), &[a], &sizes)
    }

    /// The same elements under other axes.
    pub fn reshape(&mut self, a: &Tensor, sizes: &[u64]) -> Tensor {
        if a.sizes == sizes {
            return a.clone();
        }
        self.sized(Op::Reshape, &[a], sizes)
    }

    /// A part of each axis.
    pub fn slice(&mut self, a: &Tensor, spans: &[Span]) -> Tensor {
        if spans.iter().zip(&a.sizes).all(|(span, size)| *span == (0, *size, 1)) {
            return a.clone();
        }
        let sizes: Vec<u64> = spans.iter().map(|(start, end, step)| (end - start).div_ceil(*step)).collect();
        self.sized(Op::Slice(spans.into()), &[a], &sizes)
    }

    /// A tensor in the opposite order along some axes.
    pub fn reverse(&mut self, a: &Tensor, along: &[usize]) -> Tensor {
        if along.is_empty() {
            return a.clone();
        }
        self.alike(Op::Reverse(axes(along.iter().copied())), &[a])
    }

    /// A tensor with a number before and after each axis.
    pub fn pad(&mut self, a: &Tensor, value: f64, pads: &[(u64, u64)]) -> Tensor {
        if pads.iter().all(|pad| *pad == (0, 0)) {
            return a.clone();
        }
        let fill = self.splat(value, &[], a.of);
        let sizes: Vec<u64> = a.sizes.iter().zip(pads).map(|(size, pad)| pad.0 + size + pad.1).collect();
        self.sized(Op::Pad(pads.into()), &[a, &fill], &sizes)
    }

    /// Tensors one after another along an axis.
    pub fn concatenate(&mut self, parts: &[Tensor], axis: usize) -> Tensor {
        if let [only] = parts {
            return only.clone();
        }
        let mut sizes = parts[0].sizes.clone();
        sizes[axis] = parts.iter().map(|part| part.sizes[axis]).sum();
        let parts: Vec<&Tensor> = parts.iter().collect();
        self.sized(Op::Concatenate(axis as u32), &parts, &sizes)
    }

    /// The values along some axes, put together.
    pub fn reduce(&mut self, a: &Tensor, monoid: Monoid, over: &[usize]) -> Tensor {
        if over.is_empty() {
            return a.clone();
        }
        let start = self.splat(monoid.neutral(), &[], a.of);
        let kept = (0..a.rank()).filter(|axis| !over.contains(axis));
        let sizes: Vec<u64> = kept.map(|axis| a.sizes[axis]).collect();
        self.sized(Op::Reduce(monoid, axes(over.iter().copied())), &[a, &start], &sizes)
    }

    /// A part of a tensor at positions that are known when the module runs.
    pub fn dynamic_slice(&mut self, a: &Tensor, starts: &[Tensor], sizes: &[u64]) -> Tensor {
        let operands: Vec<&Tensor> = [a].into_iter().chain(starts).collect();
        self.sized(Op::DynamicSlice, &operands, sizes)
    }

    /// A tensor of which a part is replaced.
    pub fn dynamic_update_slice(&mut self, a: &Tensor, part: &Tensor, starts: &[Tensor]) -> Tensor {
        let operands: Vec<&Tensor> = [a, part].into_iter().chain(starts).collect();
        self.alike(Op::DynamicUpdateSlice, &operands)
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
        let mut sizes: Vec<u64> = batch.0.iter().map(|axis| a.sizes[*axis]).collect();
        for (of, batch, summed) in [(&a, batch.0, summed.0), (&b, batch.1, summed.1)] {
            let free = (0..of.rank()).filter(|axis| !batch.contains(axis) && !summed.contains(axis));
            sizes.extend(free.map(|axis| of.sizes[axis]));
        }
        let both = |(a, b): (&[usize], &[usize])| (axes(a.iter().copied()), axes(b.iter().copied()));
        let pairs = Pairs { batch: both(batch), summed: both(summed), precision };
        let kind = self.kinds.of(&sizes, of);
        self.define(Op::DotGeneral(Box::new(pairs)), &[&a, &b], kind)
    }

    /// The elements of a tensor at positions on some of its axes. The axes of the result are those of the positions, then
    /// the other axes of the tensor. An axis in a batch has no positions: it goes along an axis of the positions.
    pub fn gather(
        &mut self,
        a: &Tensor,
        along: &[usize],
        positions: &Tensor,
        batches: &[(usize, usize)],
    ) -> Tensor {
        let points = &positions.sizes[..positions.rank() - 1];
        let others: Vec<usize> = (0..a.rank()).filter(|axis| !along.contains(axis)).collect();
        let sizes: Vec<u64> =
            points.iter().copied().chain(others.iter().map(|axis| a.sizes[*axis])).collect();
        let offsets = axes(points.len()..points.len() + others.len());
        self.sized(Op::Gather(Box::new(lookup(along, batches)), offsets), &[a, positions], &sizes)
    }

    /// The positions of the elements of a tensor along an axis, in the order of the elements. Equal ones stay in the order of
    /// their positions, and what is not a number comes last.
    pub fn argsort(&mut self, a: &Tensor, axis: usize, descending: bool) -> Tensor {
        let places = self.iota(axis, &a.sizes, Element::I64);
        let (key, place, sign) = (a.of.text(), Element::I64.text(), Element::BOOL.text());
        let compare = |name: &str, direction: &str, x: &str, y: &str| {
            let by = a.of.comparison();
            format!(
                "%${name} = stablehlo.compare {direction}, %${x}, %${y}, {by} : (tensor<{key}>, tensor<{key}>) -> tensor<{sign}>"
            )
        };
        let truth = |name: &str, op: &str, x: &str, y: &str| {
            format!("%${name} = stablehlo.{op} %${x}, %${y} : tensor<{sign}>")
        };
        let mut body = vec![compare("l", if descending { "GT" } else { "LT" }, "a", "b")];
        let mut first = "l";
        if a.of.comparison() == "FLOAT" {
            body.extend([compare("n", "NE", "b", "b"), compare("m", "EQ", "a", "a")]);
            body.extend([truth("o", "and", "n", "m"), truth("f", "or", "l", "o")]);
            first = "f";
        }
        let result = self.fresh();
        let both = [a, &places];
        self.lines.word("    ").name(Name::Result(result)).word(":2 = \"stablehlo.sort\"(").names(both);
        self.lines.word(&format!(
            ") <{{dimension = {axis} : i64, is_stable = true}}> ({{ ^bb0(%$a: tensor<{key}>, %$b: tensor<{key}>, \
             %$c: tensor<{place}>, %$d: tensor<{place}>): {} stablehlo.return %${first} : tensor<{sign}> }}) : (",
            body.join(" ")
        ));
        self.lines.types(both).word(") -> (").types(both).word(")\n");
        Tensor { name: Name::Part(result, 1), ..places }
    }

    /// A tensor whose elements at positions on some of its axes are put together with updates, or replaced. The axes of
    /// the updates are those of the positions, then the other axes of the tensor. Batches are as for `gather`.
    pub fn scatter(
        &mut self,
        a: &Tensor,
        (along, batches): (&[usize], &[(usize, usize)]),
        positions: &Tensor,
        updates: &Tensor,
        monoid: Option<Monoid>,
        unique: bool,
    ) -> Tensor {
        let op = Op::Scatter(Box::new(lookup(along, batches)), monoid, unique);
        self.alike(op, &[a, positions, updates])
    }

    /// The values in each window, put together.
    pub fn reduce_window(&mut self, a: &Tensor, monoid: Monoid, windows: &[Window]) -> Tensor {
        let start = self.splat(monoid.neutral(), &[], a.of);
        let sizes: Vec<u64> = windows.iter().map(|window| window.count).collect();
        self.sized(Op::ReduceWindow(monoid, windows.into()), &[a, &start], &sizes)
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
        let mut sizes = vec![a.sizes[0], kernel.sizes[windows.len() + 1]];
        sizes.extend(windows.iter().map(|window| window.count));
        let op = Op::Convolution { windows: windows.into(), groups, precision };
        let kind = self.kinds.of(&sizes, of);
        self.define(op, &[&a, &kernel], kind)
    }

    /// The result of a function of the module.
    pub fn call(&mut self, function: &str, operands: &[&Tensor], sizes: &[u64], of: Element) -> Tensor {
        let kind = self.kinds.of(sizes, of);
        self.define(Op::Call(function.into()), operands, kind)
    }
}

/// The axes that are sought and have positions, and those in batches.
fn lookup(along: &[usize], batches: &[(usize, usize)]) -> Lookup {
    let is_sought = |axis: &usize| batches.iter().all(|(batch, _)| batch != axis);
    Lookup {
        sought: axes(along.iter().copied().filter(is_sought)),
        batches: batches.iter().map(|(axis, point)| (*axis as u32, *point as u32)).collect(),
    }
}
