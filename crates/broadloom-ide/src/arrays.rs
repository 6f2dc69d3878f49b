//! Arrays that are given to a program, and the data that they are values of.

use broadloom::Array;
use broadloom_diagnostics::{Diagnostic, Setting, Severity};
use broadloom_lang::{NamedTensor, Program, Words, nearest};

use crate::shape::kind;

/// An array that was given.
#[derive(Clone, Debug)]
pub struct GivenArray {
    /// Its name.
    pub name: String,
    /// Its values; none if nothing in the program has this name, and they were not read.
    pub array: Option<Array>,
    /// The file, as it was written.
    pub file: String,
    /// True if it is one of several ways to read a table.
    pub offered: bool,
    /// True if it is a column of a table.
    pub column: bool,
}

impl GivenArray {
    /// A single array, from a file or from elsewhere.
    pub fn new(name: impl Into<String>, array: Array, file: impl Into<String>) -> GivenArray {
        GivenArray { name: name.into(), array: Some(array), file: file.into(), offered: false, column: false }
    }
}

/// The data of a program.
pub fn declared(program: &Program) -> impl Iterator<Item = &NamedTensor> {
    program.made.iter().filter(|made| kind(&program.graph, made.tensor) == "data")
}

/// The array for data of this name, the last if there are several.
pub fn of<'g>(given: &'g [GivenArray], name: &str) -> Option<&'g GivenArray> {
    given.iter().rev().find(|given| given.name == name)
}

/// Gives whole numbers of tables the type of the data that they are for: a table does not say that its numbers are integers.
pub fn type_tables(program: &Program, given: &mut [GivenArray]) {
    let types = program.graph.dtypes();
    for each in given.iter_mut().filter(|each| each.file.ends_with(".csv")) {
        let Some(made) = declared(program).find(|made| made.name == each.name) else { continue };
        let dtype = types[made.tensor.index()];
        let fits =
            |array: &&mut Array| !dtype.is_float() && array.is_whole() && array.outside(dtype).is_none();
        if let Some(array) = each.array.as_mut().filter(fits) {
            *array = array.convert(dtype);
        }
    }
}

/// The arrays that are the values of some data, in order.
pub fn used<'a>(program: &'a Program, given: &'a [GivenArray]) -> impl Iterator<Item = &'a GivenArray> {
    given.iter().filter(|array| is_used(program, given, array))
}

/// The arrays that are not the values of any data, in order.
pub fn unused<'a>(program: &'a Program, given: &'a [GivenArray]) -> impl Iterator<Item = &'a GivenArray> {
    given.iter().filter(|array| !is_used(program, given, array))
}

fn is_used(program: &Program, given: &[GivenArray], array: &GivenArray) -> bool {
    let is_last = of(given, &array.name).is_some_and(|last| std::ptr::eq(last, array));
    is_last && declared(program).any(|made| made.name == array.name)
}

/// Notes about arrays that the program does not use.
pub fn foreign(program: &Program, given: &[GivenArray], words: Words) -> Vec<Diagnostic> {
    let mut notes = Vec::new();
    for GivenArray { name, file, offered, column, .. } in unused(program, given) {
        // The columns of a table are offered, not given: it is enough if some of it is used.
        let is_offer = *offered && used(program, given).any(|used| used.file == *file);
        if is_offer || (*offered && *column) {
            continue;
        }
        if declared(program).any(|made| made.name == *name) {
            let message = format!("the array `{name}` of {file} is not used: another one comes later");
            notes.push(Diagnostic::new(Severity::Note, "", message));
            continue;
        }
        let message = format!("the array `{name}` of {file} is not used: the program has no `data {name}`");
        let note = Diagnostic::new(Severity::Note, "", message);
        let near = nearest(name, declared(program).map(|made| made.name.as_str()));
        notes.push(match (program.find(name).map(|tensor| kind(&program.graph, tensor)), near) {
            (Some(kind @ ("parameter" | "state")), _) => {
                let setting = words.written(&Setting::Values(name.clone()));
                note.with_help(format!("`{name}` is a {kind}: give it values by `{setting}`"))
            }
            (Some(_), _) => note.with_help(format!("`{name}` is computed")),
            (None, Some(near)) => note.with_help(format!("did you mean `{near}`?")),
            (None, None) => note,
        });
    }
    notes
}
