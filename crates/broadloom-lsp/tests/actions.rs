//! Code actions of an editor that asks for their changes when one is chosen, and of one that cannot.

use serde_json::{Value, json};

use crate::client::{Client, DOCUMENT};

/// A client that resolves actions, with a program.
fn resolving(text: &str) -> Client {
    let action = json!({ "codeAction": { "resolveSupport": { "properties": ["edit"] } } });
    let mut client = Client::in_folder("utf-8", json!({ "textDocument": action }), Value::Null);
    client.open(DOCUMENT, text);
    client
}

/// The actions that are offered for lines.
fn offered(client: &mut Client, lines: (u32, u32), context: Value) -> Vec<Value> {
    let range =
        json!({ "start": { "line": lines.0, "character": 4 }, "end": { "line": lines.1, "character": 4 } });
    let params = json!({ "range": range, "context": context });
    let all = client.about("textDocument/codeAction", params).expect("actions");
    all.as_array().cloned().unwrap_or_default()
}

fn chain(lines: usize) -> String {
    let line = |at: usize| format!("let x{} = relu(x{at})\n", at + 1);
    format!("data x0 : 8 | 16\n{}", (0..lines).map(line).collect::<String>())
}

#[test]
fn changes_are_tried_when_they_are_chosen() {
    let mut client = resolving(&chain(3));
    let found = offered(&mut client, (2, 2), json!({ "diagnostics": [] }));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0]["edit"].is_null(), "nothing has been tried: {found:?}");
    let resolved = client.ask("codeAction/resolve", found[0].clone()).expect("an edit");
    let edit = &resolved["edit"]["changes"][DOCUMENT][0];
    assert_eq!((&edit["newText"], &edit["range"]["start"]["line"]), (&json!(" : 8 | 16"), &json!(2)));
    // Changes of an older text are refused, and what was never offered.
    client.edit(DOCUMENT, 2, json!([{ "text": chain(2) }]));
    assert!(client.ask("codeAction/resolve", found[0].clone()).is_err());
    let mut other = found[0].clone();
    other["data"] = json!({ "uri": DOCUMENT, "version": 2, "edits": "nonsense" });
    assert!(client.ask("codeAction/resolve", other).is_err());
}

/// A change that would be a mistake says which.
#[test]
fn changes_that_are_mistakes_are_refused() {
    let mut client = resolving("data x : 3\nlet y = x\n");
    let mut action = offered(&mut client, (1, 1), json!({ "diagnostics": [] })).remove(0);
    action["data"]["edits"][0][2] = json!(" : 4");
    let (_, message) = client.ask("codeAction/resolve", action).expect_err("a refusal");
    assert!(message.starts_with("with this change, "), "{message}");
}

/// Selecting everything asks for actions: that costs no check for each line, and offers no more than people read.
#[test]
fn a_selection_of_everything() {
    let lines = 3_000;
    let mut client = resolving(&chain(lines));
    client.diagnostics(DOCUMENT, 1);
    let found = offered(&mut client, (0, lines as u32), json!({ "diagnostics": [] }));
    assert_eq!(found.len(), 20);
    let fixes = json!({ "diagnostics": [], "only": ["quickfix"] });
    assert!(offered(&mut client, (0, lines as u32), fixes).is_empty());
    let others = json!({ "diagnostics": [], "only": ["source.organizeImports"] });
    assert!(offered(&mut client, (0, lines as u32), others).is_empty());
    // An editor that cannot ask later is offered a few that were tried.
    let mut client = Client::with_program(&chain(100));
    let found = offered(&mut client, (0, 100), json!({ "diagnostics": [] }));
    assert!(found.len() == 3 && found.iter().all(|each| each["edit"].is_object()), "{found:?}");
}

/// The actions of a kind that are offered for a part of a line.
fn selected(client: &mut Client, line: u32, columns: (u32, u32)) -> Vec<Value> {
    let at = |column: u32| json!({ "line": line, "character": column });
    let range = json!({ "start": at(columns.0), "end": at(columns.1) });
    let context = json!({ "diagnostics": [], "only": ["refactor.extract"] });
    let all = client.about("textDocument/codeAction", json!({ "range": range, "context": context }));
    all.expect("actions").as_array().cloned().unwrap_or_default()
}

/// A selection becomes a function, or the reason why it cannot is shown where editors can show it.
#[test]
fn functions_are_extracted() {
    let text = "data x : 3\nlet y = {w : 3} * x\nlet z = relu(x + y) * w\n";
    let action =
        json!({ "codeAction": { "disabledSupport": true, "resolveSupport": { "properties": ["edit"] } } });
    let mut client = Client::in_folder("utf-8", json!({ "textDocument": action }), Value::Null);
    client.open(DOCUMENT, text);
    let found = selected(&mut client, 2, (8, 19));
    assert_eq!((found.len(), &found[0]["kind"]), (1, &json!("refactor.extract")), "{found:?}");
    let resolved = client.ask("codeAction/resolve", found[0].clone()).expect("an edit");
    let texts: Vec<&Value> = resolved["edit"]["changes"][DOCUMENT]
        .as_array()
        .expect("edits")
        .iter()
        .map(|edit| &edit["newText"])
        .collect();
    assert_eq!(texts, ["def extracted(x, y) = relu(x + y)\n\n", "extracted(x, y)"]);
    let found = selected(&mut client, 1, (8, 19));
    let reason = found[0]["disabled"]["reason"].as_str().expect("a reason");
    assert!(reason.starts_with("`w` is made here") && found[0]["edit"].is_null(), "{found:?}");
    assert!(selected(&mut client, 1, (8, 8)).is_empty());
    // An editor that can do neither is offered what was tried.
    let mut client = Client::with_program(text);
    assert!(selected(&mut client, 1, (8, 19)).is_empty());
    assert!(selected(&mut client, 2, (8, 19))[0]["edit"].is_object());
}
