//! The shape logic of every operation: one function each, which relates its rows.
//!
//! `C` is the result, `A`, `B`, `D` the operands; `b`, `i`, `o` their batch, input and output rows. `⊑` is
//! the broadcast order (the left side is the result, the right side may broadcast into it) and `≈` equality.
//!
//! | operation | relation |
//! |---|---|
//! | pointwise, any number of operands | `C_k ⊑ A_k`, `C_k ⊑ B_k`, … for each kind `k` |
//! | pointwise, where one of them has a shape and `F` fills any | the same, and `F` adds no axes to `C` |
//! | composition `A @ B` | `A_i ⊑ B_o`; `C_b ⊑ A_b`, `C_b ⊑ B_b`, `C_i ⊑ B_i`, `C_o ⊑ A_o` |
//! | composition and sum `A @ B + D` | the same, and `C_k ⊑ D_k` for each kind `k` |
//! | transpose | `C_b ⊑ A_b`, `C_i ⊑ A_o`, `C_o ⊑ A_i` |
//! | einsum, by a spec | each operand's rows `≈` the rows of the spec; the result's rows *are* those of the spec |
//! | concatenation and split | an einsum whose spec has `a^b` axes |
//! | slice of the leading batch axis | `A_b ≈ [s]·C_b`; `C_i` and `C_o` are `A_i` and `A_o` |
//! | conversion of the element count | `A` has one axis `v`; the elements of `C` are `factor·v / divisor` |
//!
//! Axes of a spec, beyond labels:
//!
//! | axis | relation |
//! |---|---|
//! | `2`, an index | the size is at least 3 |
//! | `s*o`, `s*o+c` | `size = s·o`, and more if an offset of `s` or more needs it |
//! | `s*o=+d*k`, padded | `size = s·o` |
//! | `s*o<+d*k`, valid | `size = s·(o − 1) + 1 + d·(k − 1)` |
//! | `a^b^3` | `size = a + b + 3` |
//!
//! The operation that makes a tensor declares where each row broadcasts (its marker): at the
//! longest leading flank among the operands for the operations that broadcast, at the hole of the
//! result's spec for an einsum, at the left edge otherwise.

use std::sync::Arc;

use broadloom_core::{Constraint, Numerator, Piece, Role, RowVar};
use broadloom_diagnostics::{Code, Wording};
use broadloom_loops::Dtype;
use broadloom_spec::Kind;

use crate::error::{Error, ErrorKind};
use crate::notation::Notation;
use crate::operation::Operation;
use crate::operation::id::OperationId;
use crate::operation::table::Pointwise;
use crate::spec_options::{Combine, SliceIndex, SpecOptions};
use crate::step::{Aspect, Op, RowRef, Rows, Sources, Tensor, contraction, place, sources};
use crate::{Graph, elaborate, names, rust_code, spec_axis, spec_parts};

