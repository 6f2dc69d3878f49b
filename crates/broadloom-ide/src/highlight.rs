//! Programs as HTML with a class for each word, for documents.

use broadloom_diagnostics::Sources;
use serde::Serialize;

use crate::graph::xml_escaped;
use crate::tokens::tokens;

/// A word, a number, a sign, a text or a comment of a program.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ColouredWord {
    /// Its line, from 1.
    pub line: u32,
    /// Its column, from 1, in characters.
    pub column: u32,
    /// The word.
    pub text: String,
    /// Its class: `keyword`, `function`, `leaf`, …
    pub class: &'static str,
}

/// The words of a program with their classes, in order.
pub fn coloured_words(text: &str) -> Vec<ColouredWord> {
    let sources = Sources::one("", text);
    let word = |each: crate::tokens::Classified| {
        let (line, column) = sources.position(each.span);
        ColouredWord { line, column, text: each.span.slice(text).to_string(), class: each.class.word() }
    };
    tokens(text).into_iter().filter(|each| !each.span.is_empty()).map(word).collect()
}

/// A program as an element of HTML: each word is a `span` with a class, such as `loom-keyword`. [`STYLE`] has colours for them. Programs with mistakes have colours, too.
///
/// ```
/// use broadloom_ide::highlight;
///
/// let html = highlight("let y = x < 2\n");
/// assert!(html.starts_with("<pre class=\"loom\"><code><span class=\"loom-keyword\">let</span> "));
/// assert!(html.contains("<span class=\"loom-operator\">&lt;</span>"));
/// ```
pub fn highlight(text: &str) -> String {
    let mut html = String::from("<pre class=\"loom\"><code>");
    let mut done = 0;
    for each in tokens(text).iter().filter(|each| !each.span.is_empty()) {
        let (start, end) = (each.span.start as usize, each.span.end as usize);
        // A name in the text of a spec has a class of its own, and so has the text.
        if start < done {
            continue;
        }
        escape(&text[done..start], &mut html);
        html.push_str(&format!("<span class=\"loom-{}\">", each.class.word()));
        escape(&text[start..end], &mut html);
        html.push_str("</span>");
        done = end;
    }
    escape(text[done..].trim_end(), &mut html);
    html.push_str("</code></pre>\n");
    html
}

/// A text of several lines as HTML.
fn escape(text: &str, out: &mut String) {
    let lines: Vec<String> = text.split('\n').map(xml_escaped).collect();
    out.push_str(&lines.join("\n"));
}

/// Colours for the classes, light and dark.
pub const STYLE: &str = "\
.loom { color: #1f2328; background: #fdfcfa; padding: .5rem .75rem; overflow-x: auto; }
.loom-comment { color: #6a6f76; font-style: italic; }
.loom-keyword { color: #7a3e9d; }
.loom-number { color: #9a4b00; }
.loom-text { color: #2c6e2f; }
.loom-function { color: #0b5cad; }
.loom-leaf, .loom-parameter { color: #0b6e69; }
.loom-dim { color: #a0366d; }
@media (prefers-color-scheme: dark) {
  .loom { color: #e3e6ea; background: #16191d; }
  .loom-comment { color: #8b929b; }
  .loom-keyword { color: #c79bf2; }
  .loom-number { color: #f0a868; }
  .loom-text { color: #8fce8f; }
  .loom-function { color: #7cb7ff; }
  .loom-leaf, .loom-parameter { color: #62d0c4; }
  .loom-dim { color: #f08cbc; }
}
";
