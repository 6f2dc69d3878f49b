//! Operations of StableHLO as data, and their texts.
//!
//! An operation is what it does, the names of what it reads, and the type of its result. Two are equal exactly if these are, so that
//! none has to be written to be compared; and the text is made of nothing else.
//!
//! ```text
//! %7 = stablehlo.transpose %3, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
//!      Transpose [1, 0] of %3                                       its type
//! ```

use std::rc::Rc;

use broadloom_loops::mlir::number;
use smallvec::SmallVec;

use crate::tensor::{Element, Kind, Name, Tensor};

/// Functions that put any number of values together, in any order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
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
    fn op(self) -> &'static str {
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

/// Some axes of a tensor.
pub(crate) type Axes = SmallVec<[u32; 6]>;

/// Some axes, given by their places.
pub(crate) fn axes(places: impl IntoIterator<Item = usize>) -> Axes {
    places.into_iter().map(|place| place as u32).collect()
}

/// A number in every element of a constant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Literal {
    Integer(i64),
    /// The bits of a float of 64 bits, which the type of the constant holds exactly.
    Float(u64),
}

/// A window that moves along an axis.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
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

/// The axes of two factors that are paired, and the precision of their products.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Pairs {
    pub batch: (Axes, Axes),
    pub summed: (Axes, Axes),
    pub precision: &'static str,
}

/// The axes of a tensor on which elements are looked up.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Lookup {
    /// The axes that have positions.
    pub sought: Axes,
    /// Axes that go along an axis of the positions, each with that.
    pub batches: SmallVec<[(u32, u32); 2]>,
}

