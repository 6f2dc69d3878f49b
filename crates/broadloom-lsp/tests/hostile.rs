//! Editors that do everything wrong: order, documents, positions, versions, cancelled requests, huge edits.

use std::time::{Duration, Instant};

use broadloom_lsp::Ended;
use serde_json::{Value, json};

use crate::client::{Client, DOCUMENT};

const NOT_INITIALIZED: i32 = -32002;
const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
const CANCELLED: i32 = -32800;
const MODIFIED: i32 = -32801;

fn code(answer: Result<Value, (i32, String)>) -> i32 {
    answer.expect_err("a refusal").0
}

fn at(line: u32, character: u32) -> Value {
    json!({ "position": { "line": line, "character": character } })
}

#[test]
fn messages_in_the_wrong_order() {
    let mut client = Client::silent();
    assert_eq!(code(client.about("textDocument/hover", at(0, 0))), NOT_INITIALIZED);
    client.open(DOCUMENT, "let y = 1\n");
    assert_eq!(code(client.ask("initialize", json!("nonsense"))), INVALID_PARAMS);
    client
        .ask("initialize", json!({ "processId": null, "rootUri": null, "capabilities": {} }))
        .expect("it begins");
    assert_eq!(
        code(client.ask("initialize", json!({ "processId": null, "rootUri": null, "capabilities": {} }))),
        INVALID_REQUEST
    );
    // What was opened too early is not open.
    assert_eq!(code(client.about("textDocument/hover", at(0, 0))), INVALID_PARAMS);
    client.ask("shutdown", Value::Null).expect("a goodbye");
    assert_eq!(code(client.about("textDocument/hover", at(0, 0))), INVALID_REQUEST);
    client.tell("exit", Value::Null);
    assert_eq!(client.vanish(), Ended::Properly);
}

#[test]
fn editors_that_vanish() {
    assert_eq!(Client::silent().vanish(), Ended::Abruptly);
    assert_eq!(Client::with_program("let y = 1\n").vanish(), Ended::Abruptly);
    assert_eq!(Client::with_program("let y = 1\n").leave(), Ended::Properly);
}

#[test]
fn requests_that_cannot_be_read() {
    let mut client = Client::with_program("let y = 1\n");
    assert_eq!(code(client.ask("textDocument/hover", json!({ "no": "document" }))), INVALID_PARAMS);
    assert_eq!(code(client.about("textDocument/hover", json!({ "position": "here" }))), INVALID_PARAMS);
    assert_eq!(code(client.about("textDocument/moniker", at(0, 0))), METHOD_NOT_FOUND);
    client.tell("textDocument/didChange", json!({ "nonsense": true }));
    client.tell(
        "textDocument/didChange",
        json!({ "textDocument": { "uri": "untitled:nobody", "version": 2 }, "contentChanges": [] }),
    );
    client.tell("$/whatever", json!(3));
    assert!(client.about("textDocument/hover", at(0, 4)).expect("an answer")["contents"].is_object());
}

#[test]
fn positions_outside_of_the_text() {
    let mut client = Client::with_program("let y = 1\n");
    for (line, character) in [(0, 999), (999, 0), (u32::MAX / 2, u32::MAX / 2)] {
        for method in
            ["hover", "definition", "completion", "signatureHelp", "documentHighlight", "prepareRename"]
        {
            client.about(&format!("textDocument/{method}"), at(line, character)).expect("an answer");
        }
    }
    let backwards = json!({ "start": { "line": 9, "character": 9 }, "end": { "line": 0, "character": 0 } });
    client.about("textDocument/inlayHint", json!({ "range": backwards })).expect("an answer");
    let change = json!([{ "range": backwards, "text": "let z = 2\n" }]);
    client.edit(DOCUMENT, 2, change);
    assert_eq!(client.diagnostics(DOCUMENT, 2), Vec::<Value>::new());
}

/// Requests that wait while a document is edited, or that are cancelled, are refused by the right number. The server may
/// be fast enough to answer before it sees the second message, so both are right.
#[test]
fn requests_that_are_overtaken() {
    let mut client = Client::with_program(&long_program(300));
    for version in 2..12 {
        let hover = client.send(
            "textDocument/hover",
            json!({ "textDocument": { "uri": DOCUMENT }, "position": { "line": 1, "character": 4 } }),
        );
        let lens = client.send("textDocument/codeLens", json!({ "textDocument": { "uri": DOCUMENT } }));
        client.tell("$/cancelRequest", json!({ "id": serde_json::to_value(&lens).expect("an id") }));
        client.edit(DOCUMENT, version, json!([{ "text": long_program(300) }]));
        let refused = [client.answer(&hover), client.answer(&lens)];
        for answer in refused {
            let code = answer.err().map(|(code, _)| code);
            assert!(matches!(code, None | Some(CANCELLED | MODIFIED)), "{code:?}");
        }
    }
    // The last text is checked, whatever was left out before.
    assert!(client.diagnostics(DOCUMENT, 11).is_empty());
}

/// A program that takes long to read, in many statements or in a single one.
fn slow_programs() -> [String; 2] {
    let line = |at: usize| format!("let y{at} = [sin(k) for k in 0..20000]\n");
    let many: String = (0..150).map(line).collect();
    [many, "let y = [[sin(j * k) for k in 0..2000] for j in 0..1500]\n".to_string()]
}

