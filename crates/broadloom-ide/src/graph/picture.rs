//! The contents of a picture: boxes, frames and edges, derived from a program.
//!
//! | in the program | in the picture |
//! |---|---|
//! | data, parameter, state | a leaf; a parameter of one library function is a line in its box |
//! | operation | a box with its text, shortened, and the name if it has one |
//! | function of the program, applied | a frame around the tensors that it makes |
//! | function of the library, applied | one box; with `all`, a frame as well |
//! | number | part of the box that uses it |
//! | tensors that depend on gradients, or that only assignments read | nothing: not the model |

use broadloom::{LeafKind, Node, OperationId, Pointwise, Shapes, StepId, Tensor};
use broadloom_diagnostics::Span;
use broadloom_lang::Program;
use rustc_hash::{FxHashMap, FxHashSet};

use serde::Serialize;

use super::NoPicture;
use crate::words::{counted, grouped};

/// The most boxes of a picture: more would be unreadable.
const MOST: usize = 1500;
/// The greatest length of texts in boxes.
const LONGEST: usize = 34;
/// The most parameters of a library function that are listed in its box.
const LISTED: usize = 2;

/// The choice of what is drawn.
#[derive(Clone, Debug, Default)]
pub(super) struct Choice {
    /// True to look into functions of the library.
    pub all: bool,
    /// The tensor that is drawn with everything it is computed from; by default the whole program.
    pub of: Option<Tensor>,
    /// The number of boxes to go back from there.
    pub depth: Option<usize>,
}

/// A picture of a program.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Picture {
    /// The name of the text.
    pub file: String,
    /// The boxes.
    pub boxes: Vec<Drawn>,
    /// The frames, outer ones before those inside them.
    pub frames: Vec<Frame>,
    /// The edges between boxes.
    pub edges: Vec<Edge>,
}

/// An output of a box: the box, and the index of the output.
pub(super) type Output = (usize, usize);

/// An edge, from a box to another that reads its result.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Edge {
    /// The box it comes from.
    pub from: usize,
    /// The box it goes to.
    pub to: usize,
    /// The shape of its tensor.
    pub shape: String,
    /// The index of the output of the box it comes from.
    #[serde(skip)]
    pub output: usize,
}

/// A box.
#[derive(Clone, Debug, Serialize)]
pub struct Drawn {
    /// The kind of the box.
    pub kind: BoxKind,
    /// The name of its result.
    pub name: Option<String>,
    /// The operation, as lines of text.
    pub lines: Vec<String>,
    /// The text that is shown when the pointer is over it.
    pub title: String,
    /// The shape of each of its outputs; empty texts are not shown.
    #[serde(skip)]
    pub outputs: Vec<String>,
    /// The frame around it.
    pub frame: Option<usize>,
}

/// The kind of a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BoxKind {
    /// Numbers from outside.
    Data,
    /// Numbers that are learned.
    Parameter,
    /// Numbers that assignments keep.
    State,
    /// Generated tensors: positions, random numbers.
    Made,
    /// One operation.
    Operation,
    /// An application of a library function.
    Applied,
    /// A tensor whose operands are not drawn.
    More,
}

impl BoxKind {
    /// Returns true if it is computed from nothing that is drawn.
    pub fn is_leaf(self) -> bool {
        !matches!(self, BoxKind::Operation | BoxKind::Applied)
    }
}

/// A frame around the tensors that a function makes.
#[derive(Clone, Debug, Serialize)]
pub struct Frame {
    /// The title.
    pub title: String,
    /// The frame around it.
    #[serde(rename = "frame")]
    pub outer: Option<usize>,
}

/// The owner of a tensor: a box of its own, or that of a library function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
enum Owner {
    Tensor(Tensor),
    Application(u32),
}

impl Picture {
    /// The picture of a program.
    pub(super) fn new(program: &Program, shapes: &Shapes, choice: &Choice) -> Result<Picture, NoPicture> {
        Drawing::new(program, shapes, choice).picture()
    }
}

struct Drawing<'p> {
    program: &'p Program,
    shapes: &'p Shapes,
    choice: &'p Choice,
    /// For each tensor, true if it is drawn, in whatever box.
    visible: Vec<bool>,
    /// The box of each tensor that is drawn.
    owners: Vec<Option<Owner>>,
    /// The innermost function of the program around each tensor.
    groups: Vec<Option<u32>>,
}

