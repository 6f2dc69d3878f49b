//! Questions about the text of a program. Each answer is plain data, with a text for people beside it.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use broadloom_cli::mesh::is_listed;
use broadloom_cli::{Look, commands};
use broadloom_diagnostics::{Column, Diagnostic, Table};
use broadloom_ide::{
    Analysis, GraphOf, Listing, LoopsOf, MemoryOf, MeshTable, Meshed, NoPicture, Optimiser, Text, arrays,
    check, explain, graph, loops, memory, meshed, optimised, signatures, verify,
};
use broadloom_lang::{Asked, OnMesh, Words};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::received;
use crate::data::object;
use crate::errors::{advised, detached, messages, plain, raised, unanswered};
use crate::mesh::{self, OfOneDevice};
use crate::settings::in_python;
use crate::sizes::{SizeData, sizes};
use crate::stablehlo::{self, Refused};

/// A program that has been read and has no mistakes.
#[pyclass(frozen, module = "broadloom._broadloom")]
pub struct Program {
    text: Text,
    /// The analysis of the program. Questions close it and undo that, so that they take turns.
    analysis: Mutex<Analysis>,
    /// The devices that it is divided over, if there are several.
    on: Option<OnMesh>,
}

/// The parts of the text about shapes: named sizes, the table of tensors, and what follows it.
type TextParts = (String, String, String);

/// An answer: data, and a text for people.
type Answer<'py> = (Bound<'py, PyAny>, String);

impl Program {
    pub(crate) fn text(&self) -> &Text {
        &self.text
    }

    /// The devices that it is divided over, if there are several.
    pub(crate) fn devices(&self) -> Option<&OnMesh> {
        self.on.as_ref()
    }

    fn analysis(&self) -> MutexGuard<'_, Analysis> {
        self.analysis.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks a question without the interpreter lock.
    fn ask<T: Send>(&self, py: Python<'_>, question: impl FnOnce(&mut Analysis) -> T + Send) -> PyResult<T> {
        detached(py, || question(&mut self.analysis()))
    }
}

impl Program {
    /// The division over devices, with what is wrong about it.
    fn divided(&self, py: Python<'_>, on: &OnMesh) -> PyResult<Meshed> {
        // Read again: shapes are shown with sizes as numbers, and what is divided is the program that runs, where they are open.
        let divided = detached(py, || meshed(&mut Analysis::open(&self.text), Some(on)))?;
        refused(py, &self.analysis(), &divided.diagnostics)?;
        Ok(divided)
    }

    fn table(&self, py: Python<'_>, on: &OnMesh) -> PyResult<MeshTable> {
        self.divided(py, on)?.mesh.ok_or_else(|| plain(py, "the program has errors"))
    }

    /// The memory of one device.
    fn memory_of_device<'py>(&self, py: Python<'py>, on: &OnMesh, of: &MemoryOf) -> PyResult<Answer<'py>> {
        if of.train.is_some() {
            let help = "write `minimise` into the program, or leave the devices out: `mesh={}`";
            return Err(advised(py, "`train` is for one machine, and the program has a mesh", help));
        }
        let table = self.table(py, on)?;
        let fits = of.limit.map(|limit| table.peak <= limit);
        let shown = commands::memory::device_text(&table, of.limit, Look::default());
        Ok((object(py, &OfOneDevice { table: &table, fits })?, shown))
    }
}

/// Raises the diagnostics if one of them is an error.
fn refused(py: Python<'_>, analysis: &Analysis, diagnostics: &[Diagnostic]) -> PyResult<()> {
    match diagnostics.iter().any(Diagnostic::is_error) {
        true => Err(raised(py, analysis.sources(), diagnostics)),
        false => Ok(()),
    }
}

/// The table of the modules of a model: the path of each, its kind, the shape that it gives, and the number of its parameters.
#[pyfunction]
pub fn module_table(rows: Vec<[String; 4]>) -> String {
    let heads =
        [Column::new("module"), Column::new("kind"), Column::new("gives"), Column::number("parameters")];
    let mut table = Table::new(heads);
    rows.into_iter().for_each(|row| table.row(row));
    table.show(None, false)
}

#[pymethods]
impl Program {
    #[new]
    #[pyo3(signature = (text, name, folder, sizes, load, mesh, shard, fsdp))]
    #[allow(clippy::too_many_arguments)] // as many as people can say
    fn new(
        py: Python<'_>,
        text: String,
        name: String,
        folder: PathBuf,
        sizes: Vec<(String, u64)>,
        load: Option<PathBuf>,
        mesh: Option<Vec<(String, u64)>>,
        shard: Vec<(String, String)>,
        fsdp: Option<String>,
    ) -> PyResult<Program> {
        let request = mesh::request(py, mesh, shard, fsdp)?;
        let text = Text { folder, sizes, load, words: Words(in_python), ..Text::new(name, text) };
        let analysis = detached(py, || Analysis::new(&text))?;
        refused(py, &analysis, analysis.diagnostics())?;
        let on = mesh::on(py, &request, &analysis.program)?;
        Ok(Program { text, analysis: Mutex::new(analysis), on })
    }

