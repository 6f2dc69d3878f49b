//! Files of any kind that is known, by the ending of their names.

use std::path::Path;

use crate::Array;

use super::{
    CsvHeader, FileError, FileErrorKind, OpenTensors, read_csv, read_npy, read_npz, read_safetensors,
};

/// The arrays of a `.npy`, `.npz`, `.safetensors` or `.csv` file, with their names. The array of a
/// `.npy` file and the table of a `.csv` file have no name: they come first, with an empty one; the
/// columns of a table follow by their names.
///
/// ```
/// use broadloom_array::{Array, files};
///
/// # let folder = std::env::temp_dir().join(format!("broadloom-doc-any-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let path = folder.join("points.csv");
/// std::fs::write(&path, "x,y\n1,2\n3,4\n")?;
/// let arrays = files::read_arrays(&path)?;
/// let names: Vec<&str> = arrays.iter().map(|(name, _)| name.as_str()).collect();
/// assert_eq!(names, ["", "x", "y"]);
/// assert_eq!(arrays[2].1.to_f64s(), [2.0, 4.0]);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_arrays(path: impl AsRef<Path>) -> Result<Vec<(String, Array)>, FileError> {
    let path = path.as_ref();
    let ending = path.extension().map(|ending| ending.to_string_lossy().into_owned());
    match ending.as_deref() {
        Some("npy") => Ok(vec![(String::new(), read_npy(path)?)]),
        Some("npz") => read_npz(path),
        Some("safetensors") => Ok(read_safetensors(path)?.arrays),
        Some("csv") => {
            let table = read_csv(path, CsvHeader::Detect)?;
            let column = |name: &String| Some((name.clone(), table.column_array(name)?));
            let columns: Vec<(String, Array)> = table.names.iter().filter_map(column).collect();
            Ok(std::iter::once((String::new(), table.values.clone())).chain(columns).collect())
        }
        ending => {
            let found = ending.map_or("one without an ending".into(), |ending| format!("`.{ending}`"));
            let expected = "a `.npy`, `.npz`, `.safetensors` or `.csv` file";
            Err(FileError::new(FileErrorKind::Unsupported, expected, found).in_file(path))
        }
    }
}

/// The arrays of a file, as [`read_arrays`] has them, but only the values of those whose names are wanted: nothing else of
/// a `.npz` file is inflated.
///
/// ```
/// use broadloom_array::{Array, files};
///
/// # let folder = std::env::temp_dir().join(format!("broadloom-doc-wanted-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let path = folder.join("two.npz");
/// files::write_npz(&path, [("x", Array::scalar(1.0)), ("y", Array::scalar(2.0))])?;
/// let arrays = files::read_wanted(&path, |name| name == "x")?;
/// assert_eq!(arrays[0].1.as_ref().and_then(|x| x.item()), Some(1.0));
/// assert_eq!(arrays[1], ("y".to_string(), None));
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_wanted(
    path: impl AsRef<Path>,
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<(String, Option<Array>)>, FileError> {
    let path = path.as_ref();
    if path.extension().is_some_and(|ending| ending == "npz") {
        return super::npz::read_wanted(path, wanted);
    }
    let arrays = read_arrays(path)?.into_iter();
    // What has no name is the whole of the file.
    let keep = |name: &str| name.is_empty() || wanted(name);
    Ok(arrays
        .map(|(name, array)| {
            let kept = keep(&name).then_some(array);
            (name, kept)
        })
        .collect())
}

/// The array for a name, and the names of all arrays in the file: of a `.npy` or `.csv` file the
/// whole; of a file with several arrays the one of that name, or the only one. Nothing else of a
/// `.npz` or `.safetensors` file is read.
pub fn read_array(path: impl AsRef<Path>, name: &str) -> Result<(Option<Array>, Vec<String>), FileError> {
    let path = path.as_ref();
    if path.extension().is_some_and(|ending| ending == "npz") {
        return super::npz::read_one(path, name);
    }
    if path.extension().is_some_and(|ending| ending == "safetensors") {
        let opened = OpenTensors::open(path)?;
        let names: Vec<String> = opened.arrays().map(|(name, _)| name.to_string()).collect();
        let name = if let [only] = &names[..] { only } else { name };
        return Ok((opened.read(name)?, names.clone()));
    }
    let arrays = read_arrays(path)?;
    let names = arrays.iter().map(|(name, _)| name.clone()).collect();
    let only = arrays.len() == 1;
    let found = arrays.into_iter().find(|(known, _)| only || known.is_empty() || known == name);
    Ok((found.map(|(_, array)| array), names))
}