/// An action of an operation on its operands.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Op {
    Constant(Literal),
    Iota(u32),
    /// An operation of StableHLO on each element of tensors of one type.
    Each(&'static str),
    /// A function of each element in the dialect `chlo`.
    Library(&'static str),
    Polygamma,
    Compare(&'static str),
    Select,
    Barrier,
    Convert,
    ReducePrecision {
        exponent: u32,
        mantissa: u32,
    },
    Broadcast(Axes),
    Transpose(Axes),
    Reshape,
    Slice(Box<[Span]>),
    Reverse(Axes),
    /// The numbers of elements before and after each axis.
    Pad(Box<[(u64, u64)]>),
    Concatenate(u32),
    Reduce(Monoid, Axes),
    DynamicSlice,
    DynamicUpdateSlice,
    DotGeneral(Box<Pairs>),
    Gather(Box<Lookup>, Axes),
    /// Elements that are put together, or replaced; true if no two updates are for one element.
    Scatter(Box<Lookup>, Option<Monoid>, bool),
    ReduceWindow(Monoid, Box<[Window]>),
    Convolution {
        windows: Box<[Window]>,
        groups: u64,
        precision: &'static str,
    },
    Call(Rc<str>),
    /// A division over devices, as an attribute of Shardy.
    Constraint(Rc<str>),
}

/// An operation: it is equal to another one if their texts would be.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Operation {
    pub op: Op,
    pub operands: SmallVec<[Name; 3]>,
    /// The place of the type of its result.
    pub result: u32,
}

/// The lines of a function, and the names of its arguments.
#[derive(Default)]
pub(crate) struct Lines {
    pub text: String,
    pub given: Vec<String>,
}

impl Lines {
    pub fn word(&mut self, text: &str) -> &mut Lines {
        self.text.push_str(text);
        self
    }

    /// A number in decimal digits. (The formatting of the standard library takes several times as long, and this is half of what is
    /// written.)
    pub fn number(&mut self, number: impl Into<u64>) -> &mut Lines {
        let (mut digits, mut at, mut rest) = ([0; 20], 20, number.into());
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        // Digits are text.
        self.word(std::str::from_utf8(&digits[at..]).unwrap_or_default())
    }

    fn signed(&mut self, number: i64) -> &mut Lines {
        if number < 0 {
            self.word("-");
        }
        self.number(number.unsigned_abs())
    }

    pub fn name(&mut self, name: Name) -> &mut Lines {
        match name {
            Name::Given(at) => {
                self.text.push_str(self.given.get(at as usize).map_or("", String::as_str));
                self
            }
            Name::Result(number) => self.word("%").number(number),
            Name::Part(number, part) => self.word("%").number(number).word("#").number(part),
        }
    }

    /// Items with commas between them.
    pub fn list<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        mut each: impl FnMut(&mut Lines, T),
    ) -> &mut Lines {
        for (at, item) in items.into_iter().enumerate() {
            if at > 0 {
                self.word(", ");
            }
            each(self, item);
        }
        self
    }

    pub fn names<'t>(&mut self, tensors: impl IntoIterator<Item = &'t Tensor>) -> &mut Lines {
        self.list(tensors, |lines, tensor| {
            lines.name(tensor.name);
        })
    }

    pub fn types<'t>(&mut self, tensors: impl IntoIterator<Item = &'t Tensor>) -> &mut Lines {
        self.list(tensors, |lines, tensor| {
            lines.word(tensor.text());
        })
    }

    fn numbers(&mut self, numbers: impl IntoIterator<Item = u64>) -> &mut Lines {
        self.list(numbers, |lines, number| {
            lines.number(number);
        })
    }

    fn axes(&mut self, axes: &[u32]) -> &mut Lines {
        self.list(axes, |lines, axis| {
            lines.number(*axis);
        })
    }

    /// Numbers as an attribute.
    fn array(&mut self, numbers: impl IntoIterator<Item = u64>) -> &mut Lines {
        let mut numbers = numbers.into_iter().peekable();
        self.word(if numbers.peek().is_some() { "array<i64: " } else { "array<i64" });
        self.numbers(numbers).word(">")
    }

    /// The type of an operation that has been written so far.
    fn function_type(&mut self, operands: &[&Tensor], result: &Kind) {
        self.word(" : (").types(operands.iter().copied()).word(") -> ").word(result.text());
    }

    /// A region that puts two values together; without a function, it takes the second.
    fn region(&mut self, monoid: Option<Monoid>, of: Element) -> &mut Lines {
        let of = of.text();
        self.word("({ ^bb0(%$a: tensor<").word(of).word(">, %$b: tensor<").word(of).word(">): ");
        let made = match monoid {
            None => "%$b",
            Some(monoid) => {
                self.word("%$c = ").word(monoid.op()).word(" %$a, %$b : tensor<").word(of).word("> ");
                "%$c"
            }
        };
        self.word("stablehlo.return ").word(made).word(" : tensor<").word(of).word("> })")
    }

    /// An operation, without the name of its result.
    pub fn operation(&mut self, op: &Op, operands: &[&Tensor], result: &Kind) {
        match op {
            Op::Constant(literal) => {
                self.word("stablehlo.constant dense<").literal(*literal, result.of).word("> : ");
                self.word(result.text());
            }
            Op::Iota(axis) => {
                self.word("stablehlo.iota dim = ").number(*axis).word(" : ").word(result.text());
            }
            Op::Each(name) => self.on_elements("stablehlo.", name, operands),
            Op::Library(name) => {
                self.on_elements("chlo.", name, operands);
                self.word(" -> ").word(result.text());
            }
            Op::Polygamma => {
                self.word("chlo.polygamma ").names(operands.iter().copied()).word(" : ");
                self.types(operands.iter().copied()).word(" -> ").word(result.text());
            }
            Op::Compare(direction) => {
                self.word("stablehlo.compare ").word(direction).word(", ").names(operands.iter().copied());
                self.word(", ").word(operands[0].of.comparison()).function_type(operands, result);
            }
            Op::Select => {
                self.word("stablehlo.select ").names(operands.iter().copied()).word(" : ");
                self.types(operands[..2].iter().copied());
            }
            Op::Barrier => self.on_elements("stablehlo.", "optimization_barrier", operands),
            Op::Constraint(sharding) => {
                self.word("sdy.sharding_constraint ").name(operands[0].name).word(" ").word(sharding);
                self.word(" : ").word(result.text());
            }
            Op::ReducePrecision { exponent, mantissa } => {
                self.word("stablehlo.reduce_precision ").name(operands[0].name).word(", format = e");
                self.number(*exponent).word("m").number(*mantissa).word(" : ").word(result.text());
            }
            Op::Reverse(axes) => {
                self.word("stablehlo.reverse ").name(operands[0].name).word(", dims = [").axes(axes);
                self.word("] : ").word(result.text());
            }
            _ => {
                self.with_function_type(op, operands, result);
                self.function_type(operands, result);
            }
        }
    }

    fn literal(&mut self, literal: Literal, of: Element) -> &mut Lines {
        match (literal, of) {
            (Literal::Integer(value), Element::Of(broadloom_loops::Dtype::Bool)) => {
                self.word(if value == 0 { "false" } else { "true" })
            }
            (Literal::Integer(value), _) => self.signed(value),
            (Literal::Float(bits), Element::Of(dtype)) => self.word(&number(dtype, f64::from_bits(bits))),
            (Literal::Float(bits), Element::U32) => self.number(f64::from_bits(bits) as u32),
        }
    }

    fn on_elements(&mut self, dialect: &str, name: &str, operands: &[&Tensor]) {
        self.word(dialect).word(name).word(" ").names(operands.iter().copied());
        self.word(" : ").word(operands[0].text());
    }

    /// An operation before its type, which says the types of all operands and of the result.
    fn with_function_type(&mut self, op: &Op, operands: &[&Tensor], result: &Kind) {
        let all = || operands.iter().copied();
        match op {
            Op::Convert => self.word("stablehlo.convert ").names(all()),
            Op::Reshape => self.word("stablehlo.reshape ").names(all()),
            Op::Broadcast(axes) => {
                self.word("stablehlo.broadcast_in_dim ").names(all()).word(", dims = [").axes(axes).word("]")
            }
            Op::Transpose(axes) => {
                self.word("stablehlo.transpose ").names(all()).word(", dims = [").axes(axes).word("]")
            }
            Op::Slice(spans) => {
                self.word("stablehlo.slice ").names(all()).word(" [").list(spans, Lines::span).word("]")
            }
            Op::Pad(pads) => {
                self.word("stablehlo.pad ").names(all()).word(", low = [");
                self.numbers(pads.iter().map(|pad| pad.0)).word("], high = [");
                self.numbers(pads.iter().map(|pad| pad.1)).word("], interior = [");
                self.numbers(pads.iter().map(|_| 0)).word("]")
            }
            Op::Concatenate(axis) => {
                self.word("stablehlo.concatenate ").names(all()).word(", dim = ").number(*axis)
            }
            Op::Reduce(monoid, axes) => {
                self.word("stablehlo.reduce(").name(operands[0].name).word(" init: ").name(operands[1].name);
                self.word(") applies ").word(monoid.op()).word(" across dimensions = [").axes(axes).word("]")
            }
            Op::DynamicSlice => {
                self.word("stablehlo.dynamic_slice ").names(all()).word(", sizes = [");
                self.numbers(result.sizes.iter().copied()).word("]")
            }
            Op::DynamicUpdateSlice => self.word("stablehlo.dynamic_update_slice ").names(all()),
            Op::Call(name) => self.word("func.call @").word(name).word("(").names(all()).word(")"),
            Op::DotGeneral(pairs) => self.dot_general(pairs, operands),
            Op::Gather(lookup, offsets) => self.gather(lookup, offsets, operands),
            Op::Scatter(lookup, monoid, unique) => self.scatter(lookup, (*monoid, *unique), operands),
            Op::ReduceWindow(monoid, windows) => self.reduce_window(*monoid, windows, operands),
            Op::Convolution { windows, groups, precision } => {
                self.convolution(windows, (*groups, precision), operands)
            }
            // The others have another type.
            _ => self,
        };
    }

    fn span(&mut self, (start, end, step): &Span) {
        self.number(*start).word(":").number(*end);
        if *step != 1 {
            self.word(":").number(*step);
        }
    }

    fn dot_general(&mut self, pairs: &Pairs, operands: &[&Tensor]) -> &mut Lines {
        let Pairs { batch, summed, precision } = pairs;
        self.word("stablehlo.dot_general ").names(operands.iter().copied()).word(", ");
        if !batch.0.is_empty() {
            self.word("batching_dims = [").axes(&batch.0).word("] x [").axes(&batch.1).word("], ");
        }
        self.word("contracting_dims = [").axes(&summed.0).word("] x [").axes(&summed.1);
        self.word("], precision = [").word(precision).word(", ").word(precision).word("]")
    }

    /// The axes of batches and the axes of positions along which they go, by their names, if there are any.
    fn batches(&mut self, [axes, points]: [&str; 2], lookup: &Lookup) -> &mut Lines {
        if lookup.batches.is_empty() {
            return self;
        }
        let batches = &lookup.batches;
        self.word(axes)
            .word(" = [")
            .list(batches, |lines, each| {
                lines.number(each.0);
            })
            .word("], ");
        self.word(points)
            .word(" = [")
            .list(batches, |lines, each| {
                lines.number(each.1);
            })
            .word("], ")
    }

    fn gather(&mut self, lookup: &Lookup, offsets: &Axes, operands: &[&Tensor]) -> &mut Lines {
        let (a, points) = (operands[0], operands[1].rank() - 1);
        let is_one = |axis: u32| {
            lookup.sought.contains(&axis) || lookup.batches.iter().any(|(batch, _)| *batch == axis)
        };
        self.word("\"stablehlo.gather\"(").names(operands.iter().copied());
        self.word(") <{dimension_numbers = #stablehlo.gather<offset_dims = [").axes(offsets);
        self.word("], collapsed_slice_dims = [").axes(&lookup.sought).word("], ");
        self.batches(["operand_batching_dims", "start_indices_batching_dims"], lookup);
        self.word("start_index_map = [").axes(&lookup.sought).word("], index_vector_dim = ");
        self.number(points as u64).word(">, indices_are_sorted = false, slice_sizes = ");
        let slice = |(axis, size): (u32, &u64)| if is_one(axis) { 1 } else { *size };
        self.array((0..).zip(&a.sizes).map(slice)).word("}>")
    }

    fn scatter(
        &mut self,
        lookup: &Lookup,
        (monoid, is_unique): (Option<Monoid>, bool),
        operands: &[&Tensor],
    ) -> &mut Lines {
        let (points, updates) = (operands[1].rank() - 1, operands[2]);
        self.word("\"stablehlo.scatter\"(").names(operands.iter().copied());
        self.word(") <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [");
        self.numbers((points..updates.rank()).map(|axis| axis as u64)).word("], inserted_window_dims = [");
        self.axes(&lookup.sought).word("], ");
        self.batches(["input_batching_dims", "scatter_indices_batching_dims"], lookup);
        self.word("scatter_dims_to_operand_dims = [").axes(&lookup.sought).word("], index_vector_dim = ");
        self.number(points as u64).word(">, unique_indices = ");
        self.word(if is_unique { "true" } else { "false" }).word("}> ").region(monoid, operands[0].of)
    }

    fn reduce_window(&mut self, monoid: Monoid, windows: &[Window], operands: &[&Tensor]) -> &mut Lines {
        self.word("\"stablehlo.reduce_window\"(").names(operands.iter().copied());
        self.word(") <{window_dimensions = ").array(windows.iter().map(|window| window.size));
        self.word(", window_strides = ").array(windows.iter().map(|window| window.stride));
        self.word(", window_dilations = ").array(windows.iter().map(|window| window.dilation));
        self.word(", padding = dense<[").list(windows, Lines::pad).word("]> : tensor<");
        self.number(operands[0].rank() as u64).word("x2xi64>}> ").region(Some(monoid), operands[0].of)
    }

    fn pad(&mut self, window: &Window) {
        self.word("[").signed(window.pad.0).word(", ").signed(window.pad.1).word("]");
    }

    fn convolution(
        &mut self,
        windows: &[Window],
        (groups, precision): (u64, &str),
        operands: &[&Tensor],
    ) -> &mut Lines {
        let space = windows.len() as u64;
        let labels = |lines: &mut Lines, first: &[&str], last: &[&str]| {
            lines.word("[").list(first, |lines, label| {
                lines.word(label);
            });
            for axis in 0..space {
                lines.word(if axis > 0 || !first.is_empty() { ", " } else { "" }).number(axis);
            }
            for (at, label) in last.iter().enumerate() {
                lines.word(if at > 0 || space > 0 { ", " } else { "" }).word(label);
            }
            lines.word("]");
        };
        self.word("stablehlo.convolution(").names(operands.iter().copied()).word(") dim_numbers = ");
        labels(self, &["b", "f"], &[]);
        self.word("x");
        labels(self, &[], &["i", "o"]);
        self.word("->");
        labels(self, &["b", "f"], &[]);
        self.word(", window = {stride = [").numbers(windows.iter().map(|window| window.stride));
        self.word("], pad = [").list(windows, Lines::pad);
        self.word("], lhs_dilate = [").numbers(windows.iter().map(|window| window.spread));
        self.word("], rhs_dilate = [").numbers(windows.iter().map(|window| window.dilation));
        self.word("], reverse = [").list(windows, |lines, _| {
            lines.word("false");
        });
        self.word("]} {batch_group_count = 1 : i64, feature_group_count = ").number(groups);
        self.word(" : i64, precision_config = [#stablehlo<precision ").word(precision);
        self.word(">, #stablehlo<precision ").word(precision).word(">]}")
    }
}
