//! Tensors of a module: a name with the sizes and the type of elements.

use std::ops::Deref;
use std::rc::Rc;

use broadloom_loops::Dtype;
use broadloom_loops::mlir::element;
use rustc_hash::FxHashMap;

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

/// The name of a value of a function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Name {
    /// An argument, by its place among the names that were given.
    Given(u32),
    /// The result of an operation: `%7`.
    Result(u32),
    /// One of several results of an operation: `%7#1`.
    Part(u32, u32),
}

/// A type of tensors, which all tensors that have it share.
#[derive(Debug)]
pub(crate) struct Kind {
    pub sizes: Vec<u64>,
    pub of: Element,
    /// Its place among the types of the function.
    pub place: u32,
    /// Its text: `tensor<4x2xf32>`.
    text: String,
}

impl Kind {
    /// Its text: `tensor<4x2xf32>`.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The number of its axes.
    pub fn rank(&self) -> usize {
        self.sizes.len()
    }
}

/// A value of the function that is being written. It has the sizes and the elements of its type.
#[derive(Clone, Debug)]
pub(crate) struct Tensor {
    pub name: Name,
    pub kind: Rc<Kind>,
}

impl Deref for Tensor {
    type Target = Kind;

    fn deref(&self) -> &Kind {
        &self.kind
    }
}

/// The types of a function, each of which is there once.
#[derive(Default)]
pub(crate) struct Kinds {
    known: FxHashMap<Box<[u64]>, Vec<Rc<Kind>>>,
    count: u32,
}

impl Kinds {
    /// The type of tensors with some sizes and elements.
    pub fn of(&mut self, sizes: &[u64], of: Element) -> Rc<Kind> {
        let alike = self.known.get(sizes).map_or(&[][..], Vec::as_slice);
        if let Some(known) = alike.iter().find(|kind| kind.of == of) {
            return Rc::clone(known);
        }
        let made =
            Rc::new(Kind { sizes: sizes.to_vec(), of, place: self.count, text: tensor_text(sizes, of) });
        self.count += 1;
        self.known.entry(sizes.into()).or_default().push(Rc::clone(&made));
        made
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
