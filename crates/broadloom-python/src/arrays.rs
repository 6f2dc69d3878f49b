//! NumPy arrays: lent to a session, and made of what is taken out of it.
//!
//! The package brings arrays into one form first: NumPy, in row-major order, of a type that we compute with.

use std::ffi::c_void;
use std::path::PathBuf;
use std::sync::Arc;

use broadloom::files::read_safetensors as read_file;
use broadloom::{Array, Block, Dtype, Lent};
use numpy::npyffi::{self, npy_intp};
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::PyTypeInfo;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{detached, plain};

/// The memory of a result. It lives as long as an array that shows it.
#[pyclass(frozen, module = "broadloom._broadloom")]
pub struct Memory {
    _block: Block,
}

/// An array of a caller.
pub struct Received {
    lent: Lent,
}

impl Received {
    /// The numbers where they are.
    pub fn lent(&self) -> Lent {
        self.lent.clone()
    }

    /// A copy of the numbers.
    pub fn copied(&self) -> Result<Array, String> {
        self.lent.read().map_err(|error| error.message)
    }
}

/// The numbers of a NumPy array in the form that the package makes. They must not outlive the array.
pub fn received(array: &Bound<'_, PyAny>) -> PyResult<Received> {
    let wrong = || {
        PyTypeError::new_err(
            "an array in row-major order of bool, u8, i8, i16, i32, i64, f16, f32 or f64 is needed",
        )
    };
    array.cast::<PyUntypedArray>().ok().and_then(in_form).ok_or_else(wrong)
}

/// Like [`received`], for a value that may be anything: `None` if it has to be brought into form first. A subclass of NumPy's array has to,
/// since it may mean something else by its elements.
pub fn received_as_it_is(value: &Bound<'_, PyAny>) -> Option<Received> {
    if value.get_type_ptr() != PyUntypedArray::type_object_raw(value.py()) {
        return None;
    }
    value.cast::<PyUntypedArray>().ok().and_then(in_form)
}

/// The numbers of an array that is in form.
fn in_form(array: &Bound<'_, PyUntypedArray>) -> Option<Received> {
    let descr = array.dtype();
    let dtype = match (descr.kind(), descr.itemsize()) {
        (b'f', 2) => Dtype::F16,
        (b'f', 4) => Dtype::F32,
        (b'f', 8) => Dtype::F64,
        (b'b', 1) => Dtype::Bool,
        (b'u', 1) => Dtype::U8,
        (b'i', 1) => Dtype::I8,
        (b'i', 2) => Dtype::I16,
        (b'i', 4) => Dtype::I32,
        (b'i', 8) => Dtype::I64,
        _ => return None,
    };
    let sizes: Vec<u64> = array.shape().iter().map(|size| *size as u64).collect();
    if !array.is_c_contiguous() || descr.is_native_byteorder() == Some(false) {
        return None;
    }
    memory::lent(array, dtype, &sizes).map(|lent| Received { lent })
}

/// A block that was taken out of a session, as a NumPy array that owns it.
pub fn handed_out<'py>(py: Python<'py>, block: Block) -> PyResult<Bound<'py, PyAny>> {
    let block = match block.dtype() {
        // NumPy has no type for these.
        Dtype::Bf16 => {
            let wider = Block::of(&block.read().convert(Dtype::F32));
            wider.map_err(|error| plain(py, &error.message))?
        }
        _ => block,
    };
    memory::array(py, block)
}

/// The arrays of a safetensors file, by name.
#[pyfunction]
pub fn read_safetensors<'py>(py: Python<'py>, path: PathBuf) -> PyResult<Bound<'py, PyDict>> {
    let file = detached(py, || read_file(&path))?.map_err(|error| plain(py, &error.to_string()))?;
    let all = PyDict::new(py);
    for (name, array) in &file.arrays {
        let block = Block::of(array).map_err(|error| plain(py, &error.message))?;
        all.set_item(name, handed_out(py, block)?)?;
    }
    Ok(all)
}

/// Writes arrays to a safetensors file.
#[pyfunction]
pub fn write_safetensors(py: Python<'_>, path: PathBuf, arrays: &Bound<'_, PyDict>) -> PyResult<()> {
    let mut all = Vec::new();
    for (name, array) in arrays.iter() {
        let values = received(&array)?.copied().map_err(|message| plain(py, &message))?;
        all.push((name.extract::<String>()?, values));
    }
    let written = detached(py, || broadloom::files::write_safetensors(&path, all, &Default::default()))?;
    written.map_err(|error| plain(py, &error.to_string()))
}

#[allow(unsafe_code, reason = "memory is shared with NumPy")]
mod memory {
    use super::*;
    use numpy::PY_ARRAY_API;

    /// The numbers of an array, where they are.
    pub(super) fn lent(array: &Bound<'_, PyUntypedArray>, dtype: Dtype, sizes: &[u64]) -> Option<Lent> {
        // SAFETY: the pointer is that of a living array.
        let address: *const c_void = unsafe { (*array.as_array_ptr()).fields.data }.cast();
        // SAFETY: the array is in row-major order and of this type. Whoever receives it keeps it alive, and has given it back
        // before it returns to its caller: `Running::call` and `Received::copied`.
        unsafe { Lent::new(address, dtype, sizes, Arc::new(())) }
    }

    /// An array that shows the memory of a block and keeps it.
    pub(super) fn array<'py>(py: Python<'py>, mut block: Block) -> PyResult<Bound<'py, PyAny>> {
        let kind = match block.dtype() {
            Dtype::F16 => npyffi::NPY_TYPES::NPY_HALF,
            Dtype::F32 | Dtype::Bf16 => npyffi::NPY_TYPES::NPY_FLOAT,
            Dtype::F64 => npyffi::NPY_TYPES::NPY_DOUBLE,
            Dtype::Bool => npyffi::NPY_TYPES::NPY_BOOL,
            Dtype::U8 => npyffi::NPY_TYPES::NPY_UBYTE,
            Dtype::I8 => npyffi::NPY_TYPES::NPY_BYTE,
            Dtype::I16 => npyffi::NPY_TYPES::NPY_SHORT,
            Dtype::I32 => npyffi::NPY_TYPES::NPY_INT,
            Dtype::I64 => npyffi::NPY_TYPES::NPY_LONGLONG,
        };
        let mut sizes: Vec<npy_intp> = block.sizes().iter().map(|size| *size as npy_intp).collect();
        let address = block.address();
        let owner = Bound::new(py, Memory { _block: block })?;
        // SAFETY: the block has as many numbers of this type as its sizes say, without margins, at this address, which
        // does not change when it moves into its owner. The array becomes a user of the owner, and is used only if that succeeds.
        unsafe {
            let made = PY_ARRAY_API.PyArray_New(
                py,
                npyffi::get_type_object(py, npyffi::NpyTypes::PyArray_Type),
                sizes.len() as i32,
                sizes.as_mut_ptr(),
                kind as i32,
                std::ptr::null_mut(),
                address,
                0,
                npyffi::NPY_ARRAY_CARRAY,
                std::ptr::null_mut(),
            );
            let made = Bound::from_owned_ptr_or_err(py, made)?;
            let failed =
                PY_ARRAY_API.PyArray_SetBaseObject(py, made.as_ptr().cast(), owner.into_any().into_ptr());
            if failed != 0 { Err(PyErr::fetch(py)) } else { Ok(made) }
        }
    }
}
