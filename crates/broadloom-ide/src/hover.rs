//! Hovers: the information that an editor shows about the name under the cursor.

use broadloom::Tensor;
use broadloom_diagnostics::Span;
use broadloom_lang::Asked;
use serde::Serialize;

use crate::alone::alone;
use crate::analysis::Analysis;
use crate::builtin::builtin;
use crate::check::{Checked, CheckedTensor, check};
use crate::definition::Named;
use crate::fields::{Field, field_at};
use crate::labels::{Label, label_at};
use crate::names::{Binding, BindingKind, comment_above};
use crate::occurrences::{Occurrences, Target};
use crate::place::Place;
use crate::{Listing, dims, loops, range_text, signatures};

/// The most tensors of one name that are shown: a function makes its parameters again for each
/// configuration.
const TENSORS: usize = 6;

/// The information about a name.
#[derive(Clone, Debug, Serialize)]
pub struct Hover {
    /// The place where the name is written.
    #[serde(flatten)]
    pub place: Place,
    /// The name.
    pub name: String,
    /// Its kind, in a word: `data`, `parameter`, `function`, …
    pub kind: &'static str,
    /// The line that introduces it, if it is not a tensor: `def linear(size = inferred)(x)`.
    pub signature: Option<String>,
    /// The shapes that a function takes and gives, its parameters and its conditions, if they can be inferred.
    pub shapes: Option<String>,
    /// The comment above that line.
    pub documentation: Option<String>,
    /// The tensors of this name.
    pub tensors: Vec<HoverTensor>,
    /// Other facts, one sentence each.
    pub facts: Vec<String>,
    /// The place where the name is written, as a span.
    #[serde(skip)]
    pub span: Span,
}

/// A tensor under the cursor.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct HoverTensor {
    /// Its name, with the path of the functions it was made in.
    pub name: String,
    /// Its shape, as far as it is known.
    pub shape: String,
    /// A description of how the shape is known; empty if the program has errors.
    pub how: String,
    /// The loops that compute it, if it is computed.
    pub loops: Option<String>,
}

/// The information about the name at an offset of the program's text, or the label of a spec.
///
/// ```
/// use broadloom_ide::{Analysis, Text, hover};
///
/// let text = "data x : 32 | 784\nlet y = x |> linear(10)\n";
/// let mut analysis = Analysis::new(&Text::new("a.loom", text));
/// let y = hover(&mut analysis, text.find('y').unwrap() as u32).unwrap();
/// assert_eq!((y.kind, y.tensors[0].shape.as_str()), ("value", "32 | 10"));
/// let linear = hover(&mut analysis, text.find("linear").unwrap() as u32).unwrap();
/// assert_eq!(linear.signature.as_deref(), Some("def linear(size = inferred)(x)"));
/// let shapes = linear.shapes.unwrap();
/// assert!(shapes.starts_with("linear(size = inferred)(x : ..b.. | ..i.. -> ..o..) -> ..b.. | ..i.. -> ..size.."));
/// ```
pub fn hover(analysis: &mut Analysis, offset: u32) -> Option<Hover> {
    let Some(Named { name, span, binding }) = Named::find(analysis, offset) else {
        let label = label_at(analysis, offset).map(|label| of_label(analysis, label));
        if label.is_some() {
            return label;
        }
        let field = field_at(analysis, offset).map(|field| of_field(analysis, field));
        return field.or_else(|| argument_of_language(analysis, offset));
    };
    let place = Place::new(analysis.sources(), span);
    let nothing = Hover {
        place,
        name,
        kind: "function",
        signature: None,
        shapes: None,
        documentation: None,
        tensors: Vec::new(),
        facts: Vec::new(),
        span,
    };
    let Some(binding) = binding else {
        let known = builtin(&nothing.name)?;
        let signature = Some(known.call.to_string());
        let facts = vec![known.about.to_string(), "It is part of the language.".to_string()];
        return Some(Hover { signature, facts, ..nothing });
    };
    let text = analysis.sources().get(binding.span.source).text();
    let documentation = comment_above(text, binding.head.start);
    let signature = binding.head.slice(text).to_string();
    let nothing = Hover { kind: binding.kind.word(), documentation, ..nothing };
    Some(match binding.kind {
        BindingKind::Function => {
            Hover { signature: Some(signature), shapes: function_shapes(analysis, &binding), ..nothing }
        }
        BindingKind::Module => Hover { signature: Some(signature), ..nothing },
        BindingKind::Dim => Hover { signature: Some(signature), facts: size(analysis, &binding), ..nothing },
        // A comment above a line with an argument or a variable is about the line.
        BindingKind::Argument if binding.span.source != analysis.program.main => Hover {
            facts: vec![format!(
                "It is an argument of `{}`.",
                one_line(signature.trim_start_matches("def "))
            )],
            documentation: None,
            ..nothing
        },
        BindingKind::Argument | BindingKind::Variable => Hover { documentation: None, ..nothing },
        BindingKind::Data | BindingKind::State | BindingKind::Value | BindingKind::Parameter => {
            // Of the parameters that a function makes, a path means one.
            let path = Some(nothing.name.clone()).filter(|name| name.contains('.'));
            Hover { tensors: tensors(analysis, binding.span, path.as_deref()), ..nothing }
        }
    })
}

