//! Times a language server while a long program is edited: from a letter that is typed to the diagnostics of the new text,
//! and the hints of a screen after it. A blank is typed and removed, which leaves a program without mistakes; then ` + x0` is
//! typed at the end of a line letter by letter and removed again, with the mistakes of an unfinished line on the way.
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
    let text = program(lines);
    let document = json!({ "uri": DOCUMENT, "languageId": "loom", "version": 1, "text": text });
    let begun = Instant::now();
    editor.tell("textDocument/didOpen", json!({ "textDocument": document }));
    editor.checked();
    println!("{lines} lines, opened in {:.1} ms", milliseconds(begun.elapsed()));
    println!("memory {:.0} MB", resident());
    for (place, line) in [("first line", 0), ("middle", lines / 2), ("last tenth", lines * 19 / 20)] {
        let blanks = (0..edits).map(|edit| Letter { at: 4, types: (edit % 2 == 0).then_some(' ') });
        let (checks, hints) = editor.time(line, blanks);
        println!("{place:>10}: diagnostics {:6.1} ms, hints {:6.1} ms", median(checks), median(hints));
        let end = text.lines().nth(line).map_or(0, str::len);
        let (checks, hints) = editor.time(line, (0..edits).map(|edit| Letter::of_recorded(edit, end)));
        println!("    typing: diagnostics {:6.1} ms, hints {:6.1} ms", median(checks), median(hints));
    }
    println!("memory {:.0} MB", resident());
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

/// The text that is typed, and removed again from its end.
const RECORDED: &str = " + x0";

/// A letter that is typed at a column, or removed there.
struct Letter {
    at: usize,
    types: Option<char>,
}

impl Letter {
    /// One of the edits that type [`RECORDED`] at the end of a line, and remove it.
    fn of_recorded(edit: usize, end: usize) -> Letter {
        let step = edit % (2 * RECORDED.len());
        match RECORDED.chars().nth(step) {
            Some(letter) => Letter { at: end + step, types: Some(letter) },
            None => Letter { at: end + 2 * RECORDED.len() - 1 - step, types: None },
        }
    }
}

/// The memory of this process, in megabytes; zero where there is no `/proc`.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|number| number.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
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

    /// The times of the checks after some edits of a line, and of the hints around it.
    fn time(&mut self, line: usize, letters: impl Iterator<Item = Letter>) -> (Vec<Duration>, Vec<Duration>) {
        let (mut checks, mut hints) = (Vec::new(), Vec::new());
        for letter in letters {
            let begun = Instant::now();
            self.typed(line, &letter);
            self.checked();
            checks.push(begun.elapsed());
            let begun = Instant::now();
            let (first, last) = (line.saturating_sub(25), line + 25);
            let range = json!({ "start": { "line": first, "character": 0 }, "end": { "line": last, "character": 0 } });
            self.ask(
                "textDocument/inlayHint",
                json!({ "textDocument": { "uri": DOCUMENT }, "range": range }),
            );
            hints.push(begun.elapsed());
        }
        (checks, hints)
    }

    /// Types a letter on a line, or removes one.
    fn typed(&mut self, line: usize, letter: &Letter) {
        self.version += 1;
        let end = letter.at + usize::from(letter.types.is_none());
        let range = json!({
            "start": { "line": line, "character": letter.at }, "end": { "line": line, "character": end }
        });
        let text = letter.types.map(String::from).unwrap_or_default();
        let changes = json!([{ "range": range, "text": text }]);
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