    /// All shapes, with the parts of their text: named sizes, tensors, and what follows.
    fn shapes<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, TextParts)> {
        let checked = self.ask(py, |analysis| check(analysis, Listing::Own))?;
        let commands::check::Parts { dims, table, end } =
            commands::check::parts_of(&checked, Look::default());
        Ok((object(py, &checked)?, (dims, table, end)))
    }

    /// Warnings, also of the division over devices. A division that is not possible is an error.
    fn warnings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let mut found = self.ask(py, |analysis| check(analysis, Listing::Own).diagnostics)?;
        if let Some(on) = &self.on {
            let divided = self.divided(py, on)?.diagnostics;
            let new: Vec<Diagnostic> = divided.into_iter().filter(|each| !found.contains(each)).collect();
            found.extend(new);
        }
        Ok(messages(py, self.analysis().sources(), &found)?.into_any())
    }

    /// The division over devices, and the places of the tensors in it that are listed; none if there is one device.
    fn mesh<'py>(&self, py: Python<'py>) -> PyResult<Option<(Answer<'py>, Vec<usize>)>> {
        let Some(on) = &self.on else { return Ok(None) };
        let table = self.table(py, on)?;
        let listed = table.tensors.iter().enumerate().filter(|(_, tensor)| is_listed(tensor));
        let listed = listed.map(|(at, _)| at).collect();
        let shown = broadloom_cli::mesh::text_of(&table, Some("`shapes` has them"), Look::default());
        Ok(Some(((object(py, &table)?, shown), listed)))
    }

    /// A notice about devices that a run on this machine leaves out, if there are any.
    fn left_out(&self) -> Option<String> {
        self.on.as_ref().map(|on| self.analysis().program.without_devices(on))
    }

    /// The sizes of a named tensor, in the order of memory.
    fn sizes(&self, py: Python<'_>, name: &str) -> PyResult<Vec<SizeData>> {
        let shape = self.ask(py, |analysis| {
            let program = &mut analysis.program;
            let tensor = program.find(name)?;
            program.graph.final_shape(tensor).ok()
        })?;
        shape.map(|shape| sizes(&shape)).ok_or_else(|| plain(py, &format!("nothing is called `{name}`")))
    }

    /// The names of data, of which values can be given.
    fn data(&self) -> Vec<String> {
        arrays::declared(&self.analysis().program).map(|made| made.name.clone()).collect()
    }

    /// The named tensors that nothing reads, each under its first name.
    fn results(&self) -> Vec<String> {
        let program = &self.analysis().program;
        let own: Vec<_> = program.made.iter().filter(|made| made.level == 0).collect();
        let results = program.results().into_iter();
        let first = |tensor| own.iter().find(|made| made.tensor == tensor).map(|made| made.name.clone());
        results.filter_map(first).collect()
    }

    /// Further names of tensors: each with the name that the tensor has.
    fn aliases(&self) -> Vec<(String, String)> {
        let program = &self.analysis().program;
        let own = program.made.iter().filter(|made| made.level == 0);
        let own = own.filter(|made| program.find(&made.name) == Some(made.tensor));
        let pairs = own.map(|made| (made.name.clone(), program.graph.label_of(made.tensor)));
        pairs.filter(|(name, label)| name != label).collect()
    }

    /// The signature of a function, also of the library.
    fn signature<'py>(&self, py: Python<'py>, name: String) -> PyResult<Answer<'py>> {
        let found = detached(py, || signatures(&self.text, &Asked::One(name.clone())))?;
        let Some(signature) = found.answer.signatures.first() else {
            return Err(match found.diagnostics.iter().any(Diagnostic::is_error) {
                true => raised(py, &found.sources, &found.diagnostics),
                false => plain(py, &format!("nothing is called `{name}`")),
            });
        };
        Ok((object(py, signature)?, signature.with_uses()))
    }

    /// Why an axis, a row, or all of a tensor has its size.
    fn explain<'py>(&self, py: Python<'py>, name: String) -> PyResult<Answer<'py>> {
        let explained = self.ask(py, |analysis| {
            explain(analysis, &name).map(|explained| {
                let text = |answer| commands::explain::text_of(analysis, answer, Look::default());
                let shown: Vec<String> = explained.explanations.iter().map(text).collect();
                (shown.join("\n"), explained)
            })
        })?;
        let (shown, explained) = explained.map_err(|refusal| unanswered(py, &refusal))?;
        Ok((object(py, &explained)?, shown))
    }

    /// Loop nests, as they are derived, or as they run.
    fn loops<'py>(
        &self,
        py: Python<'py>,
        name: Option<String>,
        all: bool,
        forward_only: bool,
        as_they_run: bool,
    ) -> PyResult<Answer<'py>> {
        let of = LoopsOf { name, all, forward_only, as_data: true };
        let found = self.ask(py, |analysis| {
            let found = if as_they_run { optimised(analysis) } else { loops(analysis, &of) };
            found.map(|found| {
                let mut shown = commands::loops::text_of(analysis, &found, Look::default());
                for routine in &found.routines {
                    let gap = if shown.is_empty() { "" } else { "\n" };
                    shown.push_str(&format!("{gap}routine {}\n{}", routine.name, routine.text));
                }
                (shown, found)
            })
        })?;
        let (shown, found) = found.map_err(|refusal| unanswered(py, &refusal))?;
        Ok((object(py, &found)?, shown))
    }

    /// A picture of the program, as SVG.
    fn graph(&self, py: Python<'_>, of: Option<String>, depth: Option<usize>, all: bool) -> PyResult<String> {
        let of = GraphOf { all, of, depth };
        let picture = self.ask(py, |analysis| graph(analysis, &of))?;
        match picture {
            Ok(picture) => detached(py, || picture.svg(&self.text.name)),
            Err(NoPicture::Unknown(message)) => Err(plain(py, &message)),
            Err(NoPicture::TooLarge { boxes, most }) => Err(advised(
                py,
                &format!("a picture of {boxes} boxes is too large, {most} can be drawn"),
                "draw what some tensor is computed from: `graph(of=\"y\", depth=20)`",
            )),
        }
    }

    /// The memory that it needs.
    fn memory<'py>(
        &self,
        py: Python<'py>,
        fits: Option<String>,
        train: Option<String>,
        optimiser: &str,
        planned: bool,
    ) -> PyResult<Answer<'py>> {
        let limit = fits.map(|fits| commands::memory::size(&fits)).transpose();
        let limit = limit.map_err(|message| plain(py, &message))?;
        let optimiser = match optimiser {
            "sgd" => Optimiser::Sgd,
            "momentum" => Optimiser::Momentum,
            "adam" => Optimiser::Adam,
            other => {
                let message = format!("there is no optimiser `{other}`: it is sgd, momentum or adam");
                return Err(plain(py, &message));
            }
        };
        let of = MemoryOf { train, optimiser, ask_backend: !planned, limit };
        if let Some(on) = &self.on {
            return self.memory_of_device(py, on, &of);
        }
        // Sizes with a range stay open, so that the answer covers all of them.
        let (analysis, measured) = detached(py, || {
            let mut analysis = Analysis::open(&self.text);
            let measured = memory(&mut analysis, &of);
            (analysis, measured)
        })?;
        let measured = measured.map_err(|refusal| unanswered(py, &refusal))?;
        refused(py, &analysis, &measured.diagnostics)?;
        let Some(used) = &measured.memory else { return Err(plain(py, "the program has errors")) };
        let mut shown = commands::memory::text_of(used, true, Look::default());
        if let Some(limit) = limit {
            shown.push_str(&format!("\n{}", commands::memory::answer(used, limit)));
        }
        Ok((object(py, used)?, shown))
    }

    /// The forward pass, or a routine by its name, as a module of StableHLO.
    fn stablehlo(&self, py: Python<'_>, routine: Option<String>, precision: &str) -> PyResult<String> {
        let precision = stablehlo::precision(py, precision)?;
        let how = (precision, self.on.as_ref());
        let made = detached(py, || stablehlo::module(&self.text, routine.as_deref(), how))?;
        made.map_err(|refused| match refused {
            Refused::Routine(message, help) => advised(py, &message, &help),
            Refused::Program(sources, wrong) => raised(py, &sources, &[*wrong]),
        })
    }

    /// Checks that arrays fit it.
    fn verify<'py>(&self, py: Python<'py>, given: &Bound<'py, PyDict>) -> PyResult<Answer<'py>> {
        let mut all = Vec::new();
        for (name, array) in given.iter() {
            let name: String = name.extract()?;
            let array = received(&array)?.copied().map_err(|message| plain(py, &message))?;
            all.push(arrays::GivenArray::new(name.clone(), array, "the arguments"));
        }
        let verified = self.ask(py, |analysis| verify(analysis, &all))?;
        let verified = verified.map_err(|refusal| unanswered(py, &refusal))?;
        let analysis = self.analysis();
        if !verified.diagnostics.is_empty() {
            return Err(raised(py, analysis.sources(), &verified.diagnostics));
        }
        let shown = commands::verify::text_of(&analysis, &verified, Look::default());
        Ok((object(py, &verified)?, shown))
    }
}
