//! The arrangement of a picture: frames are laid out from the inside out, each by itself.

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::layered::{Edge, Layout, PlacedBox, Role, layout};
use super::picture::{Drawn, Output, Picture};

/// The width of a letter in boxes and on edges, where all have the same width.
pub(super) const LETTER: f64 = 7.3;
pub(super) const LINE: f64 = 17.0;
const BOX_MARGIN: (f64, f64) = (12.0, 7.0);
/// The space around the contents of a frame; the title has a line of its own.
const FRAME_MARGIN: f64 = 16.0;
const FRAME_TITLE: f64 = 20.0;
/// The distance of the text on an edge from the edge.
pub(super) const BESIDE: f64 = 6.0;

/// The positions of everything. Rectangles are left, top, width, height.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Arranged {
    /// The width of the drawing.
    pub width: f64,
    /// The height of the drawing.
    pub height: f64,
    /// In the order of the boxes of the picture.
    pub boxes: Vec<Rectangle>,
    /// In the order of its frames.
    pub frames: Vec<Rectangle>,
    /// Pieces of edges, from top to bottom, with true if the piece ends at a box.
    pub pieces: Vec<(Vec<(f64, f64)>, bool)>,
}

/// Left, top, width, height.
pub type Rectangle = (f64, f64, f64, f64);

/// An item directly inside a frame, or in the picture itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Child {
    Box(usize),
    Frame(usize),
}

/// A frame after its layout, treated as a box from here on.
#[derive(Default)]
struct Inside {
    layout: Layout,
    items: Vec<PlacedBox>,
    edges: Vec<Edge>,
    children: Vec<Child>,
    width: f64,
    height: f64,
    /// The positions at which each tensor comes in, and goes out, relative to the middle.
    inputs: FxHashMap<Output, f64>,
    outputs: FxHashMap<Output, f64>,
}

impl Picture {
    /// The positions of everything, for callers that draw it themselves.
    pub fn arranged(&self) -> Arranged {
        arrange(self)
    }
}

pub(super) fn arrange(picture: &Picture) -> Arranged {
    let mut frames: Vec<Inside> = Vec::new();
    frames.resize_with(picture.frames.len(), Inside::default);
    // Inner frames come later in the list.
    for frame in (0..picture.frames.len()).rev() {
        frames[frame] = inside(picture, Some(frame), &frames);
    }
    let all = inside(picture, None, &frames);
    let mut arranged = Arranged {
        width: all.layout.width,
        height: all.layout.height,
        boxes: vec![(0.0, 0.0, 0.0, 0.0); picture.boxes.len()],
        frames: vec![(0.0, 0.0, 0.0, 0.0); picture.frames.len()],
        pieces: Vec::new(),
    };
    let mut waiting = vec![(&all, 0.0, 0.0)];
    while let Some((inside, left, top)) = waiting.pop() {
        for (child, place) in inside.children.iter().zip(&inside.layout.places) {
            let (x, y) = (left + place.0, top + place.1);
            match *child {
                Child::Box(at) => {
                    let (width, height) = box_size(&picture.boxes[at]);
                    arranged.boxes[at] = (x - width / 2.0, y, width, height);
                }
                Child::Frame(at) => {
                    let Inside { width, height, .. } = frames[at];
                    arranged.frames[at] = (x - width / 2.0, y, width, height);
                    waiting.push((&frames[at], x - width / 2.0 + FRAME_MARGIN, y + FRAME_TITLE));
                }
            }
        }
        for (edge, path) in inside.edges.iter().zip(&inside.layout.paths) {
            let points = path.iter().map(|(x, y)| (left + x, top + y)).collect();
            let at_box = matches!(inside.children.get(edge.to), Some(Child::Box(_)));
            arranged.pieces.push((points, at_box));
        }
        inside.ports(left, top, &mut arranged.pieces);
    }
    arranged
}

impl Inside {
    /// Draws lines from the frame itself to the start of edges inside of it, and back.
    fn ports(&self, left: f64, top: f64, pieces: &mut Vec<(Vec<(f64, f64)>, bool)>) {
        if self.height == 0.0 {
            return;
        }
        for (at, item) in self.items.iter().enumerate() {
            let (x, y) = (left + self.layout.places[at].0, top + self.layout.places[at].1);
            match item.role {
                Role::Top => pieces.push((vec![(x, top - FRAME_TITLE), (x, y)], false)),
                Role::Bottom => pieces.push((vec![(x, y), (x, top - FRAME_TITLE + self.height)], false)),
                Role::Usual | Role::Leaf => {}
            }
        }
    }
}

