//! Broadloom in a web page.
//!
//! [`answer`] takes a question and gives an answer, both in JSON; in WebAssembly, `abi` passes them to JavaScript and back. Offsets in a text are counted
//! as JavaScript counts them, in UTF-16. Everything is answered by `broadloom-ide`; this crate only translates.
//!
//! | file | is about |
//! |---|---|
//! | `question` | what can be asked |
//! | `units` | offsets as JavaScript counts them |
//! | `editing` | what a page shows while people type: mistakes, hints, colours, shapes; hovers and completions |
//! | `panels` | what a page shows beside the text: explanations, loops, pictures, memory, signatures, code for other tools |
//! | `running` | runs, with what they print and how losses go |
//! | `abi` | the boundary of WebAssembly |

#[cfg(target_arch = "wasm32")]
mod abi;
mod editing;
mod panels;
mod question;
mod running;
mod units;

use question::Question;
use serde::Serialize;

/// Answers a question. What a run prints is passed to `report` while it runs, one JSON object at a time.
///
/// ```
/// let asked = r#"{"ask": "explain", "text": "data x : 3\nlet y = 2 * x\n", "name": "y.0"}"#;
/// let answer = broadloom_web::answer(asked, &mut |_| {});
/// assert!(answer.starts_with(r#"{"text":"y.output.0 is 3, forced"#), "{answer}");
/// let wrong = broadloom_web::answer("{}", &mut |_| {});
/// assert!(wrong.starts_with(r#"{"failed":"#));
/// ```
pub fn answer(question: &str, report: &mut dyn FnMut(&str)) -> String {
    let answered = match serde_json::from_str(question) {
        Ok(question) => asked(question, report),
        Err(error) => Err(format!("this is no question: {error}")),
    };
    answered.unwrap_or_else(|failed| json(&Failed { failed }).unwrap_or_else(|text| text))
}

/// The answer to a question that cannot be answered.
#[derive(Serialize)]
struct Failed {
    failed: String,
}

fn asked(question: Question, report: &mut dyn FnMut(&str)) -> Result<String, String> {
    match question {
        Question::Edit { text } => json(&editing::edited(&text)),
        Question::Hover { text, at } => json(&editing::hover(&text, at)),
        Question::Complete { text, at } => json(&editing::completions(&text, at)),
        Question::Format { text } => json(&editing::formatted(&text)),
        Question::Explain { text, name } => json(&panels::explanation(&text, &name)?),
        Question::ExplainAt { text, at } => json(&panels::explanation_at(&text, at)?),
        Question::Loops { text, optimised } => json(&panels::loops(&text, optimised)?),
        Question::Graph { text } => json(&panels::graph(&text)?),
        Question::Memory { text } => json(&panels::memory(&text)?),
        Question::Signatures { text } => json(&panels::signatures(&text)),
        Question::Emit { text, format } => json(&panels::emitted(&text, format)),
        Question::Run { text, seed } => json(&running::run(&text, seed, report)),
    }
}

fn json(answer: &impl Serialize) -> Result<String, String> {
    serde_json::to_string(answer).map_err(|error| error.to_string())
}

/// The README of the crate, so that its example is run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