/// A text in one line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The information about a label of a spec.
fn of_label(analysis: &Analysis, label: Label) -> Hover {
    Hover {
        place: Place::new(analysis.sources(), label.span),
        signature: Some(format!("{} = {}", label.name, label.size)),
        name: label.name,
        kind: if label.is_row { "row of axes" } else { "label" },
        shapes: None,
        documentation: None,
        tensors: Vec::new(),
        facts: label.facts,
        span: label.span,
    }
}

/// The information about a field of a tensor.
fn of_field(analysis: &Analysis, field: Field) -> Hover {
    let kind = match (&field.size, field.is_row) {
        (None, _) => "field",
        (_, true) => "row of axes",
        _ => "size",
    };
    Hover {
        place: Place::new(analysis.sources(), field.span),
        signature: field.size.map(|size| format!("{} = {size}", field.name)),
        name: field.name,
        kind,
        shapes: None,
        documentation: None,
        tensors: Vec::new(),
        facts: field.facts,
        span: field.span,
    }
}

/// The information about an argument by name of a function of the language.
fn argument_of_language(analysis: &Analysis, offset: u32) -> Option<Hover> {
    let main = analysis.program.main;
    let text = analysis.sources().get(main).text();
    let names = Occurrences::new(main, text);
    let here = names.at(offset)?;
    let Target::Argument(Some(callee)) = here.target else { return None };
    let (known, name) = (builtin(callee.slice(text))?, here.span.slice(text));
    known.call.contains(&format!("{name} = ")).then(|| Hover {
        place: Place::new(analysis.sources(), here.span),
        name: name.to_string(),
        kind: "argument",
        signature: None,
        shapes: None,
        documentation: None,
        tensors: Vec::new(),
        facts: vec![format!("It is an argument of `{}`.", known.call)],
        span: here.span,
    })
}

/// The signature of a function that can be named where its file ends.
fn function_shapes(analysis: &Analysis, binding: &Binding) -> Option<String> {
    let found = signatures(&alone(analysis, binding), &Asked::One(binding.name.clone()));
    let same = |place: &Place| *place == Place::new(analysis.sources(), binding.span);
    let known = found.answer.signatures.into_iter().find(|known| same(&known.place))?;
    known.not_inferred.is_none().then_some(known.text)
}

/// A description of a named size.
fn size(analysis: &Analysis, binding: &Binding) -> Vec<String> {
    let all = dims(analysis);
    let Some(dim) = all.iter().rev().find(|dim| dim.name == binding.name) else { return Vec::new() };
    let mut facts = vec![format!("{} = {}", dim.name, dim.size)];
    facts.extend((!dim.decided.is_empty()).then(|| format!("decided {}", dim.decided)));
    facts.extend(dim.left.map(|left| format!("the program leaves {}", range_text(left))));
    facts
}

/// The tensors that are named at a place, or the one of them with a path.
fn tensors(analysis: &mut Analysis, span: Span, path: Option<&str>) -> Vec<HoverTensor> {
    let is_meant = |at: Span, name: &str| at == span && path.is_none_or(|path| path == name);
    let made = analysis.program.made.iter().filter(|made| is_meant(made.span, &made.name));
    let ids: Vec<(String, Tensor)> =
        made.take(TENSORS).map(|made| (made.name.clone(), made.tensor)).collect();
    let Checked { tensors, .. } = check(analysis, Listing::All);
    let is_here = |each: &&CheckedTensor| is_meant(each.span, &each.name);
    let mut shown = Vec::new();
    for ((name, tensor), checked) in ids.into_iter().zip(tensors.iter().filter(is_here)) {
        let is_computed = analysis.is_ok() && checked.kind == "value";
        let loops = is_computed.then(|| loops::forward(&mut analysis.program, tensor).forward);
        let (shape, how) = (checked.shape.clone(), checked.how_words().to_string());
        shown.push(HoverTensor { name, shape, how, loops });
    }
    shown
}

impl Hover {
    /// The information as Markdown.
    ///
    /// ```
    /// use broadloom_ide::{Analysis, Text, hover};
    ///
    /// let text = "data x : 3\nlet y = 2 * x\n";
    /// let hover = hover(&mut Analysis::new(&Text::new("a.loom", text)), 15).unwrap();
    /// assert!(hover.markdown().starts_with("```loom\ny : 3\n```\nvalue, inferred\n"));
    /// ```
    pub fn markdown(&self) -> String {
        let code = |text: &str| format!("```loom\n{}\n```\n", text.trim_end());
        let mut out: String = self.signature.iter().chain(&self.shapes).map(|text| code(text)).collect();
        for tensor in &self.tensors {
            out.push_str(&code(&format!("{} : {}", tensor.name, tensor.shape)));
            let how = if tensor.how.is_empty() { String::new() } else { format!(", {}", tensor.how) };
            out.push_str(&format!("{}{how}\n", self.kind));
            out.push_str(&tensor.loops.as_deref().map(code).unwrap_or_default());
        }
        if out.is_empty() {
            out = format!("`{}`: {}\n", self.name, self.kind);
        }
        for text in self.documentation.iter().chain(&self.facts) {
            out.push_str(&format!("\n{text}\n"));
        }
        out
    }
}
