//! Tensors of a module: a name with its sizes and its type of elements.

use broadloom_loops::Dtype;
use broadloom_loops::mlir::element;

/// The type of an element.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Element {
    /// A word of random bits.
    U32,
    /// A number, or a condition.
    Of(Dtype),
}

impl Element {
    pub const BOOL: Element = Element::Of(Dtype::Bool);
    pub const I32: Element = Element::Of(Dtype::I32);
    pub const I64: Element = Element::Of(Dtype::I64);
    pub const F32: Element = Element::Of(Dtype::F32);
    pub const F64: Element = Element::Of(Dtype::F64);
    pub const BF16: Element = Element::Of(Dtype::Bf16);

    /// True for floats of 16 bits.
    pub fn is_short_float(self) -> bool {
        matches!(self, Element::Of(Dtype::Bf16 | Dtype::F16))
    }

    /// Its name in MLIR.
    pub fn text(self) -> &'static str {
        match self {
            Element::U32 => "ui32",
            Element::Of(Dtype::U8) => "ui8",
            Element::Of(dtype) => element(dtype),
        }
    }

    /// The word that `stablehlo.compare` has for comparisons of such elements.
    pub fn comparison(self) -> &'static str {
        match self {
            Element::Of(dtype) if dtype.is_float() => "FLOAT",
            Element::U32 | Element::Of(Dtype::Bool | Dtype::U8) => "UNSIGNED",
            Element::Of(_) => "SIGNED",
        }
    }
}

/// A value of the function that is being written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Tensor {
    /// Its name, with its sign.
    pub name: String,
    pub sizes: Vec<u64>,
    pub of: Element,
}

impl Tensor {
    /// Its type: `tensor<4x2xf32>`.
    pub fn text(&self) -> String {
        tensor_text(&self.sizes, self.of)
    }

    /// The number of its axes.
    pub fn rank(&self) -> usize {
        self.sizes.len()
    }
}

/// A type of tensors: `tensor<4x2xf32>`.
pub(crate) fn tensor_text(sizes: &[u64], of: Element) -> String {
    use std::fmt::Write as _;
    let mut text = String::from("tensor<");
    for size in sizes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{size}x");
    }
    text.push_str(of.text());
    text.push('>');
    text
}
