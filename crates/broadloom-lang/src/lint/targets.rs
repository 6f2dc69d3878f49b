//! Losses of the library that are given targets of the wrong kind.

use broadloom::{Array, Axis, Initial, LeafKind, Node, Operation, OperationId, Pointwise, Shapes, Tensor};
use broadloom_diagnostics::{Diagnostic, Help, Span, Wording};

use crate::codes;
use crate::program::Program;

/// Finds class numbers that have a class axis, or fractions. Both compare unequal to every class,
/// so the loss is still a number, but a useless one. Finds targets that all examples share, too.
pub(super) fn targets(program: &Program, shapes: &Shapes) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for tensor in program.graph.tensors() {
        let Some(Node::Operation { id, operands: &[a, b], step, .. }) = program.graph.node(tensor) else {
            continue;
        };
        let Some(origin) = program.origins.get(step) else { continue };
        let application =
            |at: Option<u32>| program.applications.get(at? as usize).filter(|each| each.library);
        if id == Pointwise::Sub.into() && origin.span == origin.inner {
            let difference = Loss { program, shapes, function: "-", span: origin.span };
            found.extend(difference.without_bar(a, b).or_else(|| difference.without_bar(b, a)));
        }
        let Some(inner) = application(origin.application) else { continue };
        let loss = |function| Loss { program, shapes, function, span: origin.span };
        if compares(&inner.function, id) {
            let loss = loss(&inner.function);
            let shared = loss.without_examples(a, b).or_else(|| loss.without_examples(b, a));
            let shared = shared.or_else(|| loss.with_more_axes(a, b));
            found.extend(shared.or_else(|| loss.with_more_axes(b, a)));
        }
        if inner.function == "mse" || inner.function == "mae" {
            let loss = loss(&inner.function);
            found.extend(loss.repeated(a, b).filter(|_| id == Pointwise::Sub.into()));
        }
        if id != Pointwise::Equals.into() {
            continue;
        }
        // `cross_entropy` makes one-hot rows of its targets.
        let outer = application(inner.outer).filter(|outer| outer.function == "cross_entropy");
        let loss = match (inner.function.as_str(), outer) {
            ("one_hot", Some(outer)) => loss(&outer.function),
            ("one_hot" | "accuracy", _) => loss(&inner.function),
            _ => continue,
        };
        let usual = if loss.function == "accuracy" { loss.claimed(a) } else { 0 };
        found.extend(if loss.claimed(b) > usual {
            Some(loss.class_axis(b))
        } else {
            loss.fractions(b).or_else(|| loss.beyond(a, b))
        });
    }
    found
}

/// Returns true if this operation of a loss compares it with its targets.
fn compares(function: &str, id: OperationId) -> bool {
    let OperationId::Pointwise(operation) = id else { return false };
    matches!(
        (function, operation),
        ("mse" | "mae" | "huber", Pointwise::Sub) | ("binary_cross_entropy", Pointwise::Mul)
    )
}

/// A loss of the library, where a program applies it.
struct Loss<'a> {
    program: &'a Program,
    shapes: &'a Shapes,
    function: &'a str,
    span: Span,
}

