//! Pictures of the tensors and operations of a program.
//!
//! ```text
//! program → picture (what is drawn: boxes, frames, edges) → arrange, layered (where) → svg (text)
//! ```
//!
//! `picture` decides what is drawn: an application of a library function is one box, a function of
//! the program is a frame around the tensors that it makes. Frames are laid out from the inside: in
//! the frame around it, each is a box with its inputs on the upper and its outputs on the lower
//! edge.

mod arrange;
mod layered;
mod picture;
mod svg;

pub use arrange::{Arranged, Rectangle};
pub use picture::{BoxKind, Drawn, Edge, Frame, Picture};
pub use svg::xml_escaped;

use picture::Choice;

use crate::analysis::Analysis;

/// The choice of the part of a program that is drawn.
#[derive(Clone, Debug, Default)]
pub struct GraphOf {
    /// True to look into functions of the library.
    pub all: bool,
    /// The tensor that is drawn with everything it is computed from; by default the whole program.
    pub of: Option<String>,
    /// The number of boxes to go back from there.
    pub depth: Option<usize>,
}

/// The reason why there is no picture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoPicture {
    /// The name that was asked for does not exist; holds a message.
    Unknown(String),
    /// The picture would have more boxes than can be drawn.
    TooLarge {
        /// The number of its boxes.
        boxes: usize,
        /// The most that can be drawn.
        most: usize,
    },
}

/// The picture of a program. It is empty if the program has errors.
///
/// ```
/// use broadloom_ide::{Analysis, GraphOf, Text, graph};
///
/// let text = Text::new("mlp.loom", "data x : 32 | 784\nlet y = x |> linear(64) |> relu\n");
/// let picture = graph(&mut Analysis::new(&text), &GraphOf::default()).unwrap();
/// assert_eq!(picture.boxes.len(), 3);
/// assert_eq!(picture.edges[0].shape, "32 | 784");
/// assert!(picture.svg("mlp").starts_with("<svg "));
/// ```
pub fn graph(analysis: &mut Analysis, of: &GraphOf) -> Result<Picture, NoPicture> {
    let nothing = Picture { file: analysis.name.clone(), ..Picture::default() };
    if !analysis.is_ok() {
        return Ok(nothing);
    }
    let Ok(shapes) = analysis.program.graph.final_shapes() else { return Ok(nothing) };
    let tensor = of.of.as_deref().map(|name| analysis.named(name)).transpose().map_err(NoPicture::Unknown)?;
    let choice = Choice { all: of.all, of: tensor, depth: of.depth };
    let picture = Picture::new(&analysis.program, &shapes, &choice)?;
    Ok(Picture { file: analysis.name.clone(), ..picture })
}
