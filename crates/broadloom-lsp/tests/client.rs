//! An editor for tests: it talks to a server in the same process through channels.

use std::thread::JoinHandle;
use std::time::Duration;

use broadloom_lsp::{Ended, serve};
use lsp_server::{Connection, Message, Notification, Request, RequestId};
use serde_json::{Value, json};

/// The time that an answer may take before a test fails.
const PATIENCE: Duration = Duration::from_secs(120);

/// An editor with a server.
pub struct Client {
    connection: Connection,
    server: JoinHandle<Ended>,
    next: i32,
    /// Notifications that came before an answer.
    heard: Vec<Notification>,
}

/// The address of the document that most tests use.
pub const DOCUMENT: &str = "untitled:a.loom";

impl Client {
    /// A connection on which nothing has been said.
    pub fn silent() -> Client {
        let (theirs, connection) = Connection::memory();
        // Threads of tests have less room than the main thread of the command.
        let thread = std::thread::Builder::new().stack_size(64 << 20);
        let server = thread.spawn(move || serve(&theirs)).expect("a thread");
        Client { connection, server, next: 0, heard: Vec::new() }
    }

    /// A connection that is initialized, with columns in an encoding.
    pub fn with_encoding(encoding: &str) -> Client {
        Client::in_folder(encoding, json!({}), Value::Null)
    }

    /// The same with a folder that is open, and more that the editor can do.
    pub fn in_folder(encoding: &str, mut capabilities: Value, root: Value) -> Client {
        let mut client = Client::silent();
        capabilities["general"] = json!({ "positionEncodings": [encoding] });
        let params = json!({ "processId": null, "rootUri": root, "capabilities": capabilities });
        let result = client.ask("initialize", params).expect("it begins");
        assert_eq!(result["capabilities"]["positionEncoding"], encoding);
        client.tell("initialized", json!({}));
        client
    }

    /// A connection with a program that is open.
    pub fn with_program(text: &str) -> Client {
        let mut client = Client::with_encoding("utf-8");
        client.open(DOCUMENT, text);
        client
    }

    pub fn open(&mut self, uri: &str, text: &str) {
        self.open_as("loom", uri, text);
    }

    /// Opens a document in a language.
    pub fn open_as(&mut self, language: &str, uri: &str, text: &str) {
        let document = json!({ "uri": uri, "languageId": language, "version": 1, "text": text });
        self.tell("textDocument/didOpen", json!({ "textDocument": document }));
    }

    /// Replaces the whole text, or a range of it.
    pub fn edit(&mut self, uri: &str, version: i32, changes: Value) {
        let params = json!({ "textDocument": { "uri": uri, "version": version }, "contentChanges": changes });
        self.tell("textDocument/didChange", params);
    }

    pub fn tell(&mut self, method: &str, params: Value) {
        let notification = Notification::new(method.to_string(), params);
        self.connection.sender.send(Message::Notification(notification)).expect("a server");
    }

    /// The next request of the server, which is granted.
    pub fn request(&mut self) -> Request {
        loop {
            match self.connection.receiver.recv_timeout(PATIENCE).expect("a request") {
                Message::Request(request) => {
                    let granted = lsp_server::Response::new_ok(request.id.clone(), Value::Null);
                    self.connection.sender.send(Message::Response(granted)).expect("a server");
                    return request;
                }
                Message::Notification(notification) => self.heard.push(notification),
                other => panic!("not expected: {other:?}"),
            }
        }
    }

    /// Sends a request, and does not wait.
    pub fn send(&mut self, method: &str, params: Value) -> RequestId {
        self.next += 1;
        let id = RequestId::from(self.next);
        let request = Request::new(id.clone(), method.to_string(), params);
        self.connection.sender.send(Message::Request(request)).expect("a server");
        id
    }

    /// The answer to a request, or the number and the message of the error.
    pub fn answer(&mut self, id: &RequestId) -> Result<Value, (i32, String)> {
        loop {
            match self.connection.receiver.recv_timeout(PATIENCE).expect("an answer") {
                Message::Response(response) if response.id == *id => {
                    return response.response_result.map_err(|error| (error.code, error.message));
                }
                Message::Notification(notification) => self.heard.push(notification),
                other => panic!("not expected: {other:?}"),
            }
        }
    }

    pub fn ask(&mut self, method: &str, params: Value) -> Result<Value, (i32, String)> {
        let id = self.send(method, params);
        self.answer(&id)
    }

    /// Asks about a document.
    pub fn about(&mut self, method: &str, more: Value) -> Result<Value, (i32, String)> {
        let mut params = json!({ "textDocument": { "uri": DOCUMENT } });
        if let (Some(params), Value::Object(more)) = (params.as_object_mut(), more) {
            params.extend(more);
        }
        self.ask(method, params)
    }

    /// The next diagnostics of a document at a version.
    pub fn diagnostics(&mut self, uri: &str, version: i32) -> Vec<Value> {
        loop {
            let (next, found) = self.next_diagnostics(uri);
            if next == version {
                return found;
            }
        }
    }

    /// The next diagnostics of a document, and its version.
    pub fn next_diagnostics(&mut self, uri: &str) -> (i32, Vec<Value>) {
        loop {
            let notification = match self.heard.is_empty() {
                false => self.heard.remove(0),
                true => match self.connection.receiver.recv_timeout(PATIENCE).expect("diagnostics") {
                    Message::Notification(notification) => notification,
                    other => panic!("not expected: {other:?}"),
                },
            };
            let params = notification.params;
            if params["uri"] == uri {
                let version = params["version"].as_i64().unwrap_or_default();
                return (version as i32, params["diagnostics"].as_array().cloned().unwrap_or_default());
            }
        }
    }

    /// Says goodbye.
    pub fn leave(mut self) -> Ended {
        self.ask("shutdown", Value::Null).expect("a goodbye");
        self.tell("exit", Value::Null);
        self.server.join().expect("no panic")
    }

    /// Leaves without a word.
    pub fn vanish(self) -> Ended {
        drop(self.connection);
        self.server.join().expect("no panic")
    }
}
