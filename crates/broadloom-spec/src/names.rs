//! The names of a spec, each stored once and then represented by a small number.
//!
//! There is one table per kind of name, so the type of an id shows the kind: an axis, a row, a
//! coefficient or a basis. Ids count up from zero in the order of first use, which lets a consumer
//! keep one variable per name in a plain vector. No name is both an axis, a row and a coefficient:
//! the parser refuses that.
//!
//! In `s*oh+kh, ..ic.. => oh, ..ic..` the axes are `oh` (0) and `kh` (1), the row is `ic` (0) and the
//! coefficient is `s` (0).

use crate::span::Span;
use std::collections::HashMap;
use std::marker::PhantomData;

/// An id of a name: an index into its [`Table`].
pub trait NameId: Copy {
    /// The id with this index.
    fn new(index: u32) -> Self;
    /// The index of this id.
    fn index(self) -> usize;
}

macro_rules! name_ids {
    ($($(#[$doc:meta])* $id:ident,)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $id(pub u32);

        impl NameId for $id {
            fn new(index: u32) -> Self {
                $id(index)
            }

            fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

name_ids! {
    /// A label of an axis, such as `i` in `ij => ji`.
    AxisId,
    /// A named row variable, such as `r` in `..r.. => ..r..`.
    RowId,
    /// A stride or dilation given by name, such as `s` in `s*o => o,`; the user of the spec
    /// supplies its value.
    CoefficientId,
    /// A basis, such as `rgb` in `3:rgb`. The basis `default` has no id: it is the absence of one.
    BasisId,
}

/// One name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// Its spelling, without dots.
    pub text: Box<str>,
    /// The place where it is used first.
    pub first_use: Span,
}

/// The names of one kind in order of first use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table<I> {
    entries: Vec<Name>,
    /// The index of each name, once there are many.
    places: HashMap<Box<str>, u32>,
    ids: PhantomData<I>,
}

/// So many names are found sooner by looking at them all.
const FEW: usize = 16;

impl<I> Default for Table<I> {
    fn default() -> Table<I> {
        Table { entries: Vec::new(), places: HashMap::new(), ids: PhantomData }
    }
}

impl<I: NameId> Table<I> {
    /// The number of names.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if there are no names.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entry of a name of this table.
    pub fn get(&self, id: I) -> &Name {
        &self.entries[id.index()]
    }

    /// The spelling of a name of this table.
    pub fn text(&self, id: I) -> &str {
        &self.entries[id.index()].text
    }

    /// The name spelled `text`.
    ///
    /// ```
    /// let spec = broadloom_spec::parse_spec("i, ..r.. => ..r..").unwrap();
    /// assert_eq!(spec.names.axes.find("i"), Some(broadloom_spec::AxisId(0)));
    /// assert_eq!(spec.names.axes.find("r"), None);
    /// ```
    pub fn find(&self, text: &str) -> Option<I> {
        if self.entries.len() > FEW {
            return self.places.get(text).map(|place| I::new(*place));
        }
        let index = self.entries.iter().position(|name| &*name.text == text)?;
        Some(I::new(index as u32))
    }

    /// All names in order of first use.
    pub fn iter(&self) -> impl Iterator<Item = (I, &Name)> {
        self.entries.iter().enumerate().map(|(index, name)| (I::new(index as u32), name))
    }

    /// The name spelled `text`, entered with `first_use` if it is new.
    pub(crate) fn intern(&mut self, text: &str, first_use: Span) -> I {
        self.find(text).unwrap_or_else(|| {
            self.entries.push(Name { text: text.into(), first_use });
            let unlisted = if self.entries.len() > FEW { self.places.len() } else { self.entries.len() };
            for (place, name) in (0..).zip(&self.entries).skip(unlisted) {
                self.places.insert(Box::from(&*name.text), place);
            }
            I::new(self.entries.len() as u32 - 1)
        })
    }

    fn erase_spans(&mut self) {
        self.entries.iter_mut().for_each(|name| name.first_use = Span::default());
    }
}

/// All names of a spec or a declaration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpecNames {
    /// Labels of axes.
    pub axes: Table<AxisId>,
    /// Row variables written `..name..`; the plain `...` is not among them.
    pub rows: Table<RowId>,
    /// Strides and dilations given by name; none in a declaration.
    pub coefficients: Table<CoefficientId>,
    /// Bases of sizes; none in a spec.
    pub bases: Table<BasisId>,
}

impl SpecNames {
    pub(crate) fn erase_spans(&mut self) {
        self.axes.erase_spans();
        self.rows.erase_spans();
        self.coefficients.erase_spans();
        self.bases.erase_spans();
    }
}
