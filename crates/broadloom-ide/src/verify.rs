//! Checks that arrays fit the program. All problems are reported at once, before anything runs.

use broadloom::{Array, Dtype, Fit, FoundSize, Input, Misfit, Shape, Tensor};
use broadloom_diagnostics::{Diagnostic, Setting, Severity, Span};
use broadloom_lang::{NamedTensor, Program, Words, codes, nearest};
use serde::Serialize;

use crate::analysis::Analysis;
use crate::arrays::{self, GivenArray};
use crate::place::Line;
use crate::refusal::Refusal;

/// The result of checking arrays against a program.
#[derive(Clone, Debug, Serialize)]
pub struct Verified {
    /// The name of the text.
    pub file: String,
    /// True if there are no errors.
    pub fits: bool,
    /// The data of the program; empty if the program has errors.
    pub tensors: Vec<VerifiedTensor>,
    /// The named sizes.
    pub dims: Vec<VerifiedSize>,
    /// All diagnostics, in the order of the text.
    #[serde(skip)]
    pub diagnostics: Vec<Diagnostic>,
}

/// A `data` of the program.
#[derive(Clone, Debug, Serialize)]
pub struct VerifiedTensor {
    /// Its name.
    pub name: String,
    /// Its shape.
    pub shape: String,
    /// The type in which its numbers are stored.
    #[serde(rename = "type")]
    pub dtype: &'static str,
    /// The array with its values.
    pub array: Option<VerifiedArray>,
    /// True if the program itself gives or computes its values.
    pub own: bool,
    /// The line on which it is declared.
    #[serde(flatten)]
    pub place: Line,
}

/// An array with the values of some data.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct VerifiedArray {
    /// Its sizes.
    pub sizes: Vec<u64>,
    /// The type in which its numbers are stored.
    #[serde(rename = "type")]
    pub dtype: &'static str,
    /// The file or other source it comes from.
    pub from: String,
}

/// A named size as decided by arrays.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct VerifiedSize {
    /// Its name.
    pub name: String,
    /// The size, if it is decided.
    pub size: Option<u64>,
    /// The least and, if there is one, the greatest size.
    pub range: (u64, Option<u64>),
    /// The tensor whose array decides it.
    pub by: Option<String>,
}

/// Checks arrays. The error is the reason why the program cannot be checked.
///
/// ```
/// use broadloom::Array;
/// use broadloom_ide::arrays::GivenArray;
/// use broadloom_ide::{Analysis, Text, verify};
///
/// let text = Text::new("a.loom", "dim n in 1..8\ndata x : n | 3\nprint sum(x)\n");
/// let array = Array::from_slice(&[9, 3], &[0.0f32; 27])?;
/// let given = GivenArray::new("x", array, "x.npy");
/// let verified = verify(&mut Analysis::new(&text), &[given])?;
/// assert!(!verified.fits);
/// assert_eq!(verified.diagnostics.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn verify(analysis: &mut Analysis, given: &[GivenArray]) -> Result<Verified, Refusal> {
    let mut diagnostics = analysis.program.diagnostics.clone();
    let fitted = match analysis.is_ok() {
        true => Some(Fitted::new(&mut analysis.program, given, analysis.text.words)?),
        false => None,
    };
    let program = &analysis.program;
    diagnostics.extend(fitted.iter().flat_map(|fitted| fitted.diagnostics(program)));
    // In the order of the text; diagnostics without a place come last.
    diagnostics.sort_by_key(|diagnostic| {
        let place = diagnostic.primary().map(|label| (label.span.source, label.span.start));
        (place.is_none(), place)
    });
    let dim = |size: &FoundSize| VerifiedSize {
        name: size.name.clone(),
        size: size.number,
        range: size.range,
        by: size.by.map(|by| program.graph.label_of(by)),
    };
    let rows = fitted.iter().flat_map(|fitted| &fitted.rows);
    let sizes = fitted.iter().flat_map(|fitted| &fitted.fit.sizes);
    Ok(Verified {
        file: analysis.name.clone(),
        fits: !diagnostics.iter().any(Diagnostic::is_error),
        tensors: rows.map(|row| row.data(program)).collect(),
        dims: sizes.map(dim).collect(),
        diagnostics,
    })
}

/// The fit of arrays to a program.
struct Fitted<'a> {
    rows: Vec<Row<'a>>,
    fit: Fit,
    given: &'a [GivenArray],
    words: Words,
}

/// A `data` of the program.
struct Row<'a> {
    made: NamedTensor,
    shape: Shape,
    dtype: Dtype,
    array: Option<(&'a Array, &'a str)>,
    /// True if the program itself gives or computes its values.
    own: bool,
}

