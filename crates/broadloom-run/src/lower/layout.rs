//! The layout of a graph at some sizes: what all its routines share when they are lowered.

pub(super) mod matrix_axes;

use broadloom_graph::{
    Error, ErrorKind, Extent, Fill, Graph, Kind, Margins, MessageLine, Operation, Projected, Remedy, Shapes,
    StepId, Tensor,
};
use std::sync::{Arc, OnceLock};

use broadloom_core as core;
use broadloom_graph::lowering::{Face, Inferred, Leaf, MEMORY, Op, Scan, accumulated, precisions};
use broadloom_loops::{Buffer, Derived, Dtype, Progression, Size, Storage};

use super::segments::{Noted, Segmented, Segments};
use super::{Content, own_like, own_name, start_in};

/// The data that all routines of a graph share at some sizes: final shapes, projections, margins
/// and types.
pub(crate) struct Layout {
    pub shapes: Arc<Shapes>,
    /// The projections of each step; none if nothing is lowered with this layout.
    nests: Vec<Option<Result<Arc<Projected>, Error>>>,
    /// For each step, true for each of its tensors that it reads or writes beyond the ends, found when the step is lowered.
    reaches: Vec<OnceLock<Box<[bool]>>>,
    /// The margins of all tensors, found when the first buffer is made: a rehearsal may make none.
    margins: OnceLock<Vec<Margins>>,
    pub dtypes: Vec<Dtype>,
    /// The segments of the turns of scans, found when the first of them is asked for.
    segments: OnceLock<Segments>,
    /// The shapes in which sizes have their names.
    named: Arc<Shapes>,
    /// The number of arguments of programs.
    arguments: u32,
    /// The captured sizes that are used as numbers.
    sizes: Vec<CapturedSize>,
}

/// A captured size that is used as a number: the product of some sizes.
enum CapturedSize {
    /// The program says it.
    Literal(f64),
    /// It depends on named sizes, as an expression says; its value at the sizes of this layout.
    Named(String, f64),
    /// It depends on named sizes, and is supplied to the run.
    Supplied(String),
}

impl CapturedSize {
    /// Its value, unless that is supplied to the run.
    fn value(&self) -> Option<f64> {
        match self {
            CapturedSize::Literal(value) | CapturedSize::Named(_, value) => Some(*value),
            CapturedSize::Supplied(_) => None,
        }
    }

    /// Its expression, if it depends on named sizes.
    fn text(&self) -> Option<&str> {
        match self {
            CapturedSize::Literal(_) => None,
            CapturedSize::Named(text, _) | CapturedSize::Supplied(text) => Some(text),
        }
    }
}

/// More elements than any machine holds; products of such sizes would overflow.
const MOST_ELEMENTS: u64 = 1 << 62;

/// Refuses tensors with more elements than can be counted, and names them.
fn check_elements(graph: &Graph, shapes: &Shapes) -> Result<(), Error> {
    if shapes.most_elements().is_some_and(|most| most <= MOST_ELEMENTS) {
        return Ok(());
    }
    for tensor in graph.tensors() {
        let mut sizes = MEMORY.iter().flat_map(|kind| shapes.sizes(tensor, *kind));
        let elements = sizes.try_fold(1u64, u64::checked_mul);
        if elements.is_none_or(|elements| elements > MOST_ELEMENTS) {
            let (name, shape) = (graph.label_of(tensor), shapes.get(tensor));
            let message =
                format!("`{name}`, of shape `{shape}`, would have more elements than any memory holds");
            return Err(Error::new(ErrorKind::Run, message)
                .about_step(graph.made_by(tensor))
                .with_end(MessageLine::at(graph.made_by(tensor), format!("`{name}` is `{shape}`")))
                .with_help(
                    "look for an axis that should have been contracted, or for a size that is a mistake",
                ));
        }
    }
    Ok(())
}

/// Refuses operations on the bits of floats.
fn check_bits(graph: &Graph, dtypes: &[Dtype]) -> Result<(), Error> {
    for tensor in graph.tensors() {
        let step = graph.made_by(tensor);
        let is_bitwise = match graph.op(step) {
            Some((Op::Pointwise(id), _)) => id.operation().is_some_and(Operation::is_bitwise),
            _ => false,
        };
        let operands = if is_bitwise { graph.step_operands(step) } else { &[] };
        if let Some(float) = operands.iter().find(|operand| dtypes[operand.index()].is_float()) {
            let (name, dtype) = (graph.label_of(*float), dtypes[float.index()]);
            let message = format!("`{}` is for integers, but `{name}` is {dtype}", graph.label_of(tensor));
            return Err(Error::new(ErrorKind::Value, message)
                .about_step(step)
                .with_end(graph.declared_end(*float))
                .with_remedy(Remedy::Bits, "cast it first: `g.cast(x, Dtype::I64)`"));
        }
    }
    Ok(())
}

