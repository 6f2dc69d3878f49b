//! The engine of each backend.

use broadloom_graph::Error;

use super::engine::Engine;
use super::host::Evaluator;
use super::native::Native;
use super::xla::Xla;
use super::{Backend, HAS_PROCESSES, Settings};

/// The engine of a session. Says in a notice what is not as it should be.
pub(super) fn engine_for(settings: &Settings, notices: &mut Vec<String>) -> Result<Box<dyn Engine>, Error> {
    let missing = |message: &str| Err(Error::run(message.into()));
    match settings.backend {
        Backend::Xla if !HAS_PROCESSES => missing("XLA runs through Python, which is not on this machine"),
        Backend::Native if !HAS_PROCESSES => missing("there is no C compiler on this machine"),
        Backend::Xla if HAS_PROCESSES => Ok(Box::new(Xla::new(settings)?)),
        Backend::Auto | Backend::Native if HAS_PROCESSES => match Native::find(settings, notices)? {
            Some(native) => Ok(Box::new(native)),
            None => Ok(Box::new(Evaluator { host: None })),
        },
        Backend::Host(host) => Ok(Box::new(Evaluator { host: Some(host) })),
        _ => Ok(Box::new(Evaluator { host: None })),
    }
}
