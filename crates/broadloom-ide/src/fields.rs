//! Sizes of tensors after a dot, `y.h`: what they are, and where their names are written.

use broadloom::{Captured, Tensor};
use broadloom_diagnostics::Span;
use broadloom_lang::NamedTensor;
use broadloom_lang::syntax::lexer::lex;
use broadloom_lang::syntax::token::Token;

use crate::analysis::Analysis;
use crate::labels::{label_in_spec_of, origin, sizes_of};
use crate::occurrences::{Occurrences, Target};
use crate::paths::path;

/// The fields of all tensors that are no sizes, each with its meaning.
pub(crate) const OF_TENSORS: [(&str, &str); 2] =
    [("T", "input and output exchanged"), ("grad", "the gradient of the last `backward`")];

/// The fields that stand for all axes of a kind.
pub(crate) const KINDS: [&str; 3] = ["batch", "input", "output"];

/// A field of a tensor.
pub(crate) struct Field {
    /// The field with its tensor, `y.h`.
    pub name: String,
    pub span: Span,
    pub is_row: bool,
    /// Its size, as far as it is known; a field that is no size has none.
    pub size: Option<String>,
    /// Other facts, one sentence each.
    pub facts: Vec<String>,
}

/// A field where it is written.
struct Written {
    owner: NamedTensor,
    field: String,
    span: Span,
}

/// The field at an offset, if it is one of a tensor.
pub(crate) fn field_at(analysis: &mut Analysis, offset: u32) -> Option<Field> {
    let Written { owner, field, span } = written_at(analysis, offset)?;
    let name = format!("{}.{field}", owner.name);
    let is_row = KINDS.contains(&field.as_str());
    if let Some((_, about)) = OF_TENSORS.iter().find(|(known, _)| *known == field) {
        let facts = vec![format!("`{name}`: {about}.")];
        return Some(Field { name, span, is_row, size: None, facts });
    }
    let captured = analysis.program.graph.captured(owner.tensor, &field).ok()?;
    let known = sizes_of(analysis, &[captured], false).into_iter().flatten().next();
    let size = Some(known.unwrap_or_else(|| "?".to_string()));
    let facts = if is_row { None } else { origin(analysis, captured) };
    Some(Field { name, span, is_row, size, facts: facts.into_iter().collect() })
}

/// The size at an offset as it can be asked about, `y.h`.
pub(crate) fn named_field(analysis: &Analysis, offset: u32) -> Option<String> {
    let Written { owner, field, .. } = written_at(analysis, offset)?;
    analysis.program.graph.captured(owner.tensor, &field).ok()?;
    Some(format!("{}.{field}", owner.name))
}

/// The place where the name of a size is written, in the spec that made the tensor; the name of the tensor if it has none.
pub(crate) fn field_definition(analysis: &Analysis, offset: u32) -> Option<Span> {
    let Written { owner, field, .. } = written_at(analysis, offset)?;
    let _: Captured = analysis.program.graph.captured(owner.tensor, &field).ok()?;
    Some(label_in_spec_of(analysis, owner.span, owner.tensor, &field).unwrap_or(owner.span))
}

fn written_at(analysis: &Analysis, offset: u32) -> Option<Written> {
    let main = analysis.program.main;
    let text = analysis.sources().get(main).text();
    let names = Occurrences::new(main, text);
    let span = names.at(offset).filter(|here| here.target == Target::Field)?.span;
    let tokens = lex(main, text).tokens;
    let words = tokens.iter().filter(|token| !token.span.is_empty());
    let before: Vec<&Token> = words.take_while(|token| token.span.start <= span.start).collect();
    let parts = path(text, &before)?;
    let (field, owner) = parts.split_last()?;
    let made = || analysis.program.made.iter().rev();
    // A name means what is bound last before the field; a path means a parameter of a layer.
    let binding = match owner {
        [name] => names.bindings.find(name, span.start).map(|binding| binding.span),
        _ => None,
    };
    let owner = owner.join(".");
    let bound = binding.and_then(|bound| made().find(|made| made.span == bound));
    let owner = bound.or_else(|| made().find(|made| made.name == owner))?.clone();
    Some(Written { owner, field: field.to_string(), span })
}

/// The sizes that a tensor has by name, and those of all its kinds of axes.
pub(crate) fn sizes_by_name(analysis: &Analysis, tensor: Tensor) -> Vec<&str> {
    analysis.program.graph.captured_names(tensor).into_iter().chain(KINDS).collect()
}