impl<'p> Drawing<'p> {
    fn new(program: &'p Program, shapes: &'p Shapes, choice: &'p Choice) -> Drawing<'p> {
        let count = program.graph.len();
        let mut drawing = Drawing {
            program,
            shapes,
            choice,
            visible: vec![false; count],
            owners: vec![None; count],
            groups: vec![None; count],
        };
        drawing.find_visible();
        drawing.find_owners();
        drawing
    }

    fn operands(&self, tensor: Tensor) -> &'p [Tensor] {
        match self.program.graph.node(tensor) {
            Some(Node::Operation { operands, .. }) => operands,
            _ => &[],
        }
    }

    fn leaf(&self, tensor: Tensor) -> Option<LeafKind> {
        match self.program.graph.node(tensor) {
            Some(Node::Leaf { kind }) => Some(kind),
            _ => None,
        }
    }

    /// Finds the model: everything that results are computed from, without tensors that depend on
    /// gradients.
    fn find_visible(&mut self) {
        let graph = &self.program.graph;
        let counts = graph.use_counts();
        let mut trains = vec![false; graph.len()];
        let mut read = vec![false; graph.len()];
        for tensor in graph.tensors() {
            let gradient = matches!(self.leaf(tensor), Some(LeafKind::Gradient(_)));
            let operands = self.operands(tensor);
            trains[tensor.index()] = gradient || operands.iter().any(|operand| trains[operand.index()]);
            if !trains[tensor.index()] {
                operands.iter().for_each(|operand| read[operand.index()] = true);
            }
        }
        let is_result = |tensor: &Tensor| {
            let at = tensor.index();
            self.leaf(*tensor).is_none() && !trains[at] && !read[at] && counts[at] == 0
        };
        let results = graph.tensors().filter(is_result);
        let mut waiting: Vec<Tensor> = match self.choice.of {
            Some(tensor) => vec![tensor],
            None => results.collect(),
        };
        while let Some(tensor) = waiting.pop() {
            if std::mem::replace(&mut self.visible[tensor.index()], true) {
                continue;
            }
            waiting.extend(self.operands(tensor));
        }
        for tensor in graph.tensors() {
            let number = matches!(
                self.leaf(tensor),
                Some(LeafKind::Number(_) | LeafKind::Constant(_) | LeafKind::Size)
            );
            self.visible[tensor.index()] &= !number;
        }
    }

    /// The functions around a tensor, the outermost first.
    fn applications(&self, tensor: Tensor) -> Vec<u32> {
        let step = self.program.graph.step_of(tensor);
        let mut next =
            step.and_then(|step| self.program.origins.get(step)).and_then(|origin| origin.application);
        let mut path = Vec::new();
        while let Some(application) = next {
            path.push(application);
            next = self.program.applications[application as usize].outer;
        }
        path.reverse();
        path
    }

    fn find_owners(&mut self) {
        let all = self.choice.all;
        let applications = &self.program.applications;
        let mut paths: Vec<Vec<u32>> = Vec::with_capacity(self.visible.len());
        for tensor in self.program.graph.tensors() {
            paths.push(if self.visible[tensor.index()] { self.applications(tensor) } else { Vec::new() });
        }
        self.share_parameters(&mut paths);
        for tensor in self.program.graph.tensors() {
            let at = tensor.index();
            if !self.visible[at] {
                continue;
            }
            let path = &paths[at];
            if let Some(whole) = self.divided(tensor) {
                // The second step of a mean: its sum has been drawn before.
                (self.owners[at], self.groups[at]) = (self.owners[whole.index()], self.groups[whole.index()]);
                continue;
            }
            let library = path.iter().position(|each| !all && applications[*each as usize].library);
            let (groups, owner) = match library {
                Some(place) => (&path[..place], Owner::Application(path[place])),
                None => (&path[..], Owner::Tensor(tensor)),
            };
            self.groups[at] = groups.last().copied();
            self.owners[at] = Some(owner);
        }
    }

    /// The sum that a mean divides by the number of its terms: an operand that the same call made.
    fn divided(&self, tensor: Tensor) -> Option<Tensor> {
        let graph = &self.program.graph;
        let Some(Node::Operation { id, operands: &[whole, size], step }) = graph.node(tensor) else {
            return None;
        };
        if id != Pointwise::Div.into() {
            return None;
        }
        let origin = |step: StepId| self.program.origins.get(step).map(|origin| origin.inner);
        let same = graph.step_of(whole).and_then(origin) == origin(step);
        let counted = self.leaf(size) == Some(LeafKind::Size) && self.leaf(whole).is_none();
        (!self.choice.all && same && counted && graph.name_of(whole).is_none()).then_some(whole)
    }