impl<'a> Fitted<'a> {
    fn new(program: &mut Program, given: &'a [GivenArray], words: Words) -> Result<Fitted<'a>, Refusal> {
        let shapes = program.graph.final_shapes()?;
        let dtypes = program.graph.dtypes();
        let data = arrays::declared(program);
        let rows: Vec<Row<'a>> = data
            .map(|made| Row {
                shape: shapes.get(made.tensor),
                dtype: dtypes[made.tensor.index()],
                array: arrays::of(given, &made.name)
                    .and_then(|given| Some((given.array.as_ref()?, &*given.file))),
                own: has_values(program, made.tensor),
                made: made.clone(),
            })
            .collect();
        let inputs: Vec<Input<'_>> =
            (rows.iter()).filter_map(|row| Some(Input::new(row.made.tensor, row.array?.0))).collect();
        let fit = program.graph.fit(&inputs)?;
        Ok(Fitted { rows, fit, given, words })
    }

    /// All diagnostics about the arrays.
    fn diagnostics(&self, program: &Program) -> Vec<Diagnostic> {
        let missing: Vec<Diagnostic> = (self.rows.iter())
            .filter(|row| row.array.is_none() && !row.own)
            .map(|row| self.missing(row, program))
            .collect();
        let misfits = self.fit.misfits.iter().map(|misfit| self.misfit(misfit, program));
        // A size that a missing or unfitting array would decide is not reported as well.
        let excused = !missing.is_empty() || !self.fit.is_ok();
        let open = self.fit.sizes.iter().filter(|size| size.used && size.number.is_none() && !excused);
        let open: Vec<Diagnostic> = open.map(|size| undecided(program, size, self.words)).collect();
        missing
            .into_iter()
            .chain(misfits)
            .chain(open)
            .chain(arrays::foreign(program, self.given, self.words))
            .collect()
    }

    /// The error for data without values.
    fn missing(&self, row: &Row<'_>, program: &Program) -> Diagnostic {
        let name = &row.made.name;
        let axes = [row.shape.batch(), row.shape.output(), row.shape.input()].concat();
        let axes: Vec<String> = axes.iter().map(|axis| axis.extent().to_string()).collect();
        let message = format!("there is no array for `{name}`, and the program gives it no values");
        let label = format!("its shape is `{}`", row.shape);
        let help = match nearest(name, arrays::unused(program, self.given).map(|given| given.name.as_str())) {
            Some(near) => format!("there is an array `{near}`: call it `{name}`, if it is meant"),
            None => {
                let setting = self.words.written(&Setting::Checked(name.clone()));
                format!("give an array `{name}` with sizes [{}]: `{setting}`", axes.join(", "))
            }
        };
        Diagnostic::error(codes::VALUE, message, row.made.span, label).with_help(help)
    }

    /// The error for an array that does not fit, at the lines of the data it is about.
    fn misfit(&self, misfit: &Misfit, program: &Program) -> Diagnostic {
        let code = if matches!(misfit, Misfit::Range { .. }) { codes::RANGE } else { codes::VALUE };
        let mut diagnostic = Diagnostic::new(Severity::Error, code, misfit.to_string());
        let mut tensors = misfit.tensors();
        tensors.dedup();
        for (at, tensor) in tensors.into_iter().enumerate() {
            let Some(row) = self.rows.iter().find(|row| row.made.tensor == tensor) else { continue };
            let array = row.array.map_or(String::new(), |(array, file)| {
                format!("sizes {}, type {} in {file}", list(array.sizes()), array.dtype())
            });
            diagnostic = match at {
                0 => diagnostic.with_primary(row.made.span, array),
                _ => diagnostic.with_label(row.made.span, array),
            };
        }
        if matches!(misfit, Misfit::Sizes { .. }) {
            for (name, size) in &program.sizes {
                diagnostic = diagnostic
                    .with_note(format!("`{name}` is set to {size}; left open, it follows the arrays"));
            }
        }
        diagnostic.with_help(misfit.help())
    }
}

impl Row<'_> {
    fn data(&self, program: &Program) -> VerifiedTensor {
        VerifiedTensor {
            name: self.made.name.clone(),
            shape: self.shape.to_string(),
            dtype: self.dtype.name(),
            array: self.array.map(|(array, file)| VerifiedArray {
                sizes: array.sizes().to_vec(),
                dtype: array.dtype().name(),
                from: file.to_string(),
            }),
            own: self.own,
            place: Line::new(&program.sources, self.made.span),
        }
    }
}

impl VerifiedTensor {
    /// A description of the types of its numbers, in the array and in the program.
    pub fn types(&self) -> String {
        match self.array.as_ref().map(|array| array.dtype).filter(|dtype| *dtype != self.dtype) {
            Some(given) => format!("{given} as {}", self.dtype),
            None => self.dtype.to_string(),
        }
    }
}

/// Returns true if a program gives data its values: in a list, from a file or a distribution, or by
/// an assignment.
fn has_values(program: &Program, tensor: Tensor) -> bool {
    let drawn = program.plan.drawn.iter().any(|drawn| drawn.tensor == tensor);
    let streamed = || program.plan.streams.iter().any(|stream| stream.feeds(tensor));
    let assigned = || program.plan.routines.iter().any(|routine| routine.assigns(&program.graph, tensor));
    drawn || program.graph.has_values(tensor) || streamed() || assigned()
}

/// The error for a named size that no array and no sample decides.
fn undecided(program: &Program, size: &FoundSize, words: Words) -> Diagnostic {
    let name = &size.name;
    let span = program.dims.iter().find(|dim| dim.name == *name).map(|dim| dim.span);
    let message = format!("no array says how large `{name}` is");
    let setting = words.written(&Setting::Size(name.clone(), "32".to_string()));
    Diagnostic::error(codes::VALUE, message, span.unwrap_or(Span::empty(program.main, 0)), "")
        .with_help(format!("declare it with a usual size, or set it: `{setting}`"))
}

/// `[16, 784]`
fn list(sizes: &[u64]) -> String {
    let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
    format!("[{}]", sizes.join(", "))
}
