//! The requirements of an annotation: an array, one of several, a tuple, a list or a mapping of them.

use super::array::{self, Array, ArrayType, Elements};
use super::matching::{MatchedSizes, Misfit, Outcome};
use super::pattern::Pattern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PySequence, PySet, PyString, PyTuple};
use std::sync::atomic::AtomicUsize;

/// An annotation that mentions arrays.
pub enum Want {
    /// The array of a slot.
    Array(usize),
    /// Nothing, or what is wanted.
    Optional(Box<Want>),
    /// The first of these that fits.
    Union(Vec<Want>),
    /// A tuple of exactly these.
    Tuple(Vec<Want>),
    /// A list, tuple or set, each of whose elements is wanted.
    Many(Box<Want>),
    /// A mapping, each of whose values is wanted.
    Mapping(Box<Want>),
    /// An array as it is wanted, or something that is no array, such as an instance of these types.
    OrOther(Box<Want>, Py<PyAny>),
}

/// One annotated array.
pub struct Slot {
    /// The argument, or `result`.
    pub argument: String,
    /// The text of the annotation.
    pub text: String,
    /// The shape.
    pub pattern: Pattern,
    /// The elements.
    pub elements: Elements,
    /// The type of the array, if one is stated.
    pub array_type: Option<ArrayType>,
    /// The address of the last element type that was right: the same one need not be looked up.
    pub last_dtype: AtomicUsize,
}

/// A value that does not fit.
pub struct Failure {
    /// The array that was wanted.
    pub slot: usize,
    /// The way from the argument to the value: `[2]`.
    pub path: String,
    /// The value.
    pub value: Py<PyAny>,
    /// The reason.
    pub reason: Reason,
    /// The other arrays that a union would have taken.
    pub others: Vec<usize>,
}

/// The reason why a value does not fit.
pub enum Reason {
    Shape(Misfit),
    Elements,
    Type,
    Length(usize),
}

type Checked = Result<(), Box<Failure>>;

impl Want {
    /// Compares a value with the annotation.
    pub fn check(&self, slots: &[Slot], value: &Bound<'_, PyAny>, found: &mut MatchedSizes) -> Checked {
        match self {
            Want::Array(slot) => check_array(slots, *slot, value, found),
            Want::Optional(_) if value.is_none() => Ok(()),
            Want::Optional(want) => want.check(slots, value, found),
            Want::Union(wants) => one_of(wants, slots, value, found),
            Want::OrOther(want, types) => {
                let mut tried = found.clone();
                match want.check(slots, value, &mut tried) {
                    Ok(()) => *found = tried,
                    // A type checker looks after the other alternatives: here it matters that no array slips through.
                    Err(_) if is_other(value, types) => {}
                    Err(failure) => return Err(failure),
                }
                Ok(())
            }
            Want::Tuple(wants) => match value.cast::<PyTuple>() {
                Ok(tuple) if tuple.len() == wants.len() => each(
                    wants
                        .iter()
                        .zip(tuple.iter())
                        .enumerate()
                        .map(|(at, (want, value))| (format!("[{at}]"), want, value)),
                    slots,
                    found,
                ),
                Ok(tuple) => Err(self.failure(value, Reason::Length(tuple.len()))),
                Err(_) => Err(self.failure(value, Reason::Type)),
            },
            Want::Many(want) => match elements_of(value) {
                Ok(items) => each(
                    items.enumerate().map(|(at, value)| (format!("[{at}]"), &**want, value)),
                    slots,
                    found,
                ),
                Err(_) => Err(self.failure(value, Reason::Type)),
            },
            Want::Mapping(want) => match value.cast::<PyDict>() {
                Ok(items) => {
                    let shown =
                        |key: Bound<'_, PyAny>| key.repr().map_or("…".to_owned(), |repr| repr.to_string());
                    each(
                        items.iter().map(|(key, value)| (format!("[{}]", shown(key)), &**want, value)),
                        slots,
                        found,
                    )
                }
                Err(_) => Err(self.failure(value, Reason::Type)),
            },
        }
    }

