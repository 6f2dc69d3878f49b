//! Messages that have arrived and wait, and which of them say that an answer is not needed any more.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use gen_lsp_types::{LspNotificationMethod, LspRequestMethod, Uri};
use lsp_server::{Connection, ErrorCode, Message, RequestId};
use serde_json::Value;

/// The messages of an editor, in order.
#[derive(Default)]
pub(crate) struct Inbox {
    /// Receives a message, if one has arrived.
    receive: Option<Box<dyn Fn() -> Option<Message>>>,
    waiting: RefCell<VecDeque<Message>>,
}

impl Inbox {
    pub fn of(connection: &Connection) -> Inbox {
        let receiver = connection.receiver.clone();
        Inbox { receive: Some(Box::new(move || receiver.try_recv().ok())), ..Inbox::default() }
    }

    /// Receives what has arrived.
    fn fill(&self) {
        if let Some(receive) = &self.receive {
            self.waiting.borrow_mut().extend(std::iter::from_fn(receive));
        }
    }

    /// The next message, if one has arrived.
    pub fn next(&self) -> Option<Message> {
        self.fill();
        self.waiting.borrow_mut().pop_front()
    }

    /// A function that returns true as soon as a message has arrived that makes what is known of a document useless, or the answer to a
    /// request. Each message is looked at once, and none is taken away.
    pub fn watch<'i>(&'i self, uri: &'i Uri, request: Option<&'i RequestId>) -> impl Fn() -> bool + 'i {
        let (seen, is_over) = (Cell::new(0), Cell::new(false));
        move || {
            self.fill();
            let waiting = self.waiting.borrow();
            let new = waiting.iter().skip(seen.replace(waiting.len()));
            let mut ends =
                new.map(|message| overtakes(message, Some(uri), request).is_some() || is_end(message, uri));
            is_over.set(is_over.get() || ends.any(|ends| ends));
            is_over.get()
        }
    }

    /// The reason why a request need not be answered: a later message cancels it, or edits its document.
    pub fn overtaken(
        &self,
        uri: Option<&Uri>,
        request: Option<&RequestId>,
    ) -> Option<(ErrorCode, &'static str)> {
        self.fill();
        self.waiting.borrow().iter().find_map(|message| overtakes(message, uri, request))
    }
}

fn overtakes(
    message: &Message,
    uri: Option<&Uri>,
    request: Option<&RequestId>,
) -> Option<(ErrorCode, &'static str)> {
    let Message::Notification(later) = message else { return None };
    match LspNotificationMethod::from(later.method.as_str()) {
        LspNotificationMethod::CancelRequest
            if request.is_some() && cancelled(&later.params).as_ref() == request =>
        {
            Some((ErrorCode::RequestCanceled, "the request was cancelled"))
        }
        LspNotificationMethod::TextDocumentDidChange
            if uri.is_some() && address(&later.params).as_ref() == uri =>
        {
            Some((ErrorCode::ContentModified, "the document was edited in the meantime"))
        }
        _ => None,
    }
}

/// Returns true if a message closes a document, or ends the server.
fn is_end(message: &Message, uri: &Uri) -> bool {
    match message {
        Message::Request(request) => {
            LspRequestMethod::from(request.method.as_str()) == LspRequestMethod::Shutdown
        }
        Message::Notification(later) if later.method == "exit" => true,
        Message::Notification(later) => {
            let method = LspNotificationMethod::from(later.method.as_str());
            method == LspNotificationMethod::TextDocumentDidClose
                && address(&later.params).as_ref() == Some(uri)
        }
        Message::Response(_) => false,
    }
}

/// The document that a message is about.
pub(crate) fn address(params: &Value) -> Option<Uri> {
    let uri = params.pointer("/textDocument/uri").or_else(|| params.pointer("/item/uri"));
    // An action that was chosen.
    let uri = uri.or_else(|| params.pointer("/data/uri"))?;
    uri.as_str().map(Uri::from)
}

/// The request that a notification cancels.
fn cancelled(params: &Value) -> Option<RequestId> {
    let id = params.get("id")?;
    let number = id.as_i64().and_then(|number| i32::try_from(number).ok()).map(RequestId::from);
    number.or_else(|| id.as_str().map(|text| RequestId::from(text.to_string())))
}