macro_rules! method_of_graph {
    ($method:ident $id:ident ($($operand:ident),+) $(#[$doc:meta])*) => {
        impl Graph {
            $(#[$doc])*
            pub fn $method(&mut self, $($operand: Tensor),+) -> Result<Tensor, Error> {
                self.pointwise(Pointwise::$id, &[$($operand),+])
            }
        }
    };
}

/// The methods of all pointwise operations.
macro_rules! methods_of_graph {
    ($($(#[$doc:meta])* $method:ident $operands:tt $(as $of_expr:ident)? = $id:ident $name:literal:
       $forward:literal; $gradient:literal;)*) => {
        $(method_of_graph! { $method $id $operands $(#[$doc])* })*
    };
}

crate::pointwise_operations!(methods_of_graph);

impl Graph {
    /// Pointwise, by an identity or a name: every operand broadcasts into the result.
    ///
    /// ```
    /// use broadloom::{Graph, Pointwise};
    /// let mut g = Graph::new();
    /// let (x, scale) = (g.data("x", "8 | 3, 4")?, g.data("scale", "4")?);
    /// let y = g.pointwise(Pointwise::Mul, &[x, scale])?;
    /// assert_eq!(g.final_shape(y)?.to_string(), "8 | 3, 4");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn pointwise(
        &mut self,
        operation: impl Into<OperationId>,
        operands: &[Tensor],
    ) -> Result<Tensor, Error> {
        let id = operation.into();
        if operands.is_empty() {
            return Err(self.misuse(format!("`{id}` needs an operand")));
        }
        self.broadcasting(Op::Pointwise(id), operands)
    }

    /// Composition: contracts the input of `a` with the output of `b`. On matrices it is the product.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let (w, x) = (g.data("w", "784 -> 10")?, g.data("x", "32 | 784")?);
    /// let y = g.compose(w, x)?;
    /// assert_eq!(g.final_shape(y)?.to_string(), "32 | 10");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn compose(&mut self, a: Tensor, b: Tensor) -> Result<Tensor, Error> {
        self.broadcasting(Op::Compose, &[a, b])
    }

    /// A pointwise [`Operation`] of your own.
    pub fn apply(&mut self, operation: &Operation, operands: &[Tensor]) -> Result<Tensor, Error> {
        operation.takes(operands.len())?;
        let result = self.pointwise(operation.id, operands)?;
        self.laws.insert(self.last_step(), Arc::new(operation.clone()));
        Ok(result)
    }

    /// An [`Operation`] of your own, by a spec: its assignments accumulate over axes that the
    /// result does not mention.
    ///
    /// ```
    /// use broadloom::{Graph, Operation, SpecOptions};
    /// let distance = Operation::new("distance", 2)
    ///     .forward("v =:+ (v1 - v2) * (v1 - v2)")?
    ///     .gradient("g1 =+ 2 * g * (v1 - v2); g2 =- 2 * g * (v1 - v2)")?;
    /// let mut g = Graph::new();
    /// let (a, b) = (g.data("a", "10, 3")?, g.data("b", "20, 3")?);
    /// let d = g.apply_by(&distance, "i k; j k => i j", &[a, b], &SpecOptions::default())?;
    /// assert_eq!(g.final_shape(d)?.to_string(), "10, 20");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn apply_by<'s>(
        &mut self,
        operation: &Operation,
        spec: impl Into<Notation<'s>>,
        operands: &[Tensor],
        options: &SpecOptions<'_>,
    ) -> Result<Tensor, Error> {
        operation.takes(operands.len())?;
        let accumulate = operation.forward.accumulate();
        let named = SpecOptions { operation: Some(operation.id), accumulate, ..*options };
        let result = self.einsum_with(spec, operands, &named)?;
        self.laws.insert(self.last_step(), Arc::new(operation.clone()));
        Ok(result)
    }

    /// Composition with a sum: `a @ b + d`, in one operation.
    pub fn compose_accumulate(&mut self, a: Tensor, b: Tensor, d: Tensor) -> Result<Tensor, Error> {
        self.broadcasting(Op::ComposeAccumulate, &[a, b, d])
    }

    /// The numbers of a tensor as another type. Floats become integers towards 0; what does not fit becomes the nearest number that
    /// does, and what is not a number 0; every number but 0 is true. Gradients pass between types of floats, and no others.
    ///
    /// ```
    /// use broadloom::{Dtype, Graph};
    /// let mut g = Graph::new();
    /// let x = g.data("x", "3")?;
    /// let mask = g.cast(x, Dtype::Bool)?;
    /// assert_eq!(g.dtypes()[mask.index()], Dtype::Bool);
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn cast(&mut self, a: Tensor, dtype: Dtype) -> Result<Tensor, Error> {
        self.pointwise(dtype.name(), &[a])
    }

    /// Swaps input and output.
    pub fn transpose(&mut self, a: Tensor) -> Result<Tensor, Error> {
        self.broadcasting(Op::Transpose, &[a])
    }

    /// An operation whose operands broadcast, read as an order: see [`sources`] and [`contraction`].
    fn broadcasting(&mut self, op: Op, operands: &[Tensor]) -> Result<Tensor, Error> {
        self.broadcasting_into(op, operands, None)
    }

    /// The same into an existing tensor, whose rows take the place of new ones.
    pub(crate) fn broadcasting_into(
        &mut self,
        op: Op,
        operands: &[Tensor],
        target: Option<Tensor>,
    ) -> Result<Tensor, Error> {
        let before = self.begin(operands)?;
        target.map_or(Ok(()), |target| self.known(target))?;
        let rows: smallvec::SmallVec<[Rows; 3]> = operands.iter().map(|tensor| self.rows(*tensor)).collect();
        if let Some([(a, input), (b, output)]) = contraction(op) {
            let (inner, outer) = (rows[a][place(input)], rows[b][place(output)]);
            self.refine(inner, outer, b, Aspect::Contract);
            self.meets(inner, rows[b], output);
            self.meets(outer, rows[a], input);
        }
        let there = target.map(|target| self.rows(target));
        let with_fillers = matches!(op, Op::Pointwise(_))
            && rows.iter().any(|rows| self.fills_any_shape(*rows))
            && rows.iter().any(|rows| self.has_shape(*rows));
        let mut result = [RowRef::EMPTY; 3];
        for kind in Kind::ALL {
            let sources =
                sources(op, operands.len(), kind).map(|(slot, from)| (slot, rows[slot][place(from)]));
            let distinct = match with_fillers {
                // A row that two operands share belongs to the one with a shape.
                true => {
                    let mut sources: Sources = sources.collect();
                    sources.sort_by_key(|(slot, _)| !self.has_shape(rows[*slot]));
                    self.distinct(sources.into_iter())
                }
                false => self.distinct(sources),
            };
            result[place(kind)] = match there {
                Some(there) => self.broadcast_into(kind, there[place(kind)], &distinct),
                None if with_fillers => self.broadcast_shaped(kind, &distinct, &rows),
                None => self.broadcast(kind, &distinct),
            };
        }
        for kind in Kind::ALL {
            for (slot, from) in sources(op, operands.len(), kind) {
                self.meets(result[place(kind)], rows[slot], from);
            }
        }
        self.finish_into(before, op, operands, result, target)
    }

    /// The rows that add a constraint: those with axes, each once.
    fn distinct(&self, sources: impl Iterator<Item = (usize, RowRef)>) -> Sources {
        let mut distinct = Sources::new();
        for (slot, row) in sources {
            if !row.is_empty() && !distinct.iter().any(|(_, known)| self.same_row(*known, row)) {
                distinct.push((slot, row));
            }
        }
        distinct
    }

    /// The row of a result that is made of rows of operands. One row alone is the result's own; several are
    /// broadcast to a new one, whose marker is at the longest leading flank among theirs.
    fn broadcast(&mut self, kind: Kind, operands: &Sources) -> RowRef {
        match operands[..] {
            [] => RowRef::EMPTY,
            [(_, row)] => row,
            _ => self.fresh_result(kind, operands),
        }
    }

    /// A new row of a result that is made of rows of operands.
    fn fresh_result(&mut self, kind: Kind, operands: &Sources) -> RowRef {
        let marker = operands.iter().map(|(_, row)| self.marker(*row)).max().unwrap_or(0);
        let var = self.fresh_row(Role::Interior, marker);
        let result = self.broadcast_into(kind, RowRef::var(var), operands);
        self.made_of(var, kind, operands);
        result
    }

    /// The same where an operand has a shape: those that fill any shape (noise, constants) take it, and add no axes. Where the
    /// one with a shape has no axes of this kind, it may turn out to have none at all, and is a number then: closing decides
    /// ([`meets`](Graph::meets)).
    fn broadcast_shaped(&mut self, kind: Kind, sources: &Sources, operands: &[Rows]) -> RowRef {
        let (shaped, fillers): (Sources, Sources) =
            sources.iter().copied().partition(|(slot, _)| self.has_shape(operands[*slot]));
        let has_axes = |rows: &Rows| rows.iter().any(|row| row.lead + row.trail > 0);
        if shaped.is_empty() && !fillers.is_empty() && !operands.iter().any(has_axes) {
            return self.fresh_result(kind, &fillers);
        }
        let result = self.broadcast(kind, &shaped);
        self.broadcast_into(kind, result, &fillers)
    }

    /// Returns true for an operand that takes any shape: not a number, which has none.
    pub(crate) fn fills_any_shape(&self, rows: Rows) -> bool {
        !self.has_shape(rows) && rows.iter().any(|row| !row.is_empty())
    }

    /// Returns true for an operand with axes of its own, known or not: neither a number nor one that fills any shape.
    pub(crate) fn has_shape(&self, rows: Rows) -> bool {
        let is_open =
            |var: RowVar| self.solver.role(var) == Role::Filler && !self.facts.shaped.contains(&var);
        rows.iter().any(|row| row.lead + row.trail > 0 || row.hole.is_some_and(|var| !is_open(var)))
    }

    /// Returns true if two rows are written alike.
    fn same_row(&self, a: RowRef, b: RowRef) -> bool {
        a == b
            || ((a.lead, a.trail, a.hole) == (b.lead, b.trail, b.hole)
                && a.flanks(&self.axes) == b.flanks(&self.axes))
    }

    /// Records that a row is combined with an operand, by one of its rows. If that row has no axes,
    /// and others of the operand have, the solver is informed; a number adds nothing.
    fn meets(&mut self, row: RowRef, operand: Rows, by: Kind) {
        let own = operand[place(by)];
        let Some(var) = row.hole.filter(|_| own.lead + own.trail == 0 && own != row) else { return };
        let others = || Kind::ALL.into_iter().filter(|kind| *kind != by).map(|kind| operand[place(kind)]);
        let certain = others().any(|row| row.lead + row.trail > 0);
        let open: smallvec::SmallVec<[RowVar; 2]> = others().filter_map(|row| row.hole).collect();
        if certain || !open.is_empty() {
            self.solver.meets_no_axes(var, own.hole, if certain { &[] } else { &open });
        }
    }

    /// Broadcasts rows of operands into an existing row.
    fn broadcast_into(&mut self, kind: Kind, result: RowRef, operands: &Sources) -> RowRef {
        for (slot, row) in operands.iter().filter(|(_, row)| *row != result) {
            self.refine(result, *row, *slot, Aspect::Row(kind));
        }
        result
    }

    /// An operation by a spec, such as `"i j; j k => i k"`, on one or more operands: axes that the
    /// result does not mention are summed (or otherwise accumulated).
    ///
    /// Axes match exactly, without broadcasting. Omitted rows have no axes; `...` stands for any.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let (x, kernel) = (g.data("x", "9")?, g.data("kernel", "3")?);
    /// let y = g.einsum("2*o<+k; k => o", &[x, kernel])?;
    /// assert_eq!(g.final_shape(y)?.to_string(), "4");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn einsum<'s>(
        &mut self,
        spec: impl Into<Notation<'s>>,
        operands: &[Tensor],
    ) -> Result<Tensor, Error> {
        self.einsum_with(spec, operands, &SpecOptions::default())
    }

    /// An operation by a spec that leaves strides, dilations or padding to its user.
    ///
    /// ```
    /// use broadloom::{Graph, Padding, SpecOptions};
    /// let mut g = Graph::new();
    /// let (x, kernel) = (g.data("x", "8")?, g.data("kernel", "3")?);
    /// let options = SpecOptions { padding: Some(Padding::Padded), coefficients: &[("s", 2)], ..SpecOptions::default() };
    /// let y = g.einsum_with("s*o+k; k => o", &[x, kernel], &options)?;
    /// assert_eq!(g.final_shape(y)?.to_string(), "4");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn einsum_with<'s>(
        &mut self,
        spec: impl Into<Notation<'s>>,
        operands: &[Tensor],
        options: &SpecOptions<'_>,
    ) -> Result<Tensor, Error> {
        if options.combine == Combine::Where && operands.len() != 3 {
            let message =
                format!("`where` combines a condition and two tensors, and there are {}", operands.len());
            let operands = ["condition", "a", "b"].map(Code::tensor).to_vec();
            let code = Code::Where { spec: "i; i j; j => i j".to_string(), operands };
            return Err(self.misuse(message).with_help(rust_code::help(Wording::new("write ").code(code))));
        }
        let results = elaborate::by_spec(self, spec.into(), operands, options, Some(1))?;
        results.first().copied().ok_or_else(|| Error::new(ErrorKind::Use, "the spec has no result"))
    }

    /// The mean over labels and rows of a spec: the sum divided by their sizes, and by the numbers in parentheses of operands. The sum is kept in wider numbers than the
    /// mean where those are short.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let x = g.data("x", "8 | 3, 4")?;
    /// let mean = g.mean("... | ..d.. => ... | 0", &[x], &["d"])?;
    /// assert_eq!(g.final_shape(mean)?.to_string(), "8 | _");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn mean<'s, T: AsRef<str>>(
        &mut self,
        spec: impl Into<Notation<'s>>,
        operands: &[Tensor],
        over: &[T],
    ) -> Result<Tensor, Error> {
        let sum = self.einsum_with(
            spec,
            operands,
            &SpecOptions { operation: Some(OperationId::Mean), ..SpecOptions::default() },
        )?;
        self.mean_of(sum, over)
    }

    /// The mean of which a spec has made the sum: what [`Graph::mean`] does, in two steps, so that sizes of the spec can be set
    /// between them.
    pub fn mean_of<T: AsRef<str>>(&mut self, sum: Tensor, over: &[T]) -> Result<Tensor, Error> {
        let mut mean = sum;
        let step = self.tensors[sum.index()].step;
        // Numbers among the parts of composed axes have no names.
        let unnamed =
            spec_axis::spec_of_step(self, step).map_or(1, |(known, _)| spec_parts::unnamed(&known.spec));
        if unnamed > 1 {
            let count = self.number(unnamed as f64);
            self.facts.wide.insert(mean);
            mean = self.div(mean, count)?;
        }
        for name in over {
            let size = self.captured(sum, name.as_ref())?;
            let size = self.size_number(size)?;
            self.facts.wide.insert(mean);
            mean = self.div(mean, size)?;
        }
        if mean != sum {
            self.facts.means.insert(mean, sum);
        }
        Ok(mean)
    }

    /// An operation by a spec with several results: `"a^b => a; b"` takes an axis apart.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let x = g.data("x", "8 | 10")?;
    /// let parts = g.split("... | a^b => ... | a; ... | b", &[x])?;
    /// let a = g.captured(parts[0], "a")?;
    /// g.set(a, 3)?;
    /// assert_eq!(g.final_shape(parts[1])?.to_string(), "8 | 7");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn split<'s>(
        &mut self,
        spec: impl Into<Notation<'s>>,
        operands: &[Tensor],
    ) -> Result<Vec<Tensor>, Error> {
        elaborate::by_spec(self, spec.into(), operands, &SpecOptions::default(), None)
    }

    /// Takes one element of the leading batch axis.
    ///
    /// ```
    /// use broadloom::{Graph, SliceIndex};
    /// let mut g = Graph::new();
    /// let x = g.data("x", "32, 8 | 3")?;
    /// let step = g.slice(x, SliceIndex::Run { range: Some(32) })?;
    /// assert_eq!(g.final_shape(step)?.to_string(), "8 | 3");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn slice(&mut self, a: Tensor, index: SliceIndex) -> Result<Tensor, Error> {
        let before = self.begin(&[a])?;
        let [batch, input, output] = self.rows(a);
        let axis = self.solver.dim_var(Role::Interior).into();
        match index {
            SliceIndex::At(at) => {
                self.constrain(Constraint::AtLeast(axis, at.saturating_add(1)), 0, Aspect::Whole)
            }
            SliceIndex::Run { range: Some(0) } => {
                self.take_back(before);
                return Err(self
                    .misuse("a slice over no positions")
                    .with_help("the range of an index is at least 1"));
            }
            SliceIndex::Run { range: Some(range) } => {
                let size = self.solver.size(range);
                self.constrain(Constraint::DimEq(axis, size), 0, Aspect::Whole);
            }
            SliceIndex::Run { range: None } => {}
            SliceIndex::Turn => {
                self.take_back(before);
                return Err(self.misuse("only a scan takes the elements of its turns"));
            }
        }
        let rest = self.fresh_row(Role::Interior, self.marker(batch).saturating_sub(1));
        let start = self.axes.len() as u32;
        self.axes.push(axis);
        let sliced = RowRef { start, lead: 1, trail: 0, hole: Some(rest) };
        self.equate_rows(sliced, batch, 0, Aspect::Row(Kind::Batch));
        self.finish_op(before, Op::Slice(index), &[a], [RowRef::var(rest), input, output])
    }

    /// A conversion that changes the number of elements: `a` has a single axis of `v` elements, and
    /// the result has `factor·v / divisor`, in the shape that its uses ask for.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let words = g.data("words", "6")?;
    /// // One 128-bit word makes four 32-bit numbers.
    /// let numbers = g.convert(words, 4, 1)?;
    /// let bias = g.data("bias", "3, 8")?;
    /// let shaped = g.add(numbers, bias)?;
    /// assert_eq!(g.final_shape(numbers)?.to_string(), "3, 8");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn convert(&mut self, a: Tensor, factor: u64, divisor: u64) -> Result<Tensor, Error> {
        if factor == 0 || divisor == 0 {
            return Err(self.misuse("a conversion multiplies and divides by at least 1"));
        }
        let before = self.begin(&[a])?;
        let over = self.solver.dim_var(Role::Leaf).into();
        let (pieces, rest) = self.pieces(self.rows(a));
        self.constrain(
            Constraint::Exact { pieces: &pieces, axes: &[over], rest },
            0,
            Aspect::Row(Kind::Output),
        );
        // The result's rows close like a leaf's: to the shape of its uses, not to the least.
        let rows = [Role::Leaf; 3].map(|role| RowRef::var(self.fresh_row(role, 0)));
        let (pieces, rest) = self.pieces(rows);
        let numerator = Numerator { coeff: factor, over: Some(over), denom: divisor };
        self.constrain(
            Constraint::Count { pieces: &pieces, numerator, divided_by: &[], rest },
            0,
            Aspect::Whole,
        );
        self.finish_op(before, Op::Convert { factor, divisor }, &[a], rows)
    }

    /// The same elements in memory order (batch, output, input), in the shape that its uses ask
    /// for, or [declarations](Graph::declare_shape) give. It is an error if nothing asks for a
    /// shape.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let image = g.data("image", "32 | 28, 28")?;
    /// let pixels = g.reshape(image)?;
    /// g.declare_shape(pixels, "32 | 784")?;
    /// assert_eq!(g.final_shape(pixels)?.to_string(), "32 | 784");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn reshape(&mut self, a: Tensor) -> Result<Tensor, Error> {
        self.begin(&[a])?;
        let rows = self.rows(a);
        let axes: u32 = rows.iter().map(|row| row.len()).sum();
        let is_flat = axes == 1 && rows.iter().all(|row| row.hole.is_none());
        // Indices are sums of loop variables, so one shape becomes another by way of one axis.
        let flat = if is_flat { a } else { self.flat(a)? };
        self.convert(flat, 1, 1)
    }

    /// All elements on one axis, in memory order.
    fn flat(&mut self, a: Tensor) -> Result<Tensor, Error> {
        let before = self.begin(&[a])?;
        let all: broadloom_core::DimTerm = self.solver.dim_var(Role::Interior).into();
        let (pieces, rest) = self.pieces(self.rows(a));
        let numerator = Numerator { coeff: 1, over: Some(all), denom: 1 };
        self.constrain(
            Constraint::Count { pieces: &pieces, numerator, divided_by: &[], rest },
            0,
            Aspect::Whole,
        );
        let output = RowRef { start: self.axes.len() as u32, lead: 1, trail: 0, hole: None };
        self.axes.push(all);
        let name = format!("reshape({})", names::label_of(self, a));
        let flat = self.finish_op(
            before,
            Op::Convert { factor: 1, divisor: 1 },
            &[a],
            [RowRef::EMPTY, RowRef::EMPTY, output],
        )?;
        self.shown_as(flat, &name);
        Ok(flat)
    }

    /// The axes of a tensor in memory order (batch, output, input), and the row that takes the
    /// elements that the others leave.
    pub(crate) fn pieces(&self, rows: Rows) -> (Vec<Piece>, Option<broadloom_core::RowVar>) {
        let [batch, input, output] = rows;
        let mut pieces = Vec::new();
        for row in [batch, output, input] {
            let (lead, trail) = row.flanks(&self.axes);
            pieces.extend(lead.iter().map(|axis| Piece::Dim(*axis)));
            pieces.extend(row.hole.map(Piece::Row));
            pieces.extend(trail.iter().map(|axis| Piece::Dim(*axis)));
        }
        (pieces, [output, batch, input].iter().find_map(|row| row.hole))
    }
}
