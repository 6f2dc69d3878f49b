//! Questions of an editor, as data: `tests/cases/QUESTION_NAME.loom` is a program with a cursor `▮`, and the file `.json`
//! beside it is the answer. `UPDATE_EXPECT=1` writes the answers; read them before they are committed.

use std::path::Path;

use expect_test::expect_file;
use serde_json::{Value, json};

use crate::client::{Client, DOCUMENT};

/// The answer to the question that a case is named after.
fn answered(question: &str, text: &str) -> Value {
    let offset = text.find('▮').unwrap_or_default();
    let before = &text[..offset];
    let position = json!({
        "line": before.matches('\n').count(),
        "character": offset - before.rfind('\n').map_or(0, |end| end + 1),
    });
    let mut client = Client::with_program(&text.replace('▮', ""));
    let here = json!({ "position": position });
    let range = json!({ "start": position, "end": position });
    let everything =
        json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 9999, "character": 0 } });
    let options = json!({ "tabSize": 2, "insertSpaces": true });
    let (method, more) = match question {
        "diagnostics" => return client.diagnostics(DOCUMENT, 1).into(),
        "hints" => ("inlayHint", json!({ "range": everything })),
        "actions" => ("codeAction", json!({ "range": range, "context": { "diagnostics": [] } })),
        "formatting" => ("formatting", json!({ "options": options })),
        "references" => {
            ("references", json!({ "position": position, "context": { "includeDeclaration": true } }))
        }
        "rename" => ("rename", json!({ "position": position, "newName": "renamed" })),
        "symbols" => ("documentSymbol", json!({})),
        "lens" => ("codeLens", json!({})),
        "signature" => ("signatureHelp", here),
        "calls" => {
            let items = client.about("textDocument/prepareCallHierarchy", here).expect("an item");
            let item = json!({ "item": items[0] });
            let incoming = client.ask("callHierarchy/incomingCalls", item.clone()).expect("calls");
            return json!([incoming, client.ask("callHierarchy/outgoingCalls", item).expect("calls")]);
        }
        "hover" | "completion" | "definition" => (question, here),
        other => panic!("there is no question {other}"),
    };
    client
        .about(&format!("textDocument/{method}"), more)
        .unwrap_or_else(|(_, message)| json!({ "refused": message }))
}

#[test]
fn every_case_has_its_answer() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut cases: Vec<_> = std::fs::read_dir(folder)
        .expect("the cases")
        .map(|entry| entry.expect("a readable entry").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "loom"))
        .collect();
    cases.sort();
    assert!(cases.len() > 15, "there are cases");
    for case in cases {
        let name = case.file_stem().expect("a name").to_string_lossy();
        let question = name.split('_').next().unwrap_or_default();
        let text = std::fs::read_to_string(&case).expect("a readable case");
        let shown = serde_json::to_string_pretty(&answered(question, &text)).expect("JSON");
        expect_file![case.with_extension("json")].assert_eq(&(shown + "\n"));
    }
}

/// A definition in the library leads to a file that can be read.
#[test]
fn the_library_is_a_file() {
    let text = "data x : 3\nlet y = x |> linear(2)\n";
    let mut client = Client::with_program(text);
    let position = json!({ "position": { "line": 1, "character": 15 } });
    let found = client.about("textDocument/definition", position).expect("a place");
    let path = found["uri"].as_str().and_then(|uri| uri.strip_prefix("file://")).expect("a file").to_string();
    let line = found["range"]["start"]["line"].as_u64().expect("a line") as usize;
    let file = std::fs::read_to_string(path).expect("a readable file");
    assert!(file.lines().nth(line).is_some_and(|line| line.starts_with("def linear(")), "{found}");
}