impl Loss<'_> {
    fn warning(&self, message: String, label: impl Into<String>, help: impl Into<Help>) -> Diagnostic {
        Diagnostic::warning(codes::TARGETS, message, self.span, label).with_help(help)
    }

    /// The number of output axes that claim a size.
    fn claimed(&self, tensor: Tensor) -> usize {
        self.shapes.get(tensor).output().iter().filter(|axis| **axis != Axis::Unit).count()
    }

    /// Finds examples that are all compared with the same targets: one side has batch axes, and the other is data with axes,
    /// but without these. A target that is computed, such as a mean over the batch, is meant so.
    fn without_examples(&self, examples: Tensor, targets: Tensor) -> Option<Diagnostic> {
        // Without output axes of its own it broadcasts into the other, and the other into it, which is another warning.
        let outputs = self.claimed(examples) > 0 && self.claimed(targets) > 0;
        let (with, shape) = (self.shapes.get(examples), self.shapes.get(targets));
        let only_examples = with.batch().iter().any(|axis| *axis != Axis::Unit) && shape.batch().is_empty();
        if !(outputs && only_examples && is_data(self.program, targets)) {
            return None;
        }
        let [with_name, name] = [examples, targets].map(|tensor| self.program.graph.message_name(tensor));
        let function = self.function;
        let message = format!("`{function}` compares every example of `{with_name}` with the same `{name}`");
        let label = format!("`{name}` is `{shape}`, without the batch axes of `{with_name}`, `{with}`");
        let help = Wording::new("declare the batch axes of `")
            .name(&name)
            .words("` before `|`; without `|` all axes are outputs");
        Some(self.warning(message, label, help))
    }

    /// Finds targets with output axes that what is compared with them lacks, such as a batch that was declared without `|`.
    fn with_more_axes(&self, of: Tensor, targets: Tensor) -> Option<Diagnostic> {
        let predicted = is_data(self.program, targets) && !is_data(self.program, of);
        let (own, shape) = (self.shapes.get(of), self.shapes.get(targets));
        let lacks = self.claimed(of) > 0 && self.claimed(of) < self.claimed(targets);
        if !(predicted && lacks && own.batch().is_empty()) {
            return None;
        }
        let [of_name, name] = [of, targets].map(|tensor| self.program.graph.message_name(tensor));
        let message = format!("`{}` compares all of `{name}` with the same `{of_name}`", self.function);
        let label = format!("`{of_name}` is `{own}`, and `{name}` is `{shape}`");
        let help = "the axes that count examples are batch axes: declare them before `|`, `32 | 10`";
        Some(self.warning(message, label, help))
    }

    /// Finds class numbers that are compared with several outputs: each of them is repeated.
    fn repeated(&self, outputs: Tensor, targets: Tensor) -> Option<Diagnostic> {
        let (own, shape) = (self.shapes.get(outputs), self.shapes.get(targets));
        let several = own.output().iter().map(|axis| axis.size()).product::<u64>() > 1;
        let alike = !shape.batch().is_empty() && own.batch() == shape.batch();
        if !(several && alike && shape.output().is_empty() && is_data(self.program, targets)) {
            return None;
        }
        let [own_name, name] = [outputs, targets].map(|tensor| self.program.graph.message_name(tensor));
        // What has no name in the program is long.
        let of = if own_name.contains('"') { String::new() } else { format!(" of `{own_name}`") };
        let message = format!("`{}` compares all outputs{of} with the same `{name}`", self.function);
        let label = format!("`{own}` with `{name}`, which is `{shape}`");
        let help = Wording::new("if these are class numbers, write `mean(cross_entropy(logits, ")
            .name(&name)
            .words("))` with the logits, or compare with `one_hot(")
            .name(&name)
            .words(")`");
        Some(self.warning(message, label, help))
    }

    /// Finds a difference from targets that have more axes than what is predicted, and whose first axis is that of the data that
    /// the prediction was computed from: all of it was declared without `|`, and the examples were summed up.
    fn without_bar(&self, predicted: Tensor, targets: Tensor) -> Option<Diagnostic> {
        let graph = &self.program.graph;
        let (own, shape) = (self.shapes.get(predicted), self.shapes.get(targets));
        let only_outputs = |tensor: Tensor| {
            let shape = self.shapes.get(tensor);
            is_data(self.program, tensor) && shape.batch().is_empty() && shape.input().is_empty()
        };
        let count = shape.output().first().map(Axis::size).filter(|count| *count > 1)?;
        if !own.batch().is_empty() || !only_outputs(targets) || is_data(self.program, predicted) {
            return None;
        }
        if own.output().len() >= shape.output().len() {
            return self.all_at_once(predicted, targets, count);
        }
        let is_summed = |tensor: &Tensor| {
            let shape = self.shapes.get(*tensor);
            only_outputs(*tensor) && shape.output().len() > 1 && shape.output()[0].size() == count
        };
        let data = graph.computed_from(&[predicted]).into_iter().find(is_summed)?;
        let [data, name, own_name] = [data, targets, predicted].map(|tensor| graph.message_name(tensor));
        let message = format!(
            "`{own_name}` is `{own}`: the {count} of `{data}` are summed up, and those of `{name}` are not"
        );
        let label = format!("`{own}` is compared with all of `{shape}`");
        let help = Wording::new("if they count examples, they are a batch, before `|`: `data ")
            .name(&data)
            .words(format!(" : {count} | …`, and `data "))
            .name(&name)
            .words(format!(" : {count} | …`"));
        Some(self.warning(message, label, help))
    }

    /// Finds a map of all examples at once to all targets at once: none of them was declared to be a batch.
    fn all_at_once(&self, predicted: Tensor, targets: Tensor, count: u64) -> Option<Diagnostic> {
        let graph = &self.program.graph;
        let first = |axes: &[Axis]| axes.first().map(Axis::size);
        let sources = graph.computed_from(&[predicted]);
        let is_whole = |tensor: &&Tensor| {
            let shape = self.shapes.get(**tensor);
            let counts = first(shape.input()) == Some(count) && first(shape.output()) == Some(count);
            let is_param = matches!(graph.node(**tensor), Some(Node::Leaf { kind: LeafKind::Param }));
            is_param && shape.input().len() > 1 && counts
        };
        let map = *sources.iter().find(is_whole)?;
        let is_read = |tensor: &&Tensor| {
            let shape = self.shapes.get(**tensor);
            let alone = shape.batch().is_empty() && shape.input().is_empty();
            is_data(self.program, **tensor) && alone && first(shape.output()) == Some(count)
        };
        let data = *sources.iter().find(is_read)?;
        let written = |tensor: Tensor| {
            let axes = self.shapes.get(tensor).output().iter().map(ToString::to_string).collect::<Vec<_>>();
            let rest = axes.get(1..).unwrap_or_default().join(", ");
            let shape = format!(" : {count} | {rest}");
            Wording::new("`data ").name(graph.message_name(tensor)).words(format!("{}`", shape.trim_end()))
        };
        let shape = self.shapes.get(map);
        let [name, from] = [map, data].map(|tensor| graph.message_name(tensor));
        let message =
            format!("`{name}` is `{shape}`: it maps all {count} of `{from}` at once, not each of them");
        let label = "compared with as many targets, of which none is an example by itself";
        let help = Wording::new("if they count examples, they are a batch, before `|`: ")
            .and(written(data))
            .words(", and ")
            .and(written(targets));
        Some(self.warning(message, label, help))
    }

    /// Finds a class number that is too large for the classes it is compared with.
    fn beyond(&self, classes: Tensor, targets: Tensor) -> Option<Diagnostic> {
        // `accuracy` compares with positions of what it was given.
        let counted = match self.program.graph.node(classes)? {
            Node::Operation { operands, .. } if self.function == "accuracy" => *operands.first()?,
            _ => classes,
        };
        let count = self.shapes.get(counted).output().last()?.size();
        let values = values(self.program, targets)?.to_f64s();
        let most = values.into_iter().fold(f64::NEG_INFINITY, f64::max);
        if count <= 1 || most < count as f64 {
            return None;
        }
        let name = self.program.graph.message_name(targets);
        let message = format!("`{name}` has the class {most}, and there are {count} classes");
        let label = format!("`{}` takes classes from 0 to {}", self.function, count - 1);
        let help = "count classes from 0: `labels - 1`; a negative number is no class, and costs 0";
        Some(self.warning(message, label, help))
    }

    fn class_axis(&self, targets: Tensor) -> Diagnostic {
        let (name, shape) = (self.program.graph.message_name(targets), self.shapes.get(targets));
        let function = self.function;
        let message = format!("`{function}` takes class numbers `... |`, and `{name}` is `{shape}`");
        let help = match function {
            "cross_entropy" => {
                "for one-hot targets and distributions there is `cross_entropy_one_hot`; a list of class numbers is declared `n |`"
            }
            "accuracy" => {
                "`argmax` makes class numbers of one-hot targets; a list of class numbers is declared `n |`"
            }
            _ => "a list of class numbers is declared `n |`",
        };
        self.warning(message, "every output axis is compared with the classes", help)
    }

    fn fractions(&self, targets: Tensor) -> Option<Diagnostic> {
        let why = has_fractions(self.program, targets)?;
        let name = self.program.graph.message_name(targets);
        let message = format!("`{}` takes class numbers, and `{name}` {why}", self.function);
        let help = "class numbers are whole, from 0; for numbers that are measured there are `mse` and `mae`";
        Some(self.warning(message, "a number with a fraction is no class", help))
    }
}

