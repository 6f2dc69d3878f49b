//! After random edits, the answers are those of a server that was given the final text at once. `BROADLOOM_EDITS` says
//! how many edits are made.

use broadloom_testing::{Dice, setting};
use serde_json::{Value, json};

use crate::client::{Client, DOCUMENT};

const PROGRAM: &str = "\
dim batch in 1..64 = 32
data x : batch | 784
data target : batch | 10
# A layer.
def dense(size)(x) = relu({w} @ x + {b : size})
let hidden = x |> dense(64)
let y = einsum(\"i -> h; ... | i => ... | h\", {v}, hidden)
set y.h = 10
let loss = mean(square(y - target))
repeat 10:
  minimise loss by sgd(0.1)
";

/// The pieces that are typed: parts of programs, and letters that break them.
const PIECES: &[&str] = &[
    "x",
    "y",
    " + ",
    "\n",
    "let z = x\n",
    "(",
    ")",
    "{w}",
    "\"",
    "é",
    "𝔸",
    "# ",
    ": 32 | 10",
    " |> relu",
    "\r\n",
    "",
    "",
    "",
    "  ",
    "def f(x) = x\n",
    "10",
    ".h",
    "import \"a.loom\"\n",
    "batch",
];

/// The position of an offset in units of UTF-8, by a definition of its own.
fn position(text: &str, offset: usize) -> Value {
    let before = &text[..offset];
    let line_ends: Vec<usize> = before
        .char_indices()
        .filter(|(at, letter)| *letter == '\n' || (*letter == '\r' && !text[at + 1..].starts_with('\n')))
        .map(|(at, _)| at + 1)
        .collect();
    let start = line_ends.last().copied().unwrap_or(0);
    json!({ "line": line_ends.len(), "character": offset - start })
}

/// Every answer about a document that does not depend on a place, and some that do.
fn answers(client: &mut Client, text: &str) -> Vec<Value> {
    let everything =
        json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 100_000, "character": 0 } });
    let middle = position(text, text.floor_char_boundary(text.len() / 2));
    let questions = [
        ("inlayHint", json!({ "range": everything })),
        ("documentSymbol", json!({})),
        ("semanticTokens/full", json!({})),
        ("foldingRange", json!({})),
        ("completion", json!({ "position": middle })),
        ("definition", json!({ "position": middle })),
        ("formatting", json!({ "options": { "tabSize": 2, "insertSpaces": true } })),
    ];
    let ask = |(method, more): (&str, Value)| {
        client.about(&format!("textDocument/{method}"), more).expect("an answer")
    };
    questions.into_iter().map(ask).collect()
}

#[test]
fn answers_equal_those_of_a_fresh_server() {
    let edits = setting("BROADLOOM_EDITS", 10_000) as usize;
    // Answers are compared after every such number of edits.
    const TOGETHER: usize = 50;
    let (mut random, mut text, mut version) = (Dice::new(1), PROGRAM.to_string(), 1);
    let mut client = Client::with_program(&text);
    for round in 0..edits.div_ceil(TOGETHER) {
        if text.len() > 3_000 || round % 7 == 6 {
            version += 1;
            text = PROGRAM.to_string();
            client.edit(DOCUMENT, version, json!([{ "text": text }]));
        }
        for _ in 0..TOGETHER.min(edits) {
            let start = text.floor_char_boundary(random.below(text.len() + 1));
            let end = text.floor_char_boundary((start + random.below(6)).min(text.len()));
            // A carriage return and a line feed are one line end: no position is between them.
            let between = |at: usize| text[..at].ends_with('\r') && text[at..].starts_with('\n');
            let end = end.max(start);
            if between(start) || between(end) {
                continue;
            }
            let piece = random.pick(PIECES);
            let range = json!({ "start": position(&text, start), "end": position(&text, end) });
            text.replace_range(start..end, piece);
            version += 1;
            client.edit(DOCUMENT, version, json!([{ "range": range, "text": piece }]));
        }
        let mut fresh = Client::with_program(&text);
        assert_eq!(client.diagnostics(DOCUMENT, version), fresh.diagnostics(DOCUMENT, 1), "{text}");
        assert_eq!(answers(&mut client, &text), answers(&mut fresh, &text), "{text}");
    }
}
