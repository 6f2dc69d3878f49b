//! `broadloom highlight`: programs as HTML with colours, for documents.

use std::path::PathBuf;

use broadloom_diagnostics::Sources;
use broadloom_ide::{ColouredWord, STYLE, coloured_words, highlight};
use serde::Serialize;

use crate::console::Console;
use crate::json;
use crate::output::{Output, Status};
use crate::program::{read, unusable};

/// The arguments of `highlight`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// The program, or `-` for standard input
    #[arg(value_name = "FILE", required_unless_present = "css")]
    file: Option<PathBuf>,
    /// Print a style sheet for the classes, light and dark
    #[arg(long, conflicts_with_all = ["file", "json"])]
    css: bool,
    /// Print one JSON object: the words with their places and classes, and the HTML
    #[arg(long)]
    json: bool,
}

pub(crate) const HELP: &str = "\
Prints an element of HTML in which each word of the program is a `span` with a class: `loom-keyword`, `loom-number`, `loom-text`,
`loom-comment`, `loom-operator`, `loom-punctuation`, and for names what they stand for: `loom-value`, `loom-leaf` (data and states),
`loom-parameter`, `loom-function`, `loom-argument`, `loom-dim`, `loom-module`, `loom-field`, or `loom-name`.
Programs are not checked: pieces of programs, and programs with mistakes, have colours, too.

Exit status: 0 success, 2 the file cannot be read.

Examples:
  broadloom highlight model.loom > model.html
  broadloom highlight --css > loom.css
  printf 'let y = relu(x)' | broadloom highlight -      # from the generator of a site";

/// Prints a program with colours, or the style sheet.
pub fn run(args: &Args, console: &mut Console<'_>) -> Output {
    let mut output = Output::new(Status::Fine);
    let Some(file) = &args.file else {
        output.stdout = STYLE.to_string();
        return output;
    };
    let text = match read(file, console) {
        Ok(text) => text,
        Err(why) => return unusable("highlight", why, args.json),
    };
    let html = highlight(&text.text);
    output.stdout = match args.json {
        true => {
            let data = Data { file: text.name, words: coloured_words(&text.text), html };
            json::object("highlight", &Sources::new(), &[], data)
        }
        false => html,
    };
    output
}

#[derive(Serialize)]
struct Data {
    file: String,
    words: Vec<ColouredWord>,
    html: String,
}
