//! Semantic tokens: names coloured by what they stand for.

use broadloom_diagnostics::Source;
use broadloom_ide::{Class, Classified};
use gen_lsp_types::{SemanticToken, SemanticTokens, SemanticTokensParams, SemanticTokensRangeParams};

use crate::position::Encoding;
use crate::world::{Answer, World};

/// The types of tokens, in the order of their numbers.
pub(crate) const TYPES: &[&str] = &[
    "comment",
    "keyword",
    "number",
    "string",
    "operator",
    "variable",
    "parameter",
    "function",
    "property",
    "namespace",
    "enumMember",
    "type",
];

/// The number of the type for a class; None for what editors colour by themselves.
fn number(class: Class) -> Option<u32> {
    let name = match class {
        Class::Comment => "comment",
        Class::Keyword => "keyword",
        Class::Number => "number",
        Class::Text => "string",
        Class::Operator => "operator",
        Class::Punctuation | Class::Name => return None,
        Class::Value => "variable",
        Class::Leaf => "enumMember",
        Class::Parameter => "property",
        Class::Function => "function",
        Class::Argument => "parameter",
        Class::Dim => "type",
        Class::Module => "namespace",
        Class::Field => "property",
    };
    TYPES.iter().position(|known| *known == name).map(|at| at as u32)
}

/// The tokens of a document.
pub(crate) fn whole(world: &mut World, params: SemanticTokensParams) -> Answer<Option<SemanticTokens>> {
    let encoding = world.encoding;
    let Some(source) = world.text(&params.text_document.uri)? else { return Ok(None) };
    Ok(Some(encoded(encoding, source, 0, u32::MAX)))
}

/// The tokens of a part of a document.
pub(crate) fn range(world: &mut World, params: SemanticTokensRangeParams) -> Answer<Option<SemanticTokens>> {
    let uri = params.text_document.uri;
    let (start, end) = world.offsets_of(&uri, params.range)?;
    let encoding = world.encoding;
    let Some(source) = world.text(&uri)? else { return Ok(None) };
    Ok(Some(encoded(encoding, source, start, end)))
}

/// Each token relative to the one before it.
fn encoded(encoding: Encoding, source: &Source, start: u32, end: u32) -> SemanticTokens {
    let (mut line, mut column) = (0, 0);
    let mut data = Vec::new();
    let within = |each: &&Classified| start <= each.span.end && each.span.start <= end;
    for each in broadloom_ide::tokens(source.text()).iter().filter(within) {
        let Some(token_type) = number(each.class) else { continue };
        let position = encoding.position(source, each.span.start);
        let delta_line = position.line - line;
        data.push(SemanticToken {
            delta_line,
            delta_start: if delta_line == 0 { position.character - column } else { position.character },
            length: encoding.length(each.span.slice(source.text())),
            token_type,
            token_modifiers_bitset: u32::from(each.is_definition),
        });
        (line, column) = (position.line, position.character);
    }
    SemanticTokens { result_id: None, data }
}
