//! `load`: numbers from files.

use std::path::Path;
use std::rc::Rc;

use broadloom::Array;
use broadloom::files::{FileError, FileErrorKind, read_array, read_arrays};
use broadloom_diagnostics::Span;

use super::loaded::{self, FoundArray};
use super::{call, weights};
use crate::codes;
use crate::eval::given::Call;
use crate::eval::{Eval, Evaluated};
use crate::program::HAS_FILES;
use crate::value::Value;

/// `load("x.npy")`, `load("data.npz", "x")`
pub(crate) fn load(eval: &mut Eval<'_>, call: &Call) -> Evaluated<Value> {
    if call.given.iter().any(|given| given.name.is_some()) {
        return weights::load_weights(eval, call);
    }
    let plain = call.plain();
    let (path, key) = match plain[..] {
        [path] => (path, None),
        [path, key] => (path, Some(key)),
        _ => {
            return call::wrong_call(
                eval,
                call,
                "`load` takes the path of a file",
                "write `load(\"x.npy\")`",
            );
        }
    };
    let text = eval.words(&path.value, path.span)?;
    let text = eval.filled(&text, path.span)?;
    let key = match key {
        Some(key) => Some(eval.words(&key.value, key.span)?),
        None => None,
    };
    if !HAS_FILES {
        let help =
            "write the numbers in the program, `data x = [1, 2]`, or run it with the command `broadloom`";
        return eval.wrong(
            codes::FILE,
            format!("a page cannot read `{text}`: it has no files"),
            path.span,
            help,
        );
    }
    let file = eval.folder().join(&text);
    let (found, names) = match read_or_kept(eval, &file, key.as_deref()) {
        Ok(read) => read,
        Err(error) => return unreadable(eval, &text, &error, path.span),
    };
    match (found, key) {
        // A text file has no precision: the tensor that stores the numbers decides it.
        // A table does not say the type of its numbers, unless only integers hold them.
        (Some(array), _) if text.ends_with(".csv") && array.dtype().is_float() => Ok(Value::Numbers(array)),
        (Some(array), _) => Ok(Value::Array(array)),
        (None, Some(key)) => {
            let message = format!("`{text}` has nothing called `{key}`");
            let help = match names.is_empty() {
                true => format!("it has one array, without a name: write `load(\"{text}\")`"),
                false => format!("it has {}", names.join(", ")),
            };
            eval.wrong(codes::FILE, message, call.span, help)
        }
        (None, None) => {
            let message = format!("`{text}` has several arrays");
            let first = names.first().cloned().unwrap_or_default();
            let help =
                format!("say which one, as in `load(\"{text}\", \"{first}\")`: it has {}", names.join(", "));
            eval.wrong(codes::FILE, message, call.span, help)
        }
    }
}

/// The arrays of a file: those that were read before an edit, if the file is still the same.
fn read_or_kept(eval: &mut Eval<'_>, path: &Path, key: Option<&str>) -> Result<FoundArray, FileError> {
    // A file that changes while it is read has changed afterwards.
    let stamp = loaded::stamp(path);
    eval.data_files.push((path.to_path_buf(), stamp));
    let kept = eval.loaded.as_mut().and_then(|loaded| loaded.find(path, key, &stamp));
    if let Some(kept) = kept {
        return Ok(kept);
    }
    let (array, names) = read(path, key)?;
    let found = (array.map(Rc::new), names);
    if let Some(loaded) = &mut eval.loaded {
        loaded.keep(path, key, stamp, found.clone());
    }
    Ok(found)
}

/// The array with a name, or the only one if no name is given, and the names of all arrays.
fn read(path: &Path, key: Option<&str>) -> Result<(Option<Array>, Vec<String>), FileError> {
    // Only the array that is asked for is read.
    if path.extension().is_some_and(|ending| ending == "npz" || ending == "safetensors") {
        let (array, names) = read_array(path, key.unwrap_or_default())?;
        let is_meant = key.is_none_or(|key| names.iter().any(|name| name == key));
        return Ok((array.filter(|_| is_meant), names));
    }
    let arrays = read_arrays(path)?;
    let names = arrays.iter().map(|(name, _)| name.clone()).filter(|name| !name.is_empty()).collect();
    let only = arrays.len() == 1;
    let is_meant = |name: &str| key.map_or(only || name.is_empty(), |key| name == key);
    let found = arrays.into_iter().find(|(name, _)| is_meant(name));
    Ok((found.map(|(_, array)| array), names))
}

pub(crate) fn unreadable<T>(eval: &mut Eval<'_>, text: &str, error: &FileError, span: Span) -> Evaluated<T> {
    if error.kind() == FileErrorKind::Missing {
        let help = "paths are relative to the folder of this file";
        return eval.wrong(codes::FILE, format!("there is no file `{text}`"), span, help);
    }
    let help = match text.rsplit('.').next() {
        Some("pt" | "pth" | "bin" | "ckpt" | "h5" | "pkl" | "onnx") => {
            "save it as `.safetensors` or `.npz` first, and load that"
        }
        Some("png" | "jpg" | "jpeg" | "gif") => "save its pixels as a `.npy` first, and load that",
        _ => "",
    };
    eval.wrong(codes::FILE, error.to_string(), span, help)
}
