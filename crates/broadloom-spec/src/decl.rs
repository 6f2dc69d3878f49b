//! The syntax tree of a shape declaration: `32 | 784 -> 10`, `28, 28, 3:rgb`, `..., n`.
//!
//! Each axis may have a name, a size, both or neither:
//!
//! | written | name | size |
//! |---|---|---|
//! | `28` | – | 28 |
//! | `3:rgb` | – | 3, of the basis `rgb` |
//! | `n` | `n` | inferred; the same wherever `n` is |
//! | `n=28`, `c=3:rgb` | `n`, `c` | 28; 3 of the basis `rgb` |
//! | `_` | – | inferred |
//!
//! Rows may have a hole as in a spec. A row that is not written is empty, as in a spec; an
//! operation that reads an omitted row otherwise (for instance as "infer it") can distinguish the
//! two in the tree.

use crate::names::{AxisId, BasisId, SpecNames};
use crate::span::Span;
use crate::tree::Shape;
use std::num::NonZeroU64;

/// A shape declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShapeDecl {
    /// The names that occur.
    pub names: SpecNames,
    /// The rows.
    pub shape: Shape<DeclAxis>,
}

impl ShapeDecl {
    /// Erases all positions, so that declarations written differently can be compared.
    pub fn without_spans(mut self) -> ShapeDecl {
        self.names.erase_spans();
        self.shape.erase_spans(|axis| axis.span = Span::default());
        self
    }
}

/// An axis of a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeclAxis {
    /// Its name, if it has one.
    pub name: Option<AxisId>,
    /// Its size, if it is known.
    pub size: Option<Size>,
    /// Its place in the text.
    pub span: Span,
}

/// The size of an axis, and its basis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Size {
    /// The number of elements.
    pub size: NonZeroU64,
    /// The basis; `None` for the default basis, written `3` or `3:default`.
    pub basis: Option<BasisId>,
}
