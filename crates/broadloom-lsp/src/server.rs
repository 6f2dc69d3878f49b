//! The loop of the server: messages in, answers out.

use std::panic::{AssertUnwindSafe, catch_unwind};

use gen_lsp_types::{
    DidChangeTextDocumentParams, DidChangeWatchedFilesParams, DidCloseTextDocumentParams,
    DidOpenTextDocumentParams, InitializeParams, InitializeResult, LspNotificationMethod, LspRequestMethod,
    PublishDiagnosticsParams, ServerInfo, Uri,
};
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId, Response};
use serde_json::{Value, json};

use crate::answers::diagnostics;
use crate::capabilities::capabilities;
use crate::dispatch::dispatch;
use crate::documents::Document;
use crate::inbox::{Inbox, address};
use crate::position::Encoding;
use crate::uri;
use crate::world::{World, failed};

/// The ways in which a connection can end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// The editor asked the server to shut down, and then to exit.
    Properly,
    /// The editor left without a word, or told the server to exit at once.
    Abruptly,
}

/// The files that programs read.
const WATCHED: [&str; 3] = ["**/*.loom", "**/*.loomi", "**/*.{npy,npz,safetensors,csv}"];

/// Serves an editor until it leaves.
pub fn serve(connection: &Connection) -> Ended {
    let mut server =
        Server { connection, world: World::new(Inbox::of(connection)), state: State::New, watches: false };
    while let Some(message) = server.next() {
        match message {
            Message::Request(request) => server.request(request),
            Message::Notification(notification) if notification.method == "exit" => break,
            Message::Notification(notification) => server.notification(notification),
            // The server asks only that files are watched, and it does without.
            Message::Response(_) => {}
        }
    }
    if server.state == State::ShutDown { Ended::Properly } else { Ended::Abruptly }
}

/// The stages of a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Running,
    ShutDown,
}

struct Server<'c> {
    connection: &'c Connection,
    world: World,
    state: State,
    /// True if the editor can watch files, and has not been asked to yet.
    watches: bool,
}