    /// A parameter belongs to the innermost function around all its uses: to the one that made it,
    /// if no other uses it.
    fn share_parameters(&self, paths: &mut [Vec<u32>]) {
        let mut common: FxHashMap<Tensor, Vec<u32>> = FxHashMap::default();
        for tensor in self.program.graph.tensors().filter(|tensor| self.visible[tensor.index()]) {
            for operand in self.operands(tensor) {
                if !matches!(self.leaf(*operand), Some(LeafKind::Param | LeafKind::State)) {
                    continue;
                }
                let path = &paths[tensor.index()];
                let known = common.entry(*operand).or_insert_with(|| path.clone());
                let same = known.iter().zip(path).take_while(|(a, b)| a == b).count();
                known.truncate(same);
            }
        }
        for (tensor, path) in common {
            paths[tensor.index()] = path;
        }
    }

    fn picture(&self) -> Result<Picture, NoPicture> {
        let graph = &self.program.graph;
        let owner = |tensor: Tensor| self.owners[tensor.index()];
        // The edges between boxes, each once, and the boxes in the order of their first tensor.
        let mut order: Vec<Owner> = Vec::new();
        let mut members: FxHashMap<Owner, Vec<Tensor>> = FxHashMap::default();
        for tensor in graph.tensors() {
            if let Some(owner) = owner(tensor) {
                members
                    .entry(owner)
                    .or_insert_with(|| {
                        order.push(owner);
                        Vec::new()
                    })
                    .push(tensor);
            }
        }
        let mut edges: Vec<(Tensor, Owner)> = Vec::new();
        let mut seen = FxHashSet::default();
        for tensor in graph.tensors() {
            let Some(to) = owner(tensor) else { continue };
            for operand in self.operands(tensor) {
                let inside = owner(*operand).is_none_or(|from| from == to);
                if !inside && seen.insert((*operand, to)) {
                    edges.push((*operand, to));
                }
            }
        }
        let kept = self.kept(&edges);
        order.retain(|owner| kept.as_ref().is_none_or(|kept| kept.contains(owner)));
        if order.len() > MOST {
            return Err(NoPicture::TooLarge { boxes: order.len(), most: MOST });
        }
        // The outputs of each box.
        let mut outputs: FxHashMap<Owner, Vec<Tensor>> = FxHashMap::default();
        let mut ends: FxHashSet<Tensor> = edges.iter().map(|(from, _)| *from).collect();
        ends.extend(self.program.results());
        ends.extend(self.choice.of);
        for owner in &order {
            let made = members[owner].iter().copied();
            let mut out: Vec<Tensor> = made.filter(|tensor| ends.contains(tensor)).collect();
            if out.is_empty() {
                out.extend(members[owner].last());
            }
            outputs.insert(*owner, out);
        }
        let mut picture = Picture::default();
        let mut frames: FxHashMap<u32, usize> = FxHashMap::default();
        let mut numbers: FxHashMap<Owner, usize> = FxHashMap::default();
        for owner in &order {
            let group = members[owner].last().and_then(|tensor| self.groups[tensor.index()]);
            let frame = group.map(|group| self.frame(group, &mut frames, &mut picture.frames));
            let drawn = self.drawn(*owner, &members[owner], &outputs[owner], frame);
            numbers.insert(*owner, picture.boxes.len());
            picture.boxes.push(drawn);
        }
        for (from, to) in edges {
            let Some(to) = numbers.get(&to).copied() else { continue };
            let Some(source) = owner(from) else { continue };
            let (from, output) = match numbers.get(&source) {
                Some(number) => {
                    let at = outputs[&source].iter().position(|tensor| *tensor == from);
                    (*number, at.unwrap_or(0))
                }
                None => {
                    // Not drawn any further: a box with its name replaces it.
                    let number = *numbers.entry(Owner::Tensor(from)).or_insert_with(|| {
                        picture.boxes.push(self.more(from));
                        picture.boxes.len() - 1
                    });
                    (number, 0)
                }
            };
            let shape = picture.boxes[from].outputs.get(output).cloned().unwrap_or_default();
            picture.edges.push(Edge { from, to, shape, output });
        }
        Ok(picture)
    }