/// Returns true for data, and for a part of it.
fn is_data(program: &Program, tensor: Tensor) -> bool {
    match program.graph.node(tensor) {
        Some(Node::Leaf { kind }) => kind == LeafKind::Data,
        Some(Node::Operation { id: OperationId::Slice, operands, .. }) => {
            operands.iter().all(|operand| is_data(program, *operand))
        }
        _ => false,
    }
}

/// The numbers of data that the program itself writes or loads.
fn values(program: &Program, tensor: Tensor) -> Option<&Array> {
    let drawn = program.plan.drawn.iter().find(|drawn| drawn.tensor == tensor);
    match drawn.map(|drawn| &drawn.initial) {
        Some(Initial::Values(values)) => Some(values),
        _ => program.graph.values_of(tensor),
    }
}

/// The reason why a tensor has numbers that are not whole, if that is known.
fn has_fractions(program: &Program, tensor: Tensor) -> Option<&'static str> {
    match program.graph.node(tensor)? {
        Node::Leaf { kind: LeafKind::Data } => {
            let drawn = program.plan.drawn.iter().find(|drawn| drawn.tensor == tensor);
            let random = |initial: &Initial| !matches!(initial, Initial::Constant(_) | Initial::Values(_));
            if drawn.is_some_and(|drawn| random(&drawn.initial)) {
                return Some("is drawn from a distribution");
            }
            let values = program.graph.values_of(tensor)?;
            (!values.is_whole()).then_some("has numbers with fractions")
        }
        // A quotient is often whole: `ids / 2` of even numbers.
        Node::Operation { id, .. } if id != Pointwise::Div.into() => {
            let has_fractions = id.operation().is_some_and(Operation::has_fractions);
            has_fractions.then_some("is computed with fractions")
        }
        Node::Operation { .. } => None,
        Node::Leaf { .. } => None,
    }
}