impl Layout {
    /// The layout at some values of the size symbols, in the order of their numbers.
    pub fn at(graph: &Graph, inferred: &Inferred, sizes: &[u64]) -> Result<Layout, Error> {
        Ok(Layout::bare_at(graph, inferred, sizes)?.with_nests(graph))
    }

    /// The same without projections.
    pub fn bare_at(graph: &Graph, inferred: &Inferred, sizes: &[u64]) -> Result<Layout, Error> {
        let shapes = match inferred.shapes.is_symbolic() {
            true => Arc::new(inferred.shapes.at(sizes).ok_or_else(no_size)?),
            false => Arc::clone(&inferred.shapes),
        };
        check_elements(graph, &shapes)?;
        let dtypes = precisions(graph);
        check_bits(graph, &dtypes)?;
        let captured = |extents: &Vec<Extent>| {
            let size = |extent: &Extent| match extent {
                Extent::Literal(size) => Some(*size),
                Extent::Symbolic(size) => size.form().size(|symbol| sizes.get(symbol.0 as usize).copied()),
            };
            let mut sizes = extents.iter().map(|extent| size(extent).map(|size| size as f64));
            let product = sizes.try_fold(1.0, |product, size| Some(product * size?)).ok_or_else(no_size)?;
            Ok(match captured_text(extents) {
                Some(text) => CapturedSize::Named(text, product),
                None => CapturedSize::Literal(product),
            })
        };
        let sizes = inferred.captured.iter().map(captured).collect::<Result<_, Error>>()?;
        Ok(Layout::bare(inferred, shapes, sizes, dtypes))
    }

    /// The layout in which named sizes are arguments.
    pub fn open(graph: &Graph, inferred: &Inferred, arguments: &Arguments) -> Result<Layout, Error> {
        let shapes = Arc::new(inferred.shapes.open(|form| arguments.size(form)));
        let captured = |extents: &Vec<Extent>| {
            let literal = |extent: &Extent| match extent {
                Extent::Literal(size) => Some(*size as f64),
                Extent::Symbolic(_) => None,
            };
            let product: Option<f64> = extents.iter().map(literal).product();
            product.map_or_else(|| CapturedSize::Supplied(product_text(extents)), CapturedSize::Literal)
        };
        let sizes = inferred.captured.iter().map(captured).collect();
        let layout = Layout::bare(inferred, shapes, sizes, precisions(graph));
        Ok(Layout { arguments: arguments.numbers.len() as u32, ..layout }.with_nests(graph))
    }

    fn bare(
        inferred: &Inferred,
        shapes: Arc<Shapes>,
        sizes: Vec<CapturedSize>,
        dtypes: Vec<Dtype>,
    ) -> Layout {
        Layout {
            shapes,
            nests: Vec::new(),
            reaches: Vec::new(),
            margins: OnceLock::new(),
            dtypes,
            segments: OnceLock::new(),
            named: Arc::clone(&inferred.shapes),
            arguments: 0,
            sizes,
        }
    }

    /// The layout with the projections of all steps.
    pub fn with_nests(self, graph: &Graph) -> Layout {
        let nests = graph.projections_at(&self.shapes).into_iter().map(|nest| Some(nest?.map(Arc::new)));
        let nests: Vec<_> = nests.collect();
        Layout { reaches: nests.iter().map(|_| OnceLock::new()).collect(), nests, ..self }
    }

    /// Returns true if it has no projections, although there are steps.
    pub fn is_bare(&self, graph: &Graph) -> bool {
        self.nests.len() < graph.steps()
    }

    /// The margins of a tensor.
    pub fn margins(&self, tensor: Tensor) -> &Margins {
        let nests = || self.nests.iter().flatten().flatten().map(Arc::as_ref);
        &self.margins.get_or_init(|| Margins::over(self.shapes.len(), nests()))[tensor.index()]
    }

    /// The projections of a step.
    pub fn nest(&self, step: StepId) -> Result<Arc<Projected>, Error> {
        match self.nests.get(step.index()) {
            Some(Some(Ok(nest))) => Ok(Arc::clone(nest)),
            Some(Some(Err(error))) => Err(error.clone()),
            _ => Err(Error::new(ErrorKind::Use, "a leaf has no loop nest")),
        }
    }

