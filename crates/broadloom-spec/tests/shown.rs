//! Errors as a user sees them: under the text, with the places that they speak of.

use broadloom_diagnostics::{Diagnostic, SourceId, Sources, Style, excerpt};
use broadloom_spec::{Error, MAX_LENGTH, Span};

/// The message, the line with carets under the place, and the help; every line ends with a newline.
pub fn shown(error: &Error, text: &str) -> String {
    let (text, error) = error.clone().visible(text);
    let place = |Span { start, end }| broadloom_diagnostics::Span::new(SourceId(0), start, end);
    let mut diagnostic = Diagnostic::error("", "", place(error.span), &*error.label);
    if let Some(related) = &error.related {
        diagnostic = diagnostic.with_label(place(related.span), &*related.label);
    }
    let style = Style { between: false, width: MAX_LENGTH, ..Style::default() };
    let lines = excerpt(&Sources::one("", text), &diagnostic, style);
    let help = error.help.as_ref().map_or(String::new(), |help| format!("  = help: {help}\n"));
    format!("error: {error}\n{lines}{help}")
}

#[test]
fn errors_stand_under_the_text() {
    let text = "ij; jk -> ik";
    let error = broadloom_spec::parse_spec(text).unwrap_err();
    let expected = "\
error: the result follows `=>`, not `->`
 --> 1:8
  |
1 | ij; jk -> ik
  |        ^^ expected `=>`, found `->`
  = help: write `ij; jk => ik`; `->` is written between the input axes and the output axes of one tensor
";
    assert_eq!(shown(&error, text), expected);
}
