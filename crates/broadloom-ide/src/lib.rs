//! Questions about `.loom` programs, answered as plain data. A front end (the command, an editor, a notebook, a web page)
//! translates answers and does nothing else.
//!
//! [`Analysis`] reads a [`Text`], and never fails; each question is a function of it, in a module of its own:
//!
//! | question | function |
//! |---|---|
//! | What is the shape of everything, and is anything wrong? | [`check()`] |
//! | Is anything wrong? | [`diagnostics()`] |
//! | What is known after this line of an unfinished program? | [`shapes()`] |
//! | Which shapes are inferred, not written? | [`hints()`] |
//! | What is this? | [`hover()`] |
//! | Where is this name bound? | [`definition()`] |
//! | Where is it used, and what if it had another name? | [`references()`], [`rename()`] |
//! | What can be written here? | [`completion()`], [`call_help()`] |
//! | What could an editor change here? | [`actions()`] |
//! | What does the text consist of? | [`symbols()`], [`tokens()`], [`folds()`], [`calls()`], [`lenses()`] |
//! | Why has this axis this size? | [`explain()`] |
//! | How is it computed, forward and backward? | [`loops()`] |
//! | Which shapes do functions take and give? | [`signatures()`] |
//! | How is it computed after optimisation? | [`optimised()`] |
//! | How much memory does it need, and how large can a size be? | [`memory()`] |
//! | How is it divided over devices, and what do they send each other? | [`meshed()`] |
//! | What does its own mesh make impossible? | [`conflicts_on_mesh()`] |
//! | Do these arrays fit it? | [`verify()`] |
//! | What does it look like? | [`graph()`] |
//! | What may not be what was meant? | [`lint()`] |
//! | Which colours do its words have in a document? | [`highlight()`], [`coloured_words()`] |
//! | How should it be laid out? | [`format()`], [`format_edits()`], [`format_range()`] |
//! | Which shapes of a function are proved for all sizes? | [`certified_signature()`] |
//! | Which signatures does a module have for its users? | [`Interface`] |
//! | How do other programs read it? | [`whole()`], [`emit`] |
//! | Which sizes have names? | [`dims()`] |
//!
//! Answers own their data and derive `Serialize`; their keys are those of `docs/schema.json`, which
//! the command prints. Additional data for display (spans to underline, descriptions) is in fields
//! that are not serialised.

mod actions;
mod alone;
mod analysis;
pub mod arrays;
mod builtin;
mod call;
mod calls;
mod check;
mod completion;
mod definition;
mod dims;
pub mod emit;
mod explain;
mod extract;
mod fields;
mod folding;
mod format;
pub mod graph;
mod highlight;
mod hints;
mod hover;
mod interface;
mod labels;
mod lens;
mod lint;
mod loops;
mod memory;
mod mesh;
mod names;
mod occurrences;
mod paths;
mod place;
mod references;
mod refusal;
mod shape;
mod shapes;
mod signature;
mod spec_words;
mod stages;
mod symbols;
mod tokens;
mod verify;
mod whole;
pub mod words;

pub use actions::{Action, ActionKind, Wanted, actions, refused};
pub use analysis::{Analysis, Listing, Text};
/// The state that is kept of a program while it is edited.
pub use broadloom_lang::Editing;
/// The codes of diagnostics.
pub use broadloom_lang::codes;
pub use builtin::of_language;
pub use call::{CallHelp, call_help};
pub use calls::{Callee, Caller, calls};
pub use check::{Checked, CheckedTensor, Parameters, check, diagnostics};
pub use completion::{Completion, completion};
pub use definition::definition;
pub use dims::{NamedSize, Range, dims, range_text};
pub use explain::{ChainStep, Explained, Explanation, explain, explainable};
pub use folding::{Fold, folds};
pub use format::{format, format_edits, format_range};
pub use graph::{GraphOf, NoPicture, Picture, graph};
pub use highlight::{ColouredWord, STYLE, coloured_words, highlight};
pub use hints::{Hint, hints, hints_within};
pub use hover::{Hover, HoverTensor, hover};
pub use interface::{Interface, NoInterface};
pub use lens::{Lens, lenses};
pub use lint::{lint, unused};
pub use loops::{
    AccessData, LoopData, Loops, LoopsOf, NestData, OperationLoops, OptimisedRoutine, loops, optimised,
};
pub use memory::{
    AllocatedMemory, Measured, MemoryGroup, MemoryOf, MemoryUse, Optimiser, RoutineMemory, SizeMemory,
    StoredTensor, TemporaryMemory, memory,
};
pub use mesh::{
    MeshAxis, MeshTable, Meshed, Sent, SentBy, SentInAll, ShardedTensor, conflicts_on_mesh, meshed,
};
pub use place::{Line, Place};
pub use references::{
    Member, References, applied, places_of_member, references, renamable, rename, uses_of_member,
};
pub use refusal::Refusal;
pub use shape::{AxisText, Rows, how, kind};
pub use shapes::{PartialTensor, SoFar, shapes};
pub use signature::{
    CertifiedSignature, FunctionSignature, SignatureArgument, SignatureParameter, Signatures, Signed,
    certified_signature, signatures,
};
pub use symbols::{Symbol, symbols};
pub use tokens::{CLASSES, Class, Classified, lexical, tokens};
pub use verify::{Verified, VerifiedArray, VerifiedSize, VerifiedTensor, verify};
pub use whole::{WholeOperation, WholeProgram, WholeTensor, whole};

/// The README of the crate, so that its example is run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