    /// Returns true if a step reads or writes a tensor, given by its position in the nest, beyond the ends of an axis.
    pub fn has_margins(&self, step: StepId, at: usize) -> bool {
        let Some(Some(Ok(nest))) = self.nests.get(step.index()) else { return false };
        let reaches = |at: usize| nest.margins(at).iter().any(|margin| *margin != (0, 0));
        let all = self.reaches[step.index()].get_or_init(|| (0..nest.tensors.len()).map(reaches).collect());
        all.get(at).copied().unwrap_or(false)
    }

    /// Returns true if all elements of a tensor always have one value.
    pub fn is_number(&self, graph: &Graph, tensor: Tensor) -> bool {
        matches!(graph.leaf(tensor), Some(Leaf::Number(_) | Leaf::Constant(_) | Leaf::Size(_)))
    }

    /// The constant that a tensor stands for, if all its elements always have one value that is not supplied to the run.
    pub fn number(&self, graph: &Graph, tensor: Tensor) -> Option<f64> {
        match graph.leaf(tensor)? {
            Leaf::Number(value) | Leaf::Constant(value) => Some(value),
            Leaf::Size(at) => self.sizes.get(at as usize)?.value(),
            _ => None,
        }
    }

    /// The value of a captured size. A layout in which it is supplied to the run has none.
    pub fn captured(&self, at: u32) -> Result<f64, Error> {
        self.sizes.get(at as usize).and_then(CapturedSize::value).ok_or_else(no_size)
    }

    /// The captured size that a tensor stands for, and its expression, if it depends on named sizes.
    pub(super) fn symbolic_size(&self, graph: &Graph, tensor: Tensor) -> Option<(u32, &str)> {
        match graph.leaf(tensor)? {
            Leaf::Size(at) => Some((at, self.sizes.get(at as usize)?.text()?)),
            _ => None,
        }
    }

    /// The sizes of a tensor in memory order.
    pub fn sizes_of(&self, tensor: Tensor) -> Vec<u64> {
        MEMORY.iter().flat_map(|kind| self.shapes.sizes(tensor, *kind)).collect()
    }

    /// The number of axes of a tensor of each kind.
    pub fn ranks(&self, tensor: Tensor) -> [usize; 3] {
        Kind::ALL.map(|kind| self.shapes.extents(tensor, kind).count())
    }

    /// The sizes of a tensor in memory order for loops and buffers: expressions if sizes are
    /// arguments.
    pub fn axes(&self, tensor: Tensor) -> Vec<Size> {
        MEMORY.iter().flat_map(|kind| self.shapes.extents(tensor, *kind)).collect()
    }

    /// The buffer of a node, without its lifetime.
    pub fn buffer(&self, graph: &Graph, node: Content) -> Buffer {
        let (tensor, name, dtype, fill) = match node {
            Content::Value(tensor) => {
                let fill = match self.margins(tensor).fill {
                    Fill::Value(value) => start_in(self.dtypes[tensor.index()], value),
                    Fill::Nothing | Fill::ByReader => 0.0,
                };
                (tensor, graph.short_name(tensor), self.dtypes[tensor.index()], fill)
            }
            Content::Gradient(tensor) => {
                let name = format!("{}.grad", graph.short_name(tensor));
                (tensor, name, accumulated(self.dtypes[tensor.index()]), 0.0)
            }
            Content::Own(step, slot, backward) => {
                let tensor = own_like(graph, step, slot, backward);
                let name = format!("{}.{}", graph.short_name(tensor), own_name(graph, step, slot, backward));
                (tensor, name, accumulated(self.dtypes[tensor.index()]), 0.0)
            }
            Content::Work(step, backward) => {
                return matrix_axes::work_buffer(self, graph, step, backward);
            }
            Content::Before(tensor, _) => {
                let name = format!("{}.before", graph.short_name(tensor));
                return Buffer {
                    name,
                    storage: Storage::Local,
                    ..self.buffer(graph, Content::Value(tensor))
                };
            }
            Content::Wide(tensor) => {
                let name = format!("{}.sum", graph.short_name(tensor));
                (tensor, name, accumulated(self.dtypes[tensor.index()]), 0.0)
            }
            Content::Notes(tensor, noted) => {
                let name = format!("{}.{}", graph.short_name(tensor), noted.name());
                let mut buffer = self.buffer(graph, Content::Value(tensor));
                buffer.sizes.insert(0, self.times_noted(graph, tensor, noted));
                return Buffer { name, margins: Vec::new(), fill: 0.0, ..buffer };
            }
            Content::OfTurns(tensor, part, noted) => {
                let mut buffer = self.buffer(graph, part.in_a_turn(tensor));
                buffer.name.push_str(".turns");
                buffer.sizes.insert(0, self.times_noted(graph, tensor, noted));
                return buffer;
            }
            Content::NotFinite(tensor) => {
                let name = format!("{}.not_finite", graph.short_name(tensor));
                let (sizes, margins) = (self.axes(tensor), Vec::new());
                return Buffer {
                    name,
                    dtype: Dtype::I64,
                    sizes,
                    margins,
                    fill: 0.0,
                    storage: Storage::Local,
                };
            }
        };
        let margins = self.margins_of(graph, node, tensor);
        Buffer { name, dtype, sizes: self.axes(tensor), margins, fill, storage: Storage::Local }
    }

