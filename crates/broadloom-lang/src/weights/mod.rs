//! Weights from files of other programs: `load("model.safetensors", into = net, names = ["h.*.weight -> blocks.*.weight"])`.
//!
//! The statement says with which numbers parameters begin. While a program is built only its words are read ([`names`]). When all
//! shapes are known, the headers of the files are compared with them ([`resolve`]): which array is which parameter, and how its
//! axes are arranged ([`layout`]). The numbers themselves are read when a session is made.

mod layout;
mod names;
mod resolve;

use std::path::PathBuf;
use std::sync::Arc;

use broadloom::files::OpenTensors;
use broadloom::{Error, Graph, LeafKind, Node, Session, Tensor};
use broadloom_diagnostics::{Diagnostic, Span};

use crate::codes;
use layout::Layout;
pub(crate) use names::Line;

/// A statement that loads weights, as it is written.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    /// The file, and how it is written; none if it is given from outside.
    pub file: Option<(PathBuf, String)>,
    /// The parameters and what the lines call them.
    pub params: Vec<(String, Tensor)>,
    /// The lines, and where they are written.
    pub lines: Vec<(Line, String, Span)>,
    /// The span of what is loaded into, and how it is written.
    pub into: (Span, String),
    /// The span of the file, or of the statement.
    pub span: Span,
}

/// The parameters that begin with numbers from files.
#[derive(Clone, Debug, Default)]
pub(crate) struct Weights {
    placed: Vec<Placed>,
    /// Warnings about arrays that nothing takes.
    pub unused: Vec<Diagnostic>,
    /// True if the file that is given from outside is read here, by the names of the program.
    pub outside: bool,
}

/// The place of the first numbers of a parameter.
#[derive(Clone, Debug)]
struct Placed {
    tensor: Tensor,
    file: Arc<OpenTensors>,
    array: String,
    layout: Layout,
    span: Span,
}

impl Weights {
    /// Parameters that the file from outside leaves as they are, by name.
    pub fn left_out(&self, graph: &Graph) -> Vec<String> {
        let is_left = |tensor: &Tensor| {
            let is_param = matches!(graph.node(*tensor), Some(Node::Leaf { kind: LeafKind::Param }));
            is_param && !self.placed.iter().any(|placed| placed.tensor == *tensor)
        };
        let params = graph.tensors().filter(|_| self.outside).filter(is_left);
        params.map(|tensor| format!("`{}`", graph.label_of(tensor))).collect()
    }

    /// Sets parameters to the numbers in the files.
    pub fn give_to(&self, session: &mut Session) -> Result<(), Box<Diagnostic>> {
        let mut read: Option<(&Placed, broadloom::Array)> = None;
        for placed in &self.placed {
            let at = |error: String| Box::new(Diagnostic::error(codes::FILE, error, placed.span, ""));
            // Several parameters may lie in one array.
            let is_read =
                |known: &Placed| Arc::ptr_eq(&known.file, &placed.file) && known.array == placed.array;
            if !read.as_ref().is_some_and(|(known, _)| is_read(known)) {
                let array = placed.file.read(&placed.array).map_err(|error| at(error.to_string()))?;
                let gone = || at(format!("`{}` is no longer in its file", placed.array));
                read = Some((placed, array.ok_or_else(gone)?));
            }
            let Some((_, array)) = &read else { continue };
            let set = placed.set(session, array);
            set.map_err(|error| at(error.to_string()))?;
        }
        Ok(())
    }
}

impl Placed {
    fn set(&self, session: &mut Session, array: &broadloom::Array) -> Result<(), Error> {
        let values = array.arranged(self.layout.start, &self.layout.axes)?;
        let dtype = session.dtype(self.tensor)?;
        session.set(self.tensor, &values.convert(dtype))
    }
}
