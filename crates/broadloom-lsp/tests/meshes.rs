//! Conflicts of a mesh while people type: they are found when nothing else waits, shown at both ends, and gone when they are mended.

use serde_json::{Value, json};

use crate::client::{Client, DOCUMENT};

/// A program whose batch cannot be divided by four.
const PROGRAM: &str = "\
dim batch = 6
data x : batch | 784
let y = x |> linear(10)
mesh(data = 4, shard = [\"batch=data\"])
print mean(y)
";

/// The lines of a diagnostic: its own, and those of its related information.
fn lines(diagnostic: &Value) -> (u64, Vec<u64>) {
    let line = |range: &Value| range["start"]["line"].as_u64().expect("a line");
    let related = diagnostic["relatedInformation"].as_array().into_iter().flatten();
    (line(&diagnostic["range"]), related.map(|each| line(&each["location"]["range"])).collect())
}

/// The diagnostics at a version, when there are some.
fn found(client: &mut Client, version: i32) -> Vec<Value> {
    loop {
        let found = client.diagnostics(DOCUMENT, version);
        if !found.is_empty() {
            return found;
        }
    }
}

#[test]
fn a_conflict_is_shown_at_both_ends_while_people_type() {
    let mut client = Client::with_program(PROGRAM);
    let first = found(&mut client, 1);
    let [conflict] = &first[..] else { panic!("{first:?}") };
    let (line, related) = lines(conflict);
    let mut all: Vec<u64> = related.into_iter().chain([line]).collect();
    all.sort_unstable();
    assert!(all.contains(&3), "the rule of the mesh is one end: {conflict}");
    assert!(all.iter().any(|line| *line < 3), "what cannot be divided is the other: {conflict}");
    // With another letter elsewhere it stays, in the first answer: it does not flicker.
    let end = json!({ "line": 4, "character": 13 });
    client.edit(DOCUMENT, 2, json!([{ "range": { "start": end, "end": end }, "text": " " }]));
    assert_eq!(client.diagnostics(DOCUMENT, 2), first);
    // Mended, it is gone.
    let six = json!({ "start": { "line": 0, "character": 12 }, "end": { "line": 0, "character": 13 } });
    client.edit(DOCUMENT, 3, json!([{ "range": six, "text": "8" }]));
    assert_eq!(client.diagnostics(DOCUMENT, 3), Vec::<Value>::new());
    // And it is found again.
    client.edit(DOCUMENT, 4, json!([{ "range": six, "text": "7" }]));
    assert_eq!(found(&mut client, 4).len(), 1);
}

#[test]
fn a_program_with_another_mistake_shows_that_one() {
    let mut client = Client::with_program(&PROGRAM.replace("mean(y)", "mean(z)"));
    let found = client.diagnostics(DOCUMENT, 1);
    let messages: Vec<&str> = found.iter().filter_map(|each| each["message"].as_str()).collect();
    assert!(messages.len() == 1 && messages[0].starts_with("`z` is not defined"), "{messages:?}");
}
