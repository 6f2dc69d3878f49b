//! Arrays in files: an array that can be read can be written and read again, and everything else is
//! a clear error.

use broadloom::Array;
use broadloom::files::{
    CsvHeader, FileError, csv_from_text, npy_from_bytes, npy_to_bytes, npz_from_bytes, npz_to_bytes,
    safetensors_from_bytes, safetensors_to_bytes,
};

use super::{about, fingerprint};

pub(crate) fn check(bytes: &[u8]) -> u64 {
    let outcomes = [npy(bytes), npz(bytes), safetensors(bytes), csv(bytes)];
    fingerprint(outcomes)
}

fn npy(bytes: &[u8]) -> u64 {
    outcome(npy_from_bytes(bytes), |array| {
        let again = npy_from_bytes(&npy_to_bytes(array)).expect("written just now");
        assert_same(array, &again);
        array.sizes().len()
    })
}

fn npz(bytes: &[u8]) -> u64 {
    outcome(npz_from_bytes(bytes), |arrays| {
        let named = arrays.iter().map(|(name, array)| (name.as_str(), array));
        if let Ok(written) = npz_to_bytes(named) {
            assert_all_same(arrays, &npz_from_bytes(&written).expect("written just now"));
        }
        arrays.len()
    })
}

fn safetensors(bytes: &[u8]) -> u64 {
    outcome(safetensors_from_bytes(bytes), |tensors| {
        let named = tensors.arrays.iter().map(|(name, array)| (name.as_str(), array));
        if let Ok(written) = safetensors_to_bytes(named, &tensors.metadata) {
            let again = safetensors_from_bytes(&written).expect("written just now");
            assert_all_same(&tensors.arrays, &again.arrays);
        }
        tensors.arrays.len()
    })
}

fn csv(bytes: &[u8]) -> u64 {
    let Ok(text) = std::str::from_utf8(bytes) else { return 0 };
    let headers = [CsvHeader::Detect, CsvHeader::Present, CsvHeader::Absent];
    fingerprint(headers.map(|header| {
        outcome(csv_from_text(text, header), |table| {
            assert_eq!(table.values.sizes().len(), 2, "a table has rows and columns");
            assert!(table.names.iter().all(|name| table.column(name).is_some()), "{:?}", table.names);
            table.names.len()
        })
    }))
}

/// A number for the result of reading: the kind of the error, or the rough amount of data.
fn outcome<T>(read: Result<T, FileError>, look: impl FnOnce(&T) -> usize) -> u64 {
    match read {
        Ok(value) => fingerprint(about(look(&value))),
        Err(error) => {
            assert!(!error.to_string().is_empty());
            fingerprint((error.kind(), error.expected()))
        }
    }
}

/// Asserts that two arrays are the same to the bit, NaN included.
fn assert_same(one: &Array, other: &Array) {
    assert!(npy_to_bytes(one) == npy_to_bytes(other), "{one:?} is not {other:?}");
}

fn assert_all_same(some: &[(String, Array)], others: &[(String, Array)]) {
    assert_eq!(some.len(), others.len());
    for ((name, one), (other_name, other)) in some.iter().zip(others) {
        assert_eq!(name, other_name);
        assert_same(one, other);
    }
}