    fn failure(&self, value: &Bound<'_, PyAny>, reason: Reason) -> Box<Failure> {
        Box::new(Failure {
            slot: self.first_slot(),
            path: String::new(),
            value: value.clone().unbind(),
            reason,
            others: Vec::new(),
        })
    }

    fn first_slot(&self) -> usize {
        match self {
            Want::Array(slot) => *slot,
            Want::Optional(want) | Want::Many(want) | Want::Mapping(want) | Want::OrOther(want, _) => {
                want.first_slot()
            }
            Want::Union(wants) | Want::Tuple(wants) => wants.first().map_or(0, Want::first_slot),
        }
    }
}

/// Checks one value after another; a failure says which it was.
fn each<'a, 'py>(
    items: impl Iterator<Item = (String, &'a Want, Bound<'py, PyAny>)>,
    slots: &[Slot],
    found: &mut MatchedSizes,
) -> Checked {
    for (place, want, value) in items {
        want.check(slots, &value, found).map_err(|mut failure| {
            failure.path = format!("{place}{}", failure.path);
            failure
        })?;
    }
    Ok(())
}

/// Takes the first annotation that fits; what the others found is forgotten.
fn one_of(wants: &[Want], slots: &[Slot], value: &Bound<'_, PyAny>, found: &mut MatchedSizes) -> Checked {
    let mut first: Option<Box<Failure>> = None;
    for want in wants {
        let mut tried = found.clone();
        match want.check(slots, value, &mut tried) {
            Ok(()) => {
                *found = tried;
                return Ok(());
            }
            Err(failure) => match &mut first {
                Some(first) => first.others.push(failure.slot),
                None => first = Some(failure),
            },
        }
    }
    first.map_or(Ok(()), Err)
}

/// Returns true for what is no array and has none in it, and for instances of some types. An array without axes is a number as well.
fn is_other(value: &Bound<'_, PyAny>, types: &Py<PyAny>) -> bool {
    if let Some(Array { shape, .. }) = Array::read(value, false) {
        return value.is_instance(types.bind(value.py())).unwrap_or(false) || shape.is_empty();
    }
    match elements_of(value) {
        Ok(mut items) if value.cast::<PyString>().is_err() => {
            !items.any(|item| Array::read(&item, false).is_some_and(|array| !array.shape.is_empty()))
        }
        _ => true,
    }
}

/// The elements of a list, a tuple or a set; an iterator is left alone, since reading it would use it up.
fn elements_of<'py>(value: &Bound<'py, PyAny>) -> Result<impl Iterator<Item = Bound<'py, PyAny>>, ()> {
    let is_collection = value.cast::<PySequence>().is_ok() || value.cast::<PySet>().is_ok();
    match (is_collection, value.try_iter()) {
        (true, Ok(items)) => Ok(items.flatten()),
        _ => Err(()),
    }
}

fn check_array(slots: &[Slot], index: usize, value: &Bound<'_, PyAny>, found: &mut MatchedSizes) -> Checked {
    let slot = &slots[index];
    let failure = |reason| {
        let value = value.clone().unbind();
        Box::new(Failure { slot: index, path: String::new(), value, reason, others: Vec::new() })
    };
    let is_type = match &slot.array_type {
        Some(kind) => kind.holds(value).unwrap_or(false),
        None => true,
    };
    if !is_type {
        return Err(failure(Reason::Type));
    }
    let Some(Array { shape, dtype }) = Array::read(value, slot.elements != Elements::Any) else {
        return Err(failure(Reason::Type));
    };
    if slot.elements != Elements::Any
        && !dtype.is_some_and(|dtype| array::is_kind(&dtype, slot.elements, &slot.last_dtype))
    {
        return Err(failure(Reason::Elements));
    }
    match found.fit(&slot.pattern, &shape, index) {
        Ok(Outcome::Fits) => Ok(()),
        Ok(Outcome::Waits) => {
            found.waiting.push((index, shape.to_vec()));
            Ok(())
        }
        Err(misfit) => Err(failure(Reason::Shape(misfit))),
    }
}