    /// The boxes within the depth that was asked for, or None for all of them.
    fn kept(&self, edges: &[(Tensor, Owner)]) -> Option<FxHashSet<Owner>> {
        let (of, depth) = (self.choice.of?, self.choice.depth?);
        let mut above: FxHashMap<Owner, Vec<Owner>> = FxHashMap::default();
        for (from, to) in edges {
            above.entry(*to).or_default().extend(self.owners[from.index()]);
        }
        let mut kept: FxHashSet<Owner> = self.owners[of.index()].into_iter().collect();
        let mut last: Vec<Owner> = kept.iter().copied().collect();
        for _ in 0..depth {
            // No box is further away than that.
            if last.is_empty() {
                break;
            }
            let next: Vec<Owner> =
                last.iter().flat_map(|owner| above.get(owner).into_iter().flatten()).copied().collect();
            last = next.into_iter().filter(|owner| kept.insert(*owner)).collect();
        }
        Some(kept)
    }

    /// The frame of an application, and those around it.
    fn frame(&self, application: u32, known: &mut FxHashMap<u32, usize>, frames: &mut Vec<Frame>) -> usize {
        let mut missing = vec![application];
        while let Some(outer) =
            missing.last().and_then(|last| self.program.applications[*last as usize].outer)
        {
            missing.push(outer);
        }
        let mut outer = None;
        for each in missing.into_iter().rev() {
            let number = *known.entry(each).or_insert_with(|| {
                let applied = &self.program.applications[each as usize];
                let plain = applied.path.rsplit('.').next().unwrap_or_default();
                // `layer2` is the second application of `layer`.
                let is_own =
                    plain.trim_end_matches(|letter: char| letter.is_ascii_digit()) == applied.function;
                let title = if is_own {
                    applied.path.clone()
                } else {
                    format!("{}: {}", applied.path, applied.function)
                };
                frames.push(Frame { title, outer });
                frames.len() - 1
            });
            outer = Some(number);
        }
        outer.unwrap_or(0)
    }

    fn drawn(&self, owner: Owner, members: &[Tensor], outputs: &[Tensor], frame: Option<usize>) -> Drawn {
        let graph = &self.program.graph;
        let shape = |tensor: &Tensor| self.shapes.get(*tensor).to_string();
        let shapes: Vec<String> = outputs
            .iter()
            .map(shape)
            .map(|text| if text.is_empty() { "number".into() } else { text })
            .collect();
        match owner {
            Owner::Tensor(tensor) => match self.leaf(tensor) {
                Some(kind) => {
                    let kind = match kind {
                        LeafKind::Data => BoxKind::Data,
                        LeafKind::Param => BoxKind::Parameter,
                        LeafKind::State => BoxKind::State,
                        _ => BoxKind::Made,
                    };
                    let word = match kind {
                        BoxKind::Data => "data",
                        BoxKind::Parameter => "parameter",
                        BoxKind::State => "state",
                        _ => "made to fit",
                    };
                    let name = short(&self.name_in(self.groups[tensor.index()], tensor));
                    let title = format!("{word} {}: {}", graph.label_of(tensor), shape(&tensor));
                    Drawn { kind, name: Some(name), lines: Vec::new(), title, outputs: shapes, frame }
                }
                None => Drawn {
                    kind: BoxKind::Operation,
                    name: members.last().and_then(|last| self.plain_name(*last)),
                    lines: vec![short(&self.written(tensor))],
                    title: self.title(tensor),
                    outputs: shapes,
                    frame,
                },
            },
            Owner::Application(application) => {
                let applied = &self.program.applications[application as usize];
                let mut lines = vec![applied.function.clone()];
                lines.extend(self.parameters(members));
                let name = outputs.iter().find_map(|tensor| self.named_outside(*tensor));
                let plain = applied.path.rsplit('.').next().unwrap_or_default();
                let is_own =
                    plain.trim_end_matches(|letter: char| letter.is_ascii_digit()) == applied.function;
                if !is_own {
                    lines[0] = short(&format!("{plain}: {}", applied.function));
                }
                let title = format!("{}{}", self.place(applied.span), applied.path);
                Drawn { kind: BoxKind::Applied, name, lines, title, outputs: shapes, frame }
            }
        }
    }

    fn more(&self, tensor: Tensor) -> Drawn {
        let label = self.program.graph.label_of(tensor);
        let shape = self.shapes.get(tensor).to_string();
        let outputs = vec![if shape.is_empty() { "number".into() } else { shape }];
        Drawn {
            kind: BoxKind::More,
            name: Some(short(&label)),
            lines: Vec::new(),
            title: label,
            outputs,
            frame: None,
        }
    }

