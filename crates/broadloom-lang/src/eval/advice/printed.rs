//! Texts that are printed. What stands in their braces is an expression; other languages have formats there.

use broadloom_diagnostics::{Diagnostic, Span};

use crate::codes;
use crate::eval::{Eval, Evaluated};
use crate::syntax::ast::{ExprId, ExprKind, FilledIn};

/// Reports texts with braces around what is no expression, such as `{loss:.3f}`.
pub(in crate::eval) fn formats_in_texts(
    eval: &mut Eval<'_>,
    parts: &[ExprId],
    every: Option<ExprId>,
    span: Span,
) -> Evaluated<()> {
    let file = eval.frame.file.clone();
    let mut first: Option<(String, Span)> = None;
    let mut written = Vec::new();
    for part in parts {
        let at = eval.span_of(*part);
        match (&file.expr(*part).kind, file.filled_in(*part)) {
            (ExprKind::Text(text), Some(inside)) if inside.iter().any(|each| each.value.is_none()) => {
                let (plain, wrong) = without_forms(text, inside);
                written.push(format!("\"{plain}\""));
                first = first.or(Some((wrong, at)));
            }
            _ => written.push(eval.sources.slice(at).to_string()),
        }
    }
    let Some((wrong, at)) = first else { return Ok(()) };
    let form = without_form(&wrong);
    if form == wrong.trim() || form.is_empty() || eval.place(span) != span {
        let message = format!("`{wrong}` in braces is no expression");
        let help =
            "`{name}` in a text is filled in, and in what is printed any expression is: `\"loss {mean(x)}\"`";
        return eval.wrong(codes::NOTATION, message, at, help);
    }
    let every = every.map_or(String::new(), |every| format!(" every {}", eval.quote(eval.span_of(every))));
    let written = format!("print {}{every}", written.join(", "));
    // How the text is written is no matter of interest once it is taken apart.
    eval.diagnostics.retain(|known| {
        let place = known.primary().map_or(span, |label| label.span);
        !(span.contains(place) && known.code == codes::EXPECTED)
    });
    let message = format!("braces in a text hold an expression, and `{wrong}` has a format");
    let diagnostic = Diagnostic::error(codes::KIND, message, at, "");
    eval.fail(diagnostic.with_fix(format!("write `{written}`"), span, written))
}

/// A text without what other languages write behind expressions, and the first braces that have it.
fn without_forms(text: &str, inside: &[FilledIn]) -> (String, String) {
    let (mut plain, mut from, mut first) = (String::new(), 0, None);
    for FilledIn { within, value } in inside {
        let inner = &text[within.clone()];
        let shown = if value.is_none() { without_form(inner) } else { inner };
        plain.push_str(&text[from..within.start]);
        plain.push_str(shown);
        first = first.or(value.is_none().then(|| inner.to_string()));
        from = within.end;
    }
    plain.push_str(&text[from..]);
    (plain, first.unwrap_or_default())
}

/// An expression in a text without its format, as in `{loss:.3f}`, and without a method that takes a number out.
fn without_form(inner: &str) -> &str {
    let mut depth = 0;
    let end = inner.find(|letter: char| {
        match letter {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            _ => {}
        }
        depth == 0 && matches!(letter, ':' | '!')
    });
    let mut inner = inner[..end.unwrap_or(inner.len())].trim().trim_end_matches('=').trim();
    while let Some(shorter) =
        [".item()", ".numpy()", ".detach()", ".cpu()"].iter().find_map(|method| inner.strip_suffix(method))
    {
        inner = shorter;
    }
    inner
}