impl Server<'_> {
    /// The next message; None if the editor has left. While there is none, documents are checked.
    fn next(&mut self) -> Option<Message> {
        loop {
            if let Some(message) = self.world.inbox.next() {
                return Some(message);
            }
            let is_ending = self.state == State::ShutDown;
            let is_busy = !is_ending
                && (self.check_one()
                    || self.divide_one()
                    || self.world.documents.values_mut().any(Document::prepare));
            if !is_busy {
                return self.connection.receiver.recv().ok();
            }
        }
    }

    /// Checks one document that was edited, and tells the editor. Returns false if there is none.
    fn check_one(&mut self) -> bool {
        let due =
            self.world.documents.values().filter(|document| document.is_due).map(|document| &document.uri);
        let Some(uri) = due.min_by(|a, b| a.as_ref().cmp(b.as_ref())).cloned() else { return false };
        let found = self.guarded(&uri, |world| diagnostics::published(world, &uri));
        // A check that was given up, because an edit waits, is due after it.
        let is_given_up = matches!(&found, Err(error) if error.code == ErrorCode::ContentModified as i32);
        if let Ok(document) = self.world.document(&uri) {
            document.is_due = is_given_up;
        }
        if let Ok(params) = found {
            self.publish(params);
        }
        true
    }

    /// Divides programs over the devices of their meshes until one cannot be divided, and tells the editor about that one. Returns false if all can.
    fn divide_one(&mut self) -> bool {
        let mut addresses: Vec<Uri> = self.world.documents.keys().cloned().collect();
        addresses.sort_by(|a, b| a.as_ref().cmp(b.as_ref()));
        for uri in addresses {
            let divided = self.guarded(&uri, |world| {
                let has_new = world.document(&uri)?.divide();
                has_new.then(|| diagnostics::published(world, &uri)).transpose()
            });
            if let Ok(Some(params)) = divided {
                self.publish(params);
                return true;
            }
        }
        false
    }

    fn publish(&self, params: PublishDiagnosticsParams) {
        let method = LspNotificationMethod::TextDocumentPublishDiagnostics.as_str().to_string();
        self.send(Message::Notification(Notification::new(method, params)));
    }

    /// Sends a message. If the editor has left, the next message that is read says so.
    fn send(&self, message: Message) {
        let _ = self.connection.sender.send(message);
    }

    /// Calls a function that must not end the server: what it was computing is dropped if it panics.
    fn guarded<T>(
        &mut self,
        uri: &Uri,
        call: impl FnOnce(&mut World) -> Result<T, lsp_server::ResponseError>,
    ) -> Result<T, lsp_server::ResponseError> {
        let world = &mut self.world;
        catch_unwind(AssertUnwindSafe(|| call(world))).unwrap_or_else(|_| {
            if let Ok(document) = self.world.document(uri) {
                document.forget();
                document.is_due = false;
            }
            let message = "this is a mistake of Broadloom: please report it with the program";
            Err(failed(ErrorCode::InternalError, message))
        })
    }

    fn request(&mut self, request: Request) {
        let id = request.id.clone();
        let refused = match (self.state, LspRequestMethod::from(request.method.as_str())) {
            (State::New, LspRequestMethod::Initialize) => return self.initialize(request),
            (State::New, _) => Some((ErrorCode::ServerNotInitialized, "the first request is `initialize`")),
            (State::ShutDown, _) => Some((ErrorCode::InvalidRequest, "the server has been shut down")),
            (State::Running, LspRequestMethod::Initialize) => {
                Some((ErrorCode::InvalidRequest, "the server has been initialized already"))
            }
            (State::Running, LspRequestMethod::Shutdown) => {
                self.state = State::ShutDown;
                return self.send(Message::Response(Response::new_ok(id, Value::Null)));
            }
            (State::Running, _) => {
                let uri = address(&request.params);
                self.world.inbox.overtaken(uri.as_ref(), Some(&id))
            }
        };
        let answer = match refused {
            Some((code, message)) => Err(failed(code, message)),
            None => {
                let uri = address(&request.params).unwrap_or_else(|| Uri::from(""));
                self.world.request = Some(id.clone());
                let answer = self.guarded(&uri, |world| dispatch(world, request));
                self.world.request = None;
                answer
            }
        };
        self.send(Message::Response(match answer {
            Ok(result) => Response::new_ok(id, result),
            Err(error) => Response::new_err(id, error.code, error.message),
        }));
    }

    fn initialize(&mut self, request: Request) {
        let params: InitializeParams = match serde_json::from_value(request.params) {
            Ok(params) => params,
            Err(error) => {
                let code = ErrorCode::InvalidParams as i32;
                return self.send(Message::Response(Response::new_err(request.id, code, error.to_string())));
            }
        };
        let offered =
            params.capabilities.general.as_ref().and_then(|general| general.position_encodings.clone());
        self.world.encoding = Encoding::agreed(&offered.unwrap_or_default());
        self.world.roots = roots(&params);
        let watched =
            params.capabilities.workspace.as_ref().and_then(|all| all.did_change_watched_files.as_ref());
        self.watches = watched.is_some_and(|watched| watched.dynamic_registration == Some(true));
        let actions = params.capabilities.text_document.as_ref().and_then(|all| all.code_action.as_ref());
        let resolved = actions.and_then(|actions| actions.resolve_support.as_ref());
        self.world.resolves_actions =
            resolved.is_some_and(|resolved| resolved.properties.iter().any(|property| property == "edit"));
        self.world.shows_disabled = actions.is_some_and(|actions| actions.disabled_support == Some(true));
        let version = Some(env!("CARGO_PKG_VERSION").to_string());
        let result = InitializeResult {
            capabilities: capabilities(self.world.encoding),
            server_info: Some(ServerInfo { name: "broadloom".into(), version }),
        };
        self.state = State::Running;
        self.send(Message::Response(Response::new_ok(request.id, result)));
    }

    /// Carries out a notification. One that cannot be read, or is about an unknown document, changes nothing.
    fn notification(&mut self, notification: Notification) {
        if self.state != State::Running {
            return;
        }
        let params = notification.params;
        match LspNotificationMethod::from(notification.method.as_str()) {
            LspNotificationMethod::TextDocumentDidOpen => {
                if let Ok(DidOpenTextDocumentParams { text_document }) = serde_json::from_value(params) {
                    let language = serde_json::to_value(&text_document.language_id).unwrap_or_default();
                    let language = language.as_str().unwrap_or_default();
                    self.world.open(text_document.uri, language, text_document.version, text_document.text);
                }
            }
            LspNotificationMethod::TextDocumentDidChange => {
                if let Ok(params) = serde_json::from_value(params) {
                    self.edit(params);
                }
            }
            LspNotificationMethod::TextDocumentDidClose => {
                if let Ok(DidCloseTextDocumentParams { text_document }) = serde_json::from_value(params) {
                    self.world.close(&text_document.uri);
                    let diagnostics = Vec::new();
                    self.publish(PublishDiagnosticsParams {
                        uri: text_document.uri,
                        version: None,
                        diagnostics,
                    });
                }
            }
            LspNotificationMethod::WorkspaceDidChangeWatchedFiles => {
                let Ok(DidChangeWatchedFilesParams { changes }) = serde_json::from_value(params) else {
                    return;
                };
                for change in changes {
                    let path =
                        uri::path(&change.uri).map(|path| std::fs::canonicalize(&path).unwrap_or(path));
                    match path {
                        Some(path) if path.extension().is_none_or(|ending| ending != "loom") => {
                            self.world.forget_readers(&path);
                        }
                        path => self.world.forget_importers(path.as_deref()),
                    }
                }
            }
            LspNotificationMethod::Initialized if self.watches => self.watch_files(),
            _ => {}
        }
    }

    /// Asks the editor to say when files change that programs read.
    fn watch_files(&mut self) {
        self.watches = false;
        let watchers: Vec<Value> = WATCHED.iter().map(|glob| json!({ "globPattern": glob })).collect();
        let method = LspNotificationMethod::WorkspaceDidChangeWatchedFiles.as_str();
        let files = json!({ "id": "files", "method": method, "registerOptions": { "watchers": watchers } });
        let params = json!({ "registrations": [files] });
        let id = RequestId::from("files".to_string());
        let method = LspRequestMethod::ClientRegisterCapability.as_str().to_string();
        self.send(Message::Request(Request { id, method, params }));
    }

    fn edit(&mut self, params: DidChangeTextDocumentParams) {
        let encoding = self.world.encoding;
        let uri = params.text_document.text_document_identifier.uri;
        let Ok(document) = self.world.document(&uri) else { return };
        document.edit(encoding, params.text_document.version, params.content_changes);
        let path = document.path.clone();
        self.world.forget_importers(path.as_deref());
    }
}

/// The folders that are open in the editor.
fn roots(params: &InitializeParams) -> Vec<std::path::PathBuf> {
    #[allow(deprecated, reason = "older editors know one folder only")]
    let single = params.root_uri.clone();
    let several = &params.workspace_folders_initialize_params.workspace_folders;
    let several = serde_json::to_value(several).unwrap_or_default();
    let folders = several.as_array().into_iter().flatten().filter_map(|folder| folder.get("uri")?.as_str());
    let mut roots: Vec<_> = folders.filter_map(|folder| uri::path(&Uri::from(folder))).collect();
    if roots.is_empty() {
        roots.extend(single.as_ref().and_then(uri::path));
    }
    roots
}