    /// The parameters inside of a library function: listed if there are few, otherwise counted.
    fn parameters(&self, members: &[Tensor]) -> Vec<String> {
        let is_param = |tensor: &&Tensor| self.leaf(**tensor) == Some(LeafKind::Param);
        let params: Vec<Tensor> = members.iter().filter(is_param).copied().collect();
        if params.len() <= LISTED {
            let line = |tensor: &Tensor| {
                let name = self.plain_name(*tensor).unwrap_or_default();
                short(&format!("{name} : {}", self.shapes.get(*tensor)))
            };
            return params.iter().map(line).collect();
        }
        let elements =
            params.iter().map(|param| self.shapes.get(*param).elements()).fold(0, u64::saturating_add);
        vec![format!("{}, {} elements", counted(params.len() as u64, "parameter"), grouped(elements))]
    }

    /// The name of a tensor without the functions it was made in.
    fn plain_name(&self, tensor: Tensor) -> Option<String> {
        let name = self.program.graph.name_of(tensor)?;
        Some(short(name.rsplit('.').next().unwrap_or(name)))
    }

    /// The name of a leaf, without the function it is drawn in. A leaf that several functions share
    /// has its full name.
    fn name_in(&self, group: Option<u32>, tensor: Tensor) -> String {
        let name = self.program.graph.label_of(tensor);
        let path = group.map(|group| self.program.applications[group as usize].path.as_str());
        let inside = path.and_then(|path| name.strip_prefix(path)?.strip_prefix('.'));
        inside.map_or(name.clone(), str::to_string)
    }

    /// The name that the program gave to a result of a library function.
    fn named_outside(&self, tensor: Tensor) -> Option<String> {
        let depth = self.groups[tensor.index()].map_or(0, |group| {
            let mut depth = 1;
            let mut outer = self.program.applications[group as usize].outer;
            while let Some(next) = outer {
                depth += 1;
                outer = self.program.applications[next as usize].outer;
            }
            depth
        });
        let made = self.program.made.iter().find(|made| made.tensor == tensor && made.level == depth)?;
        Some(short(made.name.rsplit('.').next().unwrap_or(&made.name)))
    }

    /// An operation in short: names and numbers are written out, everything else is `…`.
    fn written(&self, tensor: Tensor) -> String {
        let graph = &self.program.graph;
        let Some(Node::Operation { id, operands, .. }) = graph.node(tensor) else {
            return String::new();
        };
        let operand = |tensor: &Tensor| match self.leaf(*tensor) {
            Some(LeafKind::Number(_) | LeafKind::Constant(_) | LeafKind::Size) => graph.label_of(*tensor),
            _ => self.plain_name(*tensor).unwrap_or_else(|| "…".into()),
        };
        let operands: Vec<String> = operands.iter().map(operand).collect();
        // A spec that is not in the source is left out: `mean(x)`.
        let origin = graph.step_of(tensor).and_then(|step| self.program.origins.get(step));
        let source = origin.map_or("", |origin| self.program.sources.slice(origin.inner));
        let spec = graph.spec_of(tensor).filter(|spec| source.contains(spec) || source.contains('{'));
        match (operands.as_slice(), spec) {
            (_, Some(spec)) => format!("{id} \"{spec}\""),
            ([a, b], None) if id.is_sign() => format!("{a} {id} {b}"),
            ([a, b, c], None) if id == OperationId::ComposeAccumulate => format!("{a} @ {b} + {c}"),
            (list, None) => format!("{id}({})", list.join(", ")),
        }
    }

    /// An operation in full, with the place where it is written.
    fn title(&self, tensor: Tensor) -> String {
        let graph = &self.program.graph;
        let origin = graph.step_of(tensor).and_then(|step| self.program.origins.get(step));
        let place = origin.map_or(String::new(), |origin| self.place(origin.span));
        let text = graph.operation_text(tensor).unwrap_or_default();
        let name = graph.name_of(tensor).map_or(String::new(), |name| format!("{name} = "));
        format!("{place}{name}{text}")
    }

    fn place(&self, span: Span) -> String {
        let source = self.program.sources.get(span.source);
        format!("{}, line {}: ", source.name(), source.line_of(span.start))
    }
}

/// A text, shortened to fit into a box.
fn short(text: &str) -> String {
    if text.chars().count() <= LONGEST {
        return text.to_string();
    }
    text.chars().take(LONGEST - 1).chain(['…']).collect()
}
