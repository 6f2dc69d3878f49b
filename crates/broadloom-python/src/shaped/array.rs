//! The shape and the element type of a value, read without importing any library.

use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::PyTypeInfo;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyTuple, PyType};
use smallvec::SmallVec;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The sizes of the axes of an array.
pub type Sizes = SmallVec<[i64; 8]>;

/// Kinds of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elements {
    Float,
    Int,
    Bool,
    Complex,
    Other,
    /// In an annotation: any of them.
    Any,
}

impl Elements {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Elements::Float => "float",
            Elements::Int => "int",
            Elements::Bool => "bool",
            Elements::Complex => "complex",
            Elements::Other => "other",
            Elements::Any => "any",
        }
    }

    /// The kind by its name.
    pub fn named(name: &str) -> Elements {
        match name {
            "float" => Elements::Float,
            "int" => Elements::Int,
            "bool" => Elements::Bool,
            "complex" => Elements::Complex,
            "any" => Elements::Any,
            _ => Elements::Other,
        }
    }
}

/// The properties of an array that are read.
pub struct Array<'py> {
    /// Its shape.
    pub shape: Sizes,
    /// Its element type, if it was asked for and the array has one.
    pub dtype: Option<Bound<'py, PyAny>>,
}

impl<'py> Array<'py> {
    /// Reads an array; `None` if the value is none.
    pub fn read(value: &Bound<'py, PyAny>, with_dtype: bool) -> Option<Array<'py>> {
        let py = value.py();
        // An array of NumPy itself says both without an attribute being looked up. Subclasses may say it otherwise.
        if value.get_type_ptr() == PyUntypedArray::type_object_raw(py)
            && let Ok(array) = value.cast::<PyUntypedArray>()
        {
            let shape = array.shape().iter().map(|size| *size as i64).collect();
            return Some(Array { shape, dtype: with_dtype.then(|| array.dtype().into_any()) });
        }
        let shape = value.getattr(intern!(py, "shape")).ok()?;
        let shape = shape.cast::<PyTuple>().ok()?;
        let mut sizes = Sizes::new();
        for size in shape.iter_borrowed() {
            sizes.push(number(&size.to_owned())?);
        }
        let dtype = if with_dtype { value.getattr(intern!(py, "dtype")).ok() } else { None };
        Some(Array { shape: sizes, dtype })
    }
}

/// A size as a number. A symbol of PyTorch, which traces a function, is checked at the number that it stands for: asking it for its number
/// would fix it.
fn number(size: &Bound<'_, PyAny>) -> Option<i64> {
    if !size.is_exact_instance_of::<PyInt>()
        && let Ok(node) = size.getattr(intern!(size.py(), "node"))
        && let Ok(hint) = node.getattr(intern!(size.py(), "hint"))
        && let Ok(number) = hint.extract()
    {
        return Some(number);
    }
    size.extract().ok()
}

/// Element types that were seen before. They live as long as the program, so their addresses stay theirs.
static SEEN: Mutex<Vec<(usize, Elements, Py<PyAny>)>> = Mutex::new(Vec::new());

/// Returns true if an element type is of a kind; `last` is the address of the last one for which it was.
pub fn is_kind(dtype: &Bound<'_, PyAny>, wanted: Elements, last: &AtomicUsize) -> bool {
    let address = dtype.as_ptr() as usize;
    if last.load(Ordering::Relaxed) == address {
        return true;
    }
    let known = SEEN
        .lock()
        .ok()
        .and_then(|seen| seen.iter().find(|(other, _, _)| *other == address).map(|(_, kind, _)| *kind));
    let is_kind = match known {
        Some(kind) => kind == wanted,
        None => return learn(dtype).is_ok_and(|kind| kind == wanted),
    };
    if is_kind {
        last.store(address, Ordering::Relaxed);
    }
    is_kind
}

/// Asks Python for the kind of an element type, and remembers it.
fn learn(dtype: &Bound<'_, PyAny>) -> PyResult<Elements> {
    let py = dtype.py();
    let name: String =
        py.import("broadloom._annotations")?.getattr("element_kind")?.call1((dtype,))?.extract()?;
    let kind = Elements::named(&name);
    // Libraries make few of them; structured types, which are made at will, are not kept.
    if let (Ok(mut seen), true) = (SEEN.lock(), kind != Elements::Other)
        && seen.len() < 256
    {
        seen.push((dtype.as_ptr() as usize, kind, dtype.clone().unbind()));
    }
    Ok(kind)
}

/// A type that annotated arrays have, and the first of its subclasses that was met.
pub struct ArrayType {
    wanted: Py<PyAny>,
    met: pyo3::sync::PyOnceLock<Py<PyType>>,
}

impl ArrayType {
    /// A check against a type, or a tuple of types.
    pub fn new(wanted: Py<PyAny>) -> ArrayType {
        ArrayType { wanted, met: pyo3::sync::PyOnceLock::new() }
    }

    /// The type, or the tuple of types.
    pub fn wanted(&self) -> &Py<PyAny> {
        &self.wanted
    }

    /// Returns true if the value is an instance.
    pub fn holds(&self, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = value.py();
        if self.met.get(py).is_some_and(|met| met.as_ptr() == value.get_type_ptr().cast()) {
            return Ok(true);
        }
        let holds = value.is_instance(self.wanted.bind(py))?;
        if holds {
            self.met.get_or_init(py, || value.get_type().unbind());
        }
        Ok(holds)
    }
}
