//! Times a language server while a long program is edited: from a letter that is typed to the diagnostics of the new text,
//! and the hints of a screen after it.
//!
//! `cargo run --release -p broadloom-bench --bin editing [LINES [EDITS]]`

use std::time::{Duration, Instant};

use lsp_server::{Connection, Message, Notification, Request, RequestId};
use serde_json::{Value, json};

const DOCUMENT: &str = "untitled:long.loom";

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|argument| argument.parse().ok());
    let (lines, edits) = (numbers.next().unwrap_or(2_000_usize), numbers.next().unwrap_or(50_usize));
    let (server, client) = Connection::memory();
    let thread = std::thread::Builder::new().stack_size(64 << 20);
    let serving = thread.spawn(move || broadloom_lsp::serve(&server)).expect("a thread");
    let mut editor = Editor { client, version: 1, next: 0 };
    editor.ask("initialize", json!({ "processId": null, "rootUri": null, "capabilities": {} }));
    let document = json!({ "uri": DOCUMENT, "languageId": "loom", "version": 1, "text": program(lines) });
    let begun = Instant::now();
    editor.tell("textDocument/didOpen", json!({ "textDocument": document }));
    editor.checked();
    println!("{lines} lines, opened in {:.1} ms", milliseconds(begun.elapsed()));
    for (place, line) in [("first line", 0), ("middle", lines / 2), ("last tenth", lines * 19 / 20)] {
        let (mut checks, mut hints): (Vec<Duration>, Vec<Duration>) = (Vec::new(), Vec::new());
        for edit in 0..edits {
            let begun = Instant::now();
            editor.typed(line, edit % 2 == 0);
            editor.checked();
            checks.push(begun.elapsed());
            let begun = Instant::now();
            let (first, last) = (line.saturating_sub(25), line + 25);
            let range = json!({ "start": { "line": first, "character": 0 }, "end": { "line": last, "character": 0 } });
            editor.ask(
                "textDocument/inlayHint",
                json!({ "textDocument": { "uri": DOCUMENT }, "range": range }),
            );
            hints.push(begun.elapsed());
        }
        println!("{place:>10}: diagnostics {:6.1} ms, hints {:6.1} ms", median(checks), median(hints));
    }
    drop(editor);
    serving.join().expect("the server ends");
}

/// Layers, each with a spec, a pipe and a mean: about six tensors on a line.
fn program(lines: usize) -> String {
    let mut text = String::from("data x0 : 32 | 64\ndef layer(size)(x) = relu({w} @ x + {b : size})\n");
    for line in 1..lines.saturating_sub(1) {
        text.push_str(&format!("let x{line} = x{} + (x{} |> layer(64))\n", line - 1, line - 1));
    }
    text
}

struct Editor {
    client: Connection,
    version: i32,
    next: i32,
}

impl Editor {
    fn tell(&self, method: &str, params: Value) {
        let notification = Notification::new(method.into(), params);
        self.client.sender.send(Message::Notification(notification)).expect("a server");
    }

    fn ask(&mut self, method: &str, params: Value) {
        self.next += 1;
        let request = Request::new(RequestId::from(self.next), method.into(), params);
        self.client.sender.send(Message::Request(request)).expect("a server");
        while !matches!(self.client.receiver.recv().expect("an answer"), Message::Response(_)) {}
    }

    /// Types a blank at the beginning of a line, or removes it again. A blank before `let` in the middle of a program
    /// would be a mistake, so it is typed at the end of the word.
    fn typed(&mut self, line: usize, inserts: bool) {
        self.version += 1;
        let end = if inserts { 4 } else { 5 };
        let range =
            json!({ "start": { "line": line, "character": 4 }, "end": { "line": line, "character": end } });
        let changes = json!([{ "range": range, "text": if inserts { " " } else { "" } }]);
        let document = json!({ "uri": DOCUMENT, "version": self.version });
        self.tell("textDocument/didChange", json!({ "textDocument": document, "contentChanges": changes }));
    }

    /// Waits for the diagnostics of the current version.
    fn checked(&self) {
        loop {
            if let Message::Notification(notification) = self.client.receiver.recv().expect("diagnostics")
                && notification.params["version"] == self.version
            {
                return;
            }
        }
    }
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times.get(times.len() / 2).map_or(0.0, |time| milliseconds(*time))
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
