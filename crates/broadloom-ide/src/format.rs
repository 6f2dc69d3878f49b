//! The standard layout of a text.

use broadloom_diagnostics::{Diagnostic, Edit, Source, SourceId, Sources, Span};
use broadloom_lang::syntax::lexer::lex;
use broadloom_lang::syntax::reformat;
use broadloom_lang::syntax::token::TokenKind;

/// The text in its standard layout, or the errors that keep it from being parsed. The text is added
/// to the sources, which messages refer to.
///
/// ```
/// use broadloom_diagnostics::Sources;
/// use broadloom_ide::format;
///
/// let mut sources = Sources::new();
/// assert_eq!(format(&mut sources, "a.loom", "let   y=x+1"), Ok("let y = x + 1\n".to_string()));
/// assert!(format(&mut sources, "b.loom", "let = 3").is_err());
/// ```
pub fn format(sources: &mut Sources, name: &str, text: &str) -> Result<String, Vec<Diagnostic>> {
    let source = sources.add(name, text);
    reformat(source, text)
}

/// The changes that give a text its standard layout. Statements that cannot be parsed stay as they are.
///
/// ```
/// use broadloom_ide::{applied, format_edits};
///
/// let text = "let   y=1\nlet z = = 2\nlet a=y";
/// assert_eq!(applied(text, &format_edits(text)), "let y = 1\nlet z = = 2\nlet a = y");
/// ```
pub fn format_edits(text: &str) -> Vec<Edit> {
    match reformat(SourceId(0), text) {
        Ok(new) => changed(text, 0, &new).into_iter().collect(),
        Err(_) => format_range(text, 0, text.len() as u32),
    }
}

/// The changes that give the statements between two offsets their standard layout.
///
/// ```
/// use broadloom_ide::{applied, format_range};
///
/// let text = "let   y=1\nlet   z=2\n";
/// assert_eq!(applied(text, &format_range(text, 12, 13)), "let   y=1\nlet z = 2\n");
/// ```
pub fn format_range(text: &str, start: u32, end: u32) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (first, last) in statements(text) {
        let within = first < end.max(start + 1) && start <= last;
        let part = text.get(first as usize..last as usize).filter(|_| within).unwrap_or_default();
        if let Ok(new) = reformat(SourceId(0), part).as_deref() {
            edits.extend(changed(part, first, new.trim_end_matches('\n')));
        }
    }
    edits
}

/// The statements of a text outside of blocks, each from the start of its line to its last line that is not empty.
/// Comments belong to the statement before them.
fn statements(text: &str) -> Vec<(u32, u32)> {
    let source = Source::new("", text);
    let (mut starts, mut depth, mut fresh) = (Vec::new(), 0_usize, true);
    for token in lex(SourceId(0), text).tokens {
        match token.kind {
            TokenKind::Indent => depth += 1,
            TokenKind::Dedent => depth = depth.saturating_sub(1),
            TokenKind::Newline => fresh = true,
            TokenKind::End => {}
            _ => {
                if std::mem::take(&mut fresh) && depth == 0 {
                    starts.push(source.line_bytes(source.line_of(token.span.start)).0);
                }
            }
        }
    }
    let ends = starts.iter().copied().skip(1).chain([text.len() as u32]);
    let trimmed = |(start, end): (u32, u32)| {
        let part = text.get(start as usize..end as usize).unwrap_or_default();
        (start, start + part.trim_end().len() as u32)
    };
    starts.iter().copied().zip(ends).map(trimmed).collect()
}

/// The change from an old text to a new one, without the lines at the beginning and the end that are equal.
fn changed(old: &str, offset: u32, new: &str) -> Option<Edit> {
    if old == new {
        return None;
    }
    let same = |(old, new): (&str, &str)| (old == new).then_some(old.len());
    let olds: Vec<&str> = old.split_inclusive('\n').collect();
    let news: Vec<&str> = new.split_inclusive('\n').collect();
    let lead: Vec<usize> = olds.iter().copied().zip(news.iter().copied()).map_while(same).collect();
    let (olds, news) = (&olds[lead.len()..], &news[lead.len()..]);
    let trail = olds.iter().rev().copied().zip(news.iter().rev().copied()).map_while(same);
    let (lead, trail) = (lead.iter().sum::<usize>(), trail.sum::<usize>());
    let span = Span::new(SourceId(0), offset + lead as u32, offset + (old.len() - trail) as u32);
    Some(Edit { span, text: new[lead..new.len() - trail].to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::applied;

    #[test]
    fn only_lines_that_change_are_replaced() {
        let text = "let a = 1\nlet   b = 2\nlet c = 3\n";
        let edits = format_edits(text);
        assert_eq!(edits, [Edit { span: Span::new(SourceId(0), 10, 22), text: "let b = 2\n".into() }]);
        assert_eq!(format_edits("let a = 1\n"), []);
    }

    #[test]
    fn blocks_and_continued_lines_are_whole() {
        let text = "repeat 3:\n    print   1\nlet y = [\n1,\n]\nlet = 3\n";
        let new = applied(text, &format_edits(text));
        assert_eq!(new, "repeat 3:\n  print 1\nlet y = [1]\nlet = 3\n");
        assert_eq!(
            applied(text, &format_range(text, 15, 16)),
            text.replacen("    print   1", "  print 1", 1)
        );
    }
}