/// Lays out the contents of a frame, or of the picture outside all frames.
fn inside(picture: &Picture, frame: Option<usize>, frames: &[Inside]) -> Inside {
    // The child that something inside this frame belongs to.
    let child_of = |mut at: Option<usize>, own: Child| {
        let mut child = own;
        while at != frame {
            let outer = at?;
            child = Child::Frame(outer);
            at = picture.frames[outer].outer;
        }
        Some(child)
    };
    let child = |at: usize| child_of(picture.boxes[at].frame, Child::Box(at));
    let mut result = Inside::default();
    let mut numbers: FxHashMap<Child, usize> = FxHashMap::default();
    for at in 0..picture.boxes.len() {
        let Some(child) = child(at) else { continue };
        numbers.entry(child).or_insert_with(|| {
            result.children.push(child);
            result.items.push(match child {
                Child::Box(at) => {
                    let drawn = &picture.boxes[at];
                    let role = if drawn.kind.is_leaf() { Role::Leaf } else { Role::Usual };
                    PlacedBox { width: outer_width(drawn), height: box_size(drawn).1, role }
                }
                Child::Frame(at) => {
                    let reads = !frames[at].inputs.is_empty();
                    let role = if reads { Role::Usual } else { Role::Leaf };
                    PlacedBox { width: frames[at].width, height: frames[at].height, role }
                }
            });
            result.items.len() - 1
        });
    }
    let mut tops: FxHashMap<Output, usize> = FxHashMap::default();
    let mut bottoms: FxHashMap<Output, usize> = FxHashMap::default();
    let mut known = rustc_hash::FxHashSet::default();
    for edge in &picture.edges {
        let output: Output = (edge.from, edge.output);
        let (from, into) = (child(edge.from), child(edge.to));
        if from.is_none() && into.is_none() || from == into {
            continue;
        }
        let port = |role, ports: &mut FxHashMap<Output, usize>, items: &mut Vec<PlacedBox>| {
            *ports.entry(output).or_insert_with(|| {
                items.push(PlacedBox { width: 8.0, height: 0.0, role });
                items.len() - 1
            })
        };
        let (from, from_x) = match from {
            Some(from) => (numbers[&from], leaves_at(picture, frames, from, output)),
            None => (port(Role::Top, &mut tops, &mut result.items), 0.0),
        };
        let (into, to_x) = match into {
            Some(into) => (numbers[&into], enters_at(frames, into, output)),
            None => (port(Role::Bottom, &mut bottoms, &mut result.items), 0.0),
        };
        // A tensor that several boxes of another frame read has one edge to that frame.
        if known.insert((output, into)) {
            result.edges.push(Edge { from, to: into, from_x, to_x });
        }
    }
    result.layout = layout(&result.items, &result.edges);
    let drawing = &result.layout;
    if let Some(frame) = frame {
        let title = picture.frames[frame].title.chars().count() as f64 * LETTER + 2.0 * FRAME_MARGIN;
        result.width = (drawing.width + 2.0 * FRAME_MARGIN).max(title);
        result.height = drawing.height + FRAME_TITLE + FRAME_MARGIN;
        let middle = result.width / 2.0 - FRAME_MARGIN;
        result.inputs = tops.iter().map(|(output, at)| (*output, drawing.places[*at].0 - middle)).collect();
        result.outputs =
            bottoms.iter().map(|(output, at)| (*output, drawing.places[*at].0 - middle)).collect();
    }
    result
}

/// The position at which a tensor leaves a box, relative to its middle.
fn leaves_at(picture: &Picture, frames: &[Inside], from: Child, output: Output) -> f64 {
    match from {
        Child::Box(at) => output_at(&picture.boxes[at], output.1),
        Child::Frame(at) => frames[at].outputs.get(&output).copied().unwrap_or(0.0),
    }
}

/// The position at which a tensor enters a box, relative to its middle: a box has only one entry.
fn enters_at(frames: &[Inside], into: Child, output: Output) -> f64 {
    match into {
        Child::Box(_) => 0.0,
        Child::Frame(at) => frames[at].inputs.get(&output).copied().unwrap_or(0.0),
    }
}

/// The width and the height of a box.
pub(super) fn box_size(drawn: &Drawn) -> (f64, f64) {
    let lines = drawn.name.iter().chain(&drawn.lines);
    let longest = lines.clone().map(|line| line.chars().count()).max().unwrap_or(0);
    let count = lines.count().max(1);
    ((longest as f64 * LETTER + 2.0 * BOX_MARGIN.0).max(44.0), count as f64 * LINE + 2.0 * BOX_MARGIN.1)
}

/// The position at which an output of a box begins, relative to its middle.
pub(super) fn output_at(drawn: &Drawn, output: usize) -> f64 {
    let widths: Vec<f64> = drawn.outputs.iter().map(|text| label_width(text)).collect();
    if widths.len() < 2 {
        return 0.0;
    }
    let before: f64 = widths[..output.min(widths.len())].iter().sum();
    before - widths.iter().sum::<f64>() / 2.0
}

/// The width of a box with the labels below it. A single label begins at the middle.
fn outer_width(drawn: &Drawn) -> f64 {
    let labels: f64 = drawn.outputs.iter().map(|text| label_width(text)).sum();
    let labels = if drawn.outputs.len() == 1 { 2.0 * labels } else { labels };
    box_size(drawn).0.max(labels)
}

fn label_width(text: &str) -> f64 {
    text.chars().count() as f64 * LETTER + 2.0 * BESIDE
}
