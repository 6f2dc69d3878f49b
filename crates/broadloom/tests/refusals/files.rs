//! Files that are missing, truncated, or of another model. A refused file changes nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use broadloom::files::{read_safetensors, write_safetensors};
use broadloom::{Array, Error, Graph, Initial, Session};
use expect_test::{Expect, expect};

use crate::numbers::array;
use crate::refusals::session;

/// A temporary folder for a test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("broadloom-refusals-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder for temporary files");
        Folder(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Compares a message in which the folder is called `FOLDER`.
    fn refused<T>(&self, result: Result<T, Error>, expected: &Expect) {
        let Err(error) = result else { panic!("nothing is refused") };
        let text = format!("{:?}: {error}\n", error.kind());
        expected.assert_eq(&text.replace(&self.0.display().to_string(), "FOLDER"));
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Two parameters and a state.
fn model() -> Result<Session, Error> {
    let mut g = Graph::new();
    let (w, bias) = (g.param_shaped("w", "3 -> 2")?, g.param_shaped("bias", "2")?);
    g.set_initial(bias, Initial::Constant(7.0))?;
    g.state_shaped("seen", "|")?;
    let _ = w;
    Ok(session(g))
}

/// All numbers of a session, and everything else that a file may change.
fn everything(session: &mut Session) -> Result<(Vec<Array>, u64), Error> {
    let tensors: Vec<_> = session.graph().tensors().collect();
    let values = tensors.into_iter().map(|tensor| session.get(tensor)).collect::<Result<_, _>>()?;
    Ok((values, session.runs()))
}

/// Loads a file that is refused, and checks that everything is as it was.
fn loaded(folder: &Folder, path: &Path, expected: &Expect) -> Result<(), Error> {
    let mut session = model()?;
    let before = everything(&mut session)?;
    folder.refused(session.load(path), expected);
    assert!(before == everything(&mut session)?, "a refused file changes nothing");
    Ok(())
}

#[test]
fn files_that_are_not_there() -> Result<(), Error> {
    let folder = Folder::new();
    loaded(
        &folder,
        &folder.file("none.safetensors"),
        &expect![[r#"
        File: FOLDER/none.safetensors: expected a file to read, found none
    "#]],
    )?;
    loaded(
        &folder,
        &folder.0,
        &expect![[r#"
        File: FOLDER: expected a file to read, found an error of the system: Is a directory (os error 21)
    "#]],
    )?;
    folder.refused(
        model()?.save(folder.file("no/such/model.safetensors")),
        &expect![[r#"
        File: FOLDER/no/such/model.safetensors: expected a folder to write into, found none
    "#]],
    );
    folder.refused(
        model()?.save(&folder.0),
        &expect![[r#"
        File: FOLDER: expected a file to write, found a folder
    "#]],
    );
    assert_eq!(fs::read_dir(&folder.0).expect("it is there").count(), 0, "nothing is left behind");
    Ok(())
}

#[test]
fn files_that_are_damaged() -> Result<(), Error> {
    let folder = Folder::new();
    let whole = folder.file("whole.safetensors");
    model()?.save(&whole)?;
    let bytes = fs::read(&whole).expect("it was written");
    let cut = |name: &str, bytes: &[u8]| {
        let path = folder.file(name);
        fs::write(&path, bytes).expect("it can be written");
        path
    };
    loaded(
        &folder,
        &cut("empty", b""),
        &expect![[r#"
        File: FOLDER/empty: expected a safetensors file, found an empty file
    "#]],
    )?;
    loaded(
        &folder,
        &cut("start", &bytes[..5]),
        &expect![[r#"
        File: FOLDER/start: expected a safetensors file, found 5 bytes
    "#]],
    )?;
    loaded(
        &folder,
        &cut("header", &bytes[..40]),
        &expect![[r#"
        File: FOLDER/header: expected 232 bytes of header, found 32 bytes
    "#]],
    )?;
    loaded(
        &folder,
        &cut("numbers", &bytes[..bytes.len() - 4]),
        &expect![[r#"
        File: FOLDER/numbers: expected 36 bytes of numbers, found 32 bytes
    "#]],
    )?;
    loaded(
        &folder,
        &cut("longer", &[&bytes[..], &[0; 4]].concat()),
        &expect![[r#"
        File: FOLDER/longer: expected 36 bytes of numbers, found 40 bytes
    "#]],
    )?;
    loaded(
        &folder,
        &cut("model.onnx", b"\x08\x07\x12\x07pytorch and so on"),
        &expect![[r#"
        File: FOLDER/model.onnx: expected a safetensors file: the length of the header, of at most 100 MB, and the header in JSON, found one that starts with `\x08\x07\x12\x07pytorch `
    "#]],
    )?;
    // Truncated anywhere, it is refused.
    for length in 0..bytes.len() {
        let mut session = model()?;
        let before = everything(&mut session)?;
        assert!(session.load(cut("cut", &bytes[..length])).is_err(), "{length} of {} bytes", bytes.len());
        assert!(before == everything(&mut session)?, "{length}");
    }
    Ok(())
}

#[test]
fn files_of_another_model() -> Result<(), Error> {
    let folder = Folder::new();
    let file = |name: &str, arrays: &[(&str, Array)]| {
        let path = folder.file(name);
        let text = BTreeMap::from([("broadloom.runs".to_string(), "5".to_string())]);
        write_safetensors(&path, arrays.iter().map(|(name, array)| (*name, array)), &text)
            .expect("it can be written");
        path
    };
    let (w, bias) = (array(&[2, 3], &[1.0; 6]), array(&[2], &[1.0; 2]));
    loaded(
        &folder,
        &file("lacking", &[("w", w.clone()), ("b", bias.clone())]),
        &expect![[r#"
            File: FOLDER/lacking: there is no parameter `bias` in it
              `bias` is declared `2`
              it has b, w
              nothing in the program is called `b`
            help: load a file that was saved with these parameters, or give them these names
        "#]],
    )?;
    loaded(
        &folder,
        &file("none", &[]),
        &expect![[r#"
            File: FOLDER/none: there are no parameters `w`, `bias` in it
              `w` is declared `3 -> 2`
              it has no arrays
            help: load a file that was saved with these parameters, or give them these names
        "#]],
    )?;
    // The first one fits, the second does not.
    loaded(
        &folder,
        &file("transposed", &[("bias", bias.clone()), ("w", array(&[3, 2], &[1.0; 6]))]),
        &expect![[r#"
            Value: FOLDER/transposed: the values for `w` have sizes [3, 2], but its shape is `3 -> 2`: sizes [2, 3]
              `w` is declared `3 -> 2`
            help: sizes are in memory order: batch axes, output axes, input axes: these are the same sizes in another order, so transpose the values, or declare it so
        "#]],
    )?;
    loaded(
        &folder,
        &file("wider", &[("bias", array(&[4], &[1.0; 4])), ("w", w.clone())]),
        &expect![[r#"
            Value: FOLDER/wider: the values for `bias` have sizes [4], but its shape is `2`: sizes [2]
              `bias` is declared `2`
            help: sizes are in memory order: batch axes, output axes, input axes
            help: the file has 4 where the program has 2: write 4 there, or load a file that this program has saved
        "#]],
    )?;
    let state = ("seen", array(&[2], &[1.0; 2]));
    loaded(
        &folder,
        &file("state", &[("bias", bias.clone()), ("w", w.clone()), state]),
        &expect![[r#"
            Value: FOLDER/state: the values for `seen` have sizes [2], but its shape is `()`: sizes []
              `seen` is declared `|`
            help: sizes are in memory order: batch axes, output axes, input axes
        "#]],
    )?;
    // Additional arrays are fine, and so is a missing state.
    let mut session = model()?;
    session.load(file("more", &[("bias", bias), ("other", w.clone()), ("w", w)]))?;
    assert_eq!(session.runs(), 5);
    Ok(())
}

/// A file that is saved over another is either complete or not there.
#[test]
fn saving_again() -> Result<(), Error> {
    let folder = Folder::new();
    let path = folder.file("model.safetensors");
    let mut session = model()?;
    session.save(&path)?;
    let first = read_safetensors(&path)?;
    session.save(&path)?;
    assert_eq!(first, read_safetensors(&path)?);
    assert_eq!(fs::read_dir(&folder.0).expect("it is there").count(), 1);
    Ok(())
}
