//! Tensor programs as graphs: tensors and operations, the constraints they make, the shapes that follow, and how each
//! operation maps its axes to loops.
//!
//! A [`Graph`] is built step by step, and refuses a step that contradicts the program with an
//! [`Error`] in the names of the program. Code that runs a graph reads it through [`lowering`], and
//! nothing else.

mod along;
mod assigned;
mod broadcasts;
mod capture;
mod captured;
pub mod certificate;
mod declaration;
mod declared;
mod discard;
mod elaborate;
mod error;
mod facts;
mod final_shapes;
mod fit;
mod formula;
mod graph;
mod inferred;
mod initial;
mod leaves;
pub mod logic;
mod lookup;
pub mod lowering;
mod matrices;
mod message;
mod names;
mod nest;
mod node;
mod notation;
mod open;
mod operation;
mod partial_shape;
mod precision;
mod project;
mod questions;
mod rust_code;
mod scan;
mod scheme;
mod shape;
mod shape_source;
mod size;
mod size_expr;
mod sort;
mod spec_axis;
mod spec_composed;
mod spec_options;
mod spec_parts;
mod spec_window;
mod step;
mod symbols;
mod transaction;
mod undetermined;
mod view;
mod why;

pub use along::Along;
pub use assigned::{Assigned, AssignedNumbers, Logic};
pub use broadcasts::Broadcast;
pub use broadloom_core::Padding;
pub use broadloom_spec::Kind;
pub use certificate::Certificate;
pub use declaration::StatedNames;
pub use declared::ComputedShape;
pub use error::{ClosingRule, Error, ErrorKind, MessageLine, Remedy, example_shape};
pub use fit::{Fit, FoundSize, Input, Misfit, Said};
pub use formula::{Assignments, Formula, FormulaName, Sign};
pub use graph::{Graph, Stats};
pub use initial::Initial;
pub use message::Multiples;
pub use why::{Why, WhySize};

pub use broadloom_diagnostics::{Advice, Code, Fact, Help, Setting, Wording};
pub use nest::{ShownAccess, ShownLoop, ShownNest};
pub use node::{LeafKind, Node};
pub use notation::{DeclaredShape, Notation};
pub use operation::Operation;
pub use operation::id::OperationId;
pub use operation::table::Pointwise;
pub use project::{Fill, Margins, Projected};
pub use scan::{OpenScan, Scanned};
pub use scheme::{Scheme, SchemeAxis};
pub use shape::{Axis, PartialAxis, PartialRow, PartialShape, Shape, Shapes};
pub use shape_source::{Completion, How};
pub use size::{Extent, SymbolicSize};
pub use size_expr::SizeSum;
pub use spec_options::{Accumulate, Combine, SliceIndex, SpecOptions};
pub use step::{Beginning, Captured, StepId, Tensor};
pub use symbols::RuntimeCheck;
