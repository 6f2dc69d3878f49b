//! Specs and shapes as a graph takes them: text that is written by hand, or a tree that a program built or read.

use std::sync::Arc;

use broadloom_spec::{AxisId, Span, Spec, SpecNode, WrittenShape, WrittenSpec};
use rustc_hash::FxHashMap;

/// A spec: its text, or its tree, which is used directly, without printing and parsing.
///
/// ```
/// use broadloom::{Graph, Notation, spec};
/// let mut g = Graph::new();
/// let x = g.data("x", "2, 3")?;
/// let mut build = spec::Builder::new();
/// let (i, j) = (build.label("i"), build.label("j"));
/// let of = |axes: Vec<spec::Axis>| spec::Shape::new(None, None, spec::Row::closed(axes));
/// let swapped = build.finish(vec![of(vec![i.clone(), j.clone()])], vec![of(vec![j, i])]).expect("a spec");
/// let built = g.einsum(&swapped, &[x])?;
/// let written = g.einsum("i j => j i", &[x])?;
/// assert_eq!(g.final_shape(built)?.to_string(), "3, 2");
/// assert_eq!(g.final_shape(written)?.to_string(), "3, 2");
/// let rows = g.einsum(Notation::Over("..., j"), &[x])?;
/// assert_eq!(g.final_shape(rows)?.to_string(), "2, _");
/// # Ok::<(), broadloom::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Notation<'s> {
    /// As it is written.
    Text(&'s str),
    /// As it is built.
    Tree(&'s Spec),
    /// As somebody has read it already: the tree is used, and messages quote the text.
    Read(&'s WrittenSpec),
    /// The shape of one operand, whose names are accumulated over.
    Over(&'s str),
}

impl Notation<'_> {
    /// The number of results that it mentions, even if it is not well written.
    ///
    /// ```
    /// use broadloom::Notation;
    /// assert_eq!(Notation::from("a^b => a; b").results(), 2);
    /// assert_eq!(Notation::from("a^ => a; b").results(), 2);
    /// ```
    pub fn results(&self) -> usize {
        match self {
            Notation::Text(text) => broadloom_spec::count_results(text),
            Notation::Tree(tree) => tree.results.len(),
            Notation::Read(read) => read.spec().results.len(),
            Notation::Over(_) => 1,
        }
    }
}

/// Conversions of texts to a notation. References to texts convert too, because callers elsewhere rely on deref coercion for them.
macro_rules! from_texts {
    ($($notation:ident: $($text:ty),+;)*) => {$($(
        impl<'s> From<&'s $text> for $notation<'s> {
            fn from(text: &'s $text) -> $notation<'s> {
                $notation::Text(text)
            }
        }
    )+)*};
}

from_texts! {
    Notation: str, &str, Box<str>, String;
    DeclaredShape: str, &str, Box<str>, String;
}

impl<'s> From<&'s Spec> for Notation<'s> {
    fn from(tree: &'s Spec) -> Notation<'s> {
        Notation::Tree(tree)
    }
}

impl<'s> From<&'s WrittenSpec> for Notation<'s> {
    fn from(read: &'s WrittenSpec) -> Notation<'s> {
        Notation::Read(read)
    }
}

/// A declared shape: its text, or a tree that a program built or read, which is used directly.
///
/// ```
/// use broadloom::{Graph, spec};
/// let mut g = Graph::new();
/// let shape = spec::ShapeBuilder::new().size(32).bar().size(28).size(28).finish();
/// let (built, written) = (g.data("built", &shape)?, g.data("written", "32 | 28, 28")?);
/// assert_eq!(g.final_shape(built)?, g.final_shape(written)?);
/// # Ok::<(), broadloom::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum DeclaredShape<'s> {
    /// As it is written.
    Text(&'s str),
    /// As somebody has built or read it already: the tree is used, and messages quote the text.
    Tree(&'s WrittenShape),
}

impl<'s> From<&'s WrittenShape> for DeclaredShape<'s> {
    fn from(shape: &'s WrittenShape) -> DeclaredShape<'s> {
        DeclaredShape::Tree(shape)
    }
}

/// Specs by their text, so that each is parsed once.
#[derive(Clone, Default)]
pub(crate) struct Specs {
    /// By their texts: specs as they are written, and those that [keep](Spec::keeps) units.
    pub by_text: [FxHashMap<Box<str>, u32>; 2],
    /// By the shape whose names they accumulate over.
    pub over: FxHashMap<Box<str>, u32>,
    pub all: Vec<Arc<KnownSpec>>,
}

impl Specs {
    pub fn get(&self, known: u32) -> &KnownSpec {
        &self.all[known as usize]
    }
}

/// A spec and what follows from its text alone.
pub(crate) struct KnownSpec {
    pub text: Box<str>,
    pub spec: Spec,
    /// Marks the labels that may have size zero.
    pub discardable: Vec<bool>,
    /// The labels that only composed axes of results have: they repeat elements as often as their size says.
    pub repeating: Vec<AxisId>,
}

impl KnownSpec {
    /// A part of the spec as it was written, or as it prints if it was built.
    pub(crate) fn written(&self, part: &impl SpecNode, span: Span) -> String {
        match span == Span::default() {
            true => self.spec.show(part).to_string(),
            false => span.slice(&self.text).trim().to_string(),
        }
    }
}
