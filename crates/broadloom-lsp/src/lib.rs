//! The language server: the questions of `broadloom-ide`, asked by an editor through the Language Server Protocol.
//!
//! The server translates and decides nothing about programs. It reads messages one after another on one thread: edits are
//! applied at once, requests are answered in order, and a document is checked when no message waits. So a burst of edits
//! costs one check, and a request about a text that has been edited since is answered as outdated.
//!
//! ```text
//! server       the loop: order of messages, cancelled and outdated requests, diagnostics when idle
//! dispatch     which function answers which request
//! documents    the texts that are open, edits, and what was found out about them
//! position     offsets as lines and columns in the encoding that was agreed on
//! library      the library as files that can be opened
//! answers/     one module for each group of requests
//! ```

mod answers;
mod capabilities;
mod dispatch;
mod documents;
mod folders;
mod inbox;
mod library;
mod position;
mod server;
mod uri;
mod world;

pub use server::{Ended, serve};

/// Serves an editor through standard input and output until it says goodbye. Returns an error if the streams break.
pub fn stdio() -> std::io::Result<Ended> {
    let (connection, threads) = lsp_server::Connection::stdio();
    let ended = serve(&connection);
    // The threads end when the other ends of their channels are dropped.
    drop(connection);
    threads.join().map(|()| ended)
}

/// The README of the crate, so that its example is run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