/// A check that nobody needs any more is given up: nothing is said about the text of yesterday.
#[test]
fn checks_that_are_overtaken_by_an_edit() {
    for program in slow_programs() {
        let mut client = Client::with_program("let y = 1\n");
        client.diagnostics(DOCUMENT, 1);
        let begun = Instant::now();
        client.edit(DOCUMENT, 2, json!([{ "text": program }]));
        client.diagnostics(DOCUMENT, 2);
        let whole = begun.elapsed();
        client.edit(DOCUMENT, 3, json!([{ "text": "let y = 1\n" }]));
        client.diagnostics(DOCUMENT, 3);
        let begun = Instant::now();
        client.edit(DOCUMENT, 4, json!([{ "text": program }]));
        // It has begun before it is overtaken.
        std::thread::sleep(whole / 10);
        client.edit(DOCUMENT, 5, json!([{ "text": "let y = nobody\n" }]));
        let (version, found) = client.next_diagnostics(DOCUMENT);
        assert_eq!((version, found.len()), (5, 1), "the check of version 4 was given up");
        assert!(begun.elapsed() < whole * 2 / 3, "{:?} of {whole:?}", begun.elapsed());
    }
}

/// A request for which a program is read ends as soon as it is cancelled, or its document is edited or closed.
#[test]
fn requests_that_are_cancelled_while_they_run() {
    let [program, _] = slow_programs();
    let about = json!({ "textDocument": { "uri": DOCUMENT }, "position": { "line": 0, "character": 4 } });
    let mut client = Client::with_program("let y = 1\n");
    client.diagnostics(DOCUMENT, 1);
    let pause = || std::thread::sleep(Duration::from_millis(30));
    client.edit(DOCUMENT, 2, json!([{ "text": program }]));
    let hover = client.send("textDocument/hover", about.clone());
    pause();
    client.tell("$/cancelRequest", json!({ "id": serde_json::to_value(&hover).expect("an id") }));
    assert_eq!(client.answer(&hover).map_err(|(code, _)| code), Err(CANCELLED));
    // Its diagnostics come all the same.
    client.diagnostics(DOCUMENT, 2);
    client.edit(DOCUMENT, 3, json!([{ "text": format!("# Again.\n{program}") }]));
    let hover = client.send("textDocument/hover", about.clone());
    pause();
    client.edit(DOCUMENT, 4, json!([{ "text": "let y = 1\n" }]));
    assert_eq!(client.answer(&hover).map_err(|(code, _)| code), Err(MODIFIED));
    assert_eq!(client.next_diagnostics(DOCUMENT).0, 4);
    client.edit(DOCUMENT, 5, json!([{ "text": program }]));
    let hover = client.send("textDocument/hover", about);
    pause();
    client.tell("textDocument/didClose", json!({ "textDocument": { "uri": DOCUMENT } }));
    assert!(client.answer(&hover).is_err());
    assert_eq!(client.leave(), Ended::Properly);
}

#[test]
fn huge_edits_and_long_lines() {
    let mut client = Client::with_program("let y = 1\n");
    let list = format!("let y = [{}]\n", vec!["1"; 20_000].join(", "));
    client.edit(DOCUMENT, 2, json!([{ "text": list }]));
    client.diagnostics(DOCUMENT, 2);
    // A thousand edits in one message, each of which types a letter.
    let typed = |at: u32| json!({ "range": { "start": { "line": 0, "character": at }, "end": { "line": 0, "character": at } }, "text": "#" });
    client.edit(DOCUMENT, 3, json!([{ "text": "" }]));
    client.edit(DOCUMENT, 4, Value::from((0..1000).map(typed).collect::<Vec<_>>()));
    assert!(client.diagnostics(DOCUMENT, 4).is_empty());
    let deep = "(".repeat(50_000);
    client.edit(DOCUMENT, 5, json!([{ "text": format!("let y = {deep}") }]));
    assert!(!client.diagnostics(DOCUMENT, 5).is_empty());
}

#[test]
fn columns_in_every_encoding() {
    let text = "let é = {𝔸 : 3} + nobody\n";
    for (encoding, column) in [("utf-8", 22), ("utf-16", 19), ("utf-32", 18)] {
        let mut client = Client::with_encoding(encoding);
        client.open(DOCUMENT, text);
        let found = client.diagnostics(DOCUMENT, 1);
        assert_eq!(found[0]["range"]["start"]["character"], column, "{encoding}: {found:?}");
        let rename = json!({ "position": { "line": 0, "character": 4 }, "newName": "e" });
        let edit = client.about("textDocument/rename", rename).expect("an edit");
        let range = &edit["changes"][DOCUMENT][0]["range"];
        let width = if encoding == "utf-8" { 6 } else { 5 };
        assert_eq!((&range["start"]["character"], &range["end"]["character"]), (&json!(4), &json!(width)));
    }
}

/// A program of layers with as many lines.
fn long_program(lines: usize) -> String {
    let mut text = String::from("data x0 : 8 | 16\ndef layer(size)(x) = relu({w} @ x + {b : size})\n");
    for line in 1..lines {
        text.push_str(&format!("let x{line} = x{} |> layer(16)\n", line - 1));
    }
    text
}