    /// The number of times that a tensor of a scan is noted.
    fn times_noted(&self, graph: &Graph, tensor: Tensor, noted: Noted) -> Size {
        let Some(scan) = graph.scan_of(graph.made_by(tensor)) else { return Size::ONE };
        match (noted, self.segments_of(graph, scan)) {
            (Noted::Checkpoint, Some(segments)) => segments.count,
            (Noted::InSegment, Some(segments)) => segments.length,
            _ => self.turns(scan),
        }
    }

    /// The number of turns of a scan.
    pub fn turns(&self, scan: &Scan) -> Size {
        self.axes(scan.over).first().copied().unwrap_or(Size::ONE)
    }

    /// Returns true if the number of turns of a scan depends on named sizes.
    pub fn has_named_turns(&self, scan: &Scan) -> bool {
        self.named.expressions(scan.over, Kind::Batch).next().flatten().is_some()
    }

    /// The segments that the turns of a scan are divided into for its gradients, if they are.
    pub fn segments_of(&self, graph: &Graph, scan: &Scan) -> Option<Segmented> {
        self.segments(graph).of(scan)
    }

    /// The sizes that programs compute from their arguments.
    pub fn derived(&self, graph: &Graph) -> &[Derived] {
        &self.segments(graph).derived
    }

    fn segments(&self, graph: &Graph) -> &Segments {
        self.segments.get_or_init(|| Segments::new(graph, self, self.arguments))
    }

    /// The margins of a node that has the shape of a tensor. A gradient is written as far as its
    /// tensor is read, and read as far as the tensor that stands for it.
    fn margins_of(&self, graph: &Graph, node: Content, tensor: Tensor) -> Vec<(u64, u64)> {
        let mut margins = self.margins(tensor).axes.clone();
        if let (Content::Gradient(_), Some(leaf)) = (node, graph.gradients().get(&tensor).copied()) {
            let read = &self.margins(leaf).axes;
            margins.resize(margins.len().max(read.len()), (0, 0));
            for (margin, read) in margins.iter_mut().zip(read) {
                *margin = (margin.0.max(read.0), margin.1.max(read.1));
            }
        }
        if margins.iter().all(|margin| *margin == (0, 0)) { Vec::new() } else { margins }
    }
}

/// The expression of a captured size, if it depends on named sizes.
fn captured_text(extents: &[Extent]) -> Option<String> {
    let symbolic = extents.iter().any(|extent| matches!(extent, Extent::Symbolic(_)));
    symbolic.then(|| product_text(extents))
}

/// The product of some sizes as an expression.
fn product_text(extents: &[Extent]) -> String {
    extents.iter().map(Extent::to_string).collect::<Vec<_>>().join("*")
}

/// The named sizes that are arguments of a program.
pub(crate) struct Arguments {
    symbols: Vec<core::Symbol>,
    /// The numbers that each can be. The program uses the place among them, so that its parts are whole.
    pub numbers: Vec<Progression>,
    /// The least value of each.
    least: Vec<u64>,
}

impl Arguments {
    /// Some named sizes, with the least value of each and the numbers that it can be.
    pub fn new(symbols: &[core::Symbol], choices: impl Fn(core::Symbol) -> (u64, Progression)) -> Arguments {
        let (least, numbers) = symbols.iter().map(|symbol| choices(*symbol)).unzip();
        Arguments { symbols: symbols.to_vec(), numbers, least }
    }

    /// An expression as a size of the program. It is unknown if it depends on a symbol that is not
    /// an argument.
    fn size(&self, form: &core::Form) -> Size {
        Size::from_form(form, |symbol| {
            let place = self.symbols.iter().position(|known| *known == symbol)?;
            let numbers = self.numbers[place];
            let least = numbers.place_from(self.least[place].max(1));
            Some(Size::argument(place as u32, least) * numbers.step + numbers.first)
        })
    }
}

fn no_size() -> Error {
    Error::new(ErrorKind::Range, "at these numbers of named sizes, some size is no whole number")
}