/// Names of modules are found across documents, and unsaved texts count.
#[test]
fn modules_that_are_not_saved() {
    let folder = std::env::temp_dir().join(format!("broadloom-lsp-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let folder = std::fs::canonicalize(folder).expect("a folder");
    std::fs::write(folder.join("layers.loom"), "def old(x) = x\n").expect("a file");
    let uri = |name: &str| format!("file://{}", folder.join(name).display());
    let mut client = Client::with_encoding("utf-16");
    client.open(&uri("main.loom"), "import \"layers.loom\"\ndata x : 3\nlet y = layers.twice(x)\n");
    assert_eq!(client.diagnostics(&uri("main.loom"), 1).len(), 1, "there is no `twice` in the file");
    client.open(&uri("layers.loom"), "def twice(x) = 2 * x\n");
    assert!(client.diagnostics(&uri("main.loom"), 1).is_empty(), "there is one in the editor");
    let at = json!({ "textDocument": { "uri": uri("layers.loom") }, "position": { "line": 0, "character": 5 }, "newName": "double" });
    let edit = client.ask("textDocument/rename", at).expect("an edit");
    assert_eq!(edit["changes"][uri("main.loom")][0]["range"]["start"], json!({ "line": 2, "character": 15 }));
    let hints =
        json!({ "textDocument": { "uri": uri("main.loom") }, "position": { "line": 2, "character": 16 } });
    let definition = client.ask("textDocument/definition", hints).expect("a place");
    assert_eq!(definition["uri"], uri("layers.loom"));
    client.tell("textDocument/didClose", json!({ "textDocument": { "uri": uri("layers.loom") } }));
    assert_eq!(client.diagnostics(&uri("main.loom"), 1).len(), 1, "the file counts again");
    std::fs::remove_dir_all(folder).expect("the folder is removed");
}

/// Systems of constraints have diagnostics, values beside variables, and what editors ask about names; other questions about them have no answers.
#[test]
fn systems_of_constraints() {
    let uri = "untitled:a.rows";
    let mut client = Client::with_encoding("utf-16");
    client.open(uri, include_str!("../../../examples/clash.rows"));
    let found = client.diagnostics(uri, 1);
    assert!(found.len() == 1 && found[0]["relatedInformation"].is_array(), "{found:?}");
    // One that has no name yet is what the editor says.
    client.open_as("rows", "untitled:Untitled-1", include_str!("../../../examples/clash.rows"));
    assert_eq!(client.diagnostics("untitled:Untitled-1", 1).len(), 1);
    let hover = json!({ "textDocument": { "uri": uri }, "position": { "line": 0, "character": 0 } });
    assert_eq!(client.ask("textDocument/hover", hover), Ok(Value::Null));
}

/// The second line is `[..h..] <= [..w.., n]`.
#[test]
fn names_in_systems_of_constraints() {
    let uri = "untitled:layer.rows";
    let mut client = Client::with_encoding("utf-16");
    client.open(uri, "param ..w..\n[..h..] <= [..w.., n]\n[..w..]~[32]\nn = 8\n");
    assert!(client.diagnostics(uri, 1).is_empty());
    let document = json!({ "textDocument": { "uri": uri } });
    let about = |more: Value| {
        let mut asked = document.clone();
        let (asked_map, more) =
            (asked.as_object_mut().expect("a map"), more.as_object().expect("a map").clone());
        asked_map.extend(more);
        asked
    };
    let at = |character: u32| json!({ "position": { "line": 1, "character": character } });
    let hover = client.ask("textDocument/hover", about(at(14))).expect("an answer");
    assert_eq!(
        hover["contents"]["value"],
        "`..w.. = [32]`\n\na row of a tensor that is learned; forced by the constraints\n"
    );
    let whole = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 9, "character": 0 } });
    let hints = client.ask("textDocument/inlayHint", about(json!({ "range": whole }))).expect("an answer");
    let labels: Vec<&str> =
        hints.as_array().expect("hints").iter().filter_map(|hint| hint["label"].as_str()).collect();
    assert_eq!(labels, [" = [32]", " = [32, 8]", " = 8"]);
    let definition = client.ask("textDocument/definition", about(at(14))).expect("an answer");
    assert_eq!(definition["range"]["start"], json!({ "line": 0, "character": 6 }));
    let mut references = at(14);
    references["context"] = json!({ "includeDeclaration": false });
    let found = client.ask("textDocument/references", about(references)).expect("an answer");
    assert_eq!(found.as_array().map(Vec::len), Some(2));
    assert_eq!(
        client
            .ask("textDocument/documentHighlight", about(at(14)))
            .expect("an answer")
            .as_array()
            .map(Vec::len),
        Some(3)
    );
    let mut rename = at(19);
    rename["newName"] = json!("out");
    let edits = client.ask("textDocument/rename", about(rename.clone())).expect("an answer");
    assert_eq!(edits["changes"][uri].as_array().map(Vec::len), Some(2));
    rename["newName"] = json!("w");
    assert!(client.ask("textDocument/rename", about(rename)).is_err(), "it is another variable");
    let prepared = client.ask("textDocument/prepareRename", about(at(14))).expect("an answer");
    assert_eq!(prepared["placeholder"], "w");
    let proposed = client.ask("textDocument/completion", about(at(15))).expect("an answer");
    assert_eq!(proposed[0]["textEdit"]["newText"], "..w..");
    let options = json!({ "options": { "tabSize": 2, "insertSpaces": true } });
    let layout = client.ask("textDocument/formatting", about(options)).expect("an answer");
    assert_eq!(layout[0]["newText"], "[..w..] ~ [32]");
    assert_eq!(layout.as_array().map(Vec::len), Some(1));
}
