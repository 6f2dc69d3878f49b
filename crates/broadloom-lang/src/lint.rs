//! Lints: warnings and notes about programs without errors.
//!
//! | code | severity | says |
//! |---|---|---|
//! | W0501 | note | something broadcasts: what, along which axes. `x + bias` does, and is meant to |
//! | W0501 | warning | two operands of a pointwise operation broadcast into each other along equal sizes: `32 \|` and `32` make `32 \| 32` |
//! | W0502 | warning | two parameters, each used once, are only used together: `{a} * {b}` learns no more than one of them |
//! | W0503 | warning | a size was chosen where the program says nothing, or says several things: a parameter of one element, positions that nothing counts |
//! | W0503 | note | a parameter without axes, a shape divided up with as few axes as will do |
//! | W0504 | warning | something is defined and not used |
//! | W0505 | warning | a label stands in one of several operands of a spec only: `"i j; j k => i"` sums `k` alone |
//! | W0506 | warning | a parameter is made, and no gradient reaches it from what is minimised |
//! | W0507 | warning | a loss that takes class numbers is given one-hot rows, or numbers with fractions |
//! | W0508 | warning | a number from 1 upwards in the result of a spec: a position that looks like a size |
//! | W0509 | warning | a name in the shape of data that stands for no size |
//! | W0510 | warning | a layer of the library is given numbers in the order of another library |
//! | W0511 | warning | a composition contracts nothing: `x @ {w}` makes its parameter a single number, `x @ x.T` is an outer product |
//! | W0512 | warning | a name that a turn of `for` makes anew is read as if it were carried on; training in `for` |
//! | W0513 | warning | probabilities where a loss takes logits, a condition in the wrong place |
//! | W0514 | warning | arrays in a file of weights that no parameter takes |
//! | W0515 | warning | the interface beside an imported module is older than the module |
//! | W0516 | warning | a loss is computed from a gradient, through which no gradient goes back |
//!
//! [`warnings`] are the lints that point to mistakes: they are shown whenever a program is checked.
//! A comment `# allow W0505` on the line or above it silences one.
//!
//! Ordinary inference is not reported: numbers and tensors of one element broadcast, positions and
//! random numbers are made to fit, a linear map is applied to every example, parameters take the
//! sizes of their operands. Broadcasting inside functions of the library is not reported either. A
//! value that nothing computes may still decide the size of a parameter that is used elsewhere;
//! then it counts as used. A name that begins with `_` may be unused.

mod allow;
pub(crate) mod arguments;
pub(crate) mod compositions;
mod constants;
pub(crate) mod mutual;
mod names;
mod orders;
mod specs;
mod targets;
mod turns;
mod untrained;
mod unused;

use broadloom::{Broadcast, Completion, How, Kind, LeafKind, Node, OperationId, Pointwise, Shapes, Tensor};
use broadloom_diagnostics::{Diagnostic, Severity, Span, Wording};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::codes;
use crate::program::{NamedTensor, Program};
use crate::suggest::listed;

/// The largest number of sizes that are explained: finding the reasons takes time.
const MOST_REASONS: usize = 50;

/// All warnings and notes about a program, in the
/// order of its text. Empty if the program has errors.
///
/// ```
/// use broadloom_lang::{Options, compile, lint};
/// let text = "
/// data x : 32 | 784
/// data y : 784
/// let scaled = 0.5 * x
/// print sum(x)
/// ";
/// let mut program = compile("some.loom", text, &Options::default());
/// let found: Vec<String> = lint(&mut program).into_iter().map(|found| found.message).collect();
/// assert_eq!(found, ["`y` is not used", "`scaled` is not used"]);
/// ```
pub fn lint(program: &mut Program) -> Vec<Diagnostic> {
    if !program.is_ok() {
        return Vec::new();
    }
    let Ok(shapes) = program.graph.final_shapes() else { return Vec::new() };
    let mut found = mistakes(program, &shapes);
    found.extend(looks(program, &shapes));
    tidy(program, found)
}

/// The warnings that point to mistakes, in the order of the text: the program is accepted, but may
/// compute something else than is meant. Empty if the program has errors.
///
/// ```
/// use broadloom_lang::{Options, compile, warnings};
/// let text = "
/// data a : 2, 3
/// data b : 3, 4
/// let y = einsum(\"i j; j k => i\", a, b)
/// ";
/// let mut program = compile("some.loom", text, &Options::default());
/// let found: Vec<String> = warnings(&mut program).into_iter().map(|found| found.message).collect();
/// assert_eq!(found, ["`k` is only in the second operand, and is summed alone there"]);
/// ```
pub fn warnings(program: &mut Program) -> Vec<Diagnostic> {
    if !program.is_ok() {
        return Vec::new();
    }
    let Ok(shapes) = program.graph.final_shapes() else { return Vec::new() };
    let mut found = mistakes(program, &shapes);
    found.extend(broadcasts(program, &shapes, Severity::Warning));
    tidy(program, found)
}

/// The lints that point to mistakes, apart from broadcasts.
fn mistakes(program: &mut Program, shapes: &Shapes) -> Vec<Diagnostic> {
    let mut found = specs::specs(program);
    found.extend(untrained::untrained(program));
    found.extend(constants::whole_parameters(program));
    found.extend(constants::second_gradients(program));
    found.extend(targets::targets(program, shapes));
    found.extend(names::names(program, shapes));
    found.extend(orders::orders(program, &program.file));
    found.extend(turns::turns(program, &program.file));
    let products = compositions::products(&program.graph);
    found.extend(compositions::compositions(program, shapes, &products));
    found.extend(compositions::transposes(program, shapes));
    found.extend(compositions::outer_products(program, shapes, &products));
    found.extend(arguments::arguments(program, shapes));
    found.extend(program.weights.unused.iter().cloned());
    found
}

/// Returns true if a comment says that something is meant.
pub(crate) fn is_allowed(program: &Program, warning: &Diagnostic) -> bool {
    allow::allowed(&program.sources, warning)
}

/// Gives errors the advice of a warning about the same call: a layer that is configured as elsewhere often fits nothing.
pub(crate) fn explain(program: &mut Program) {
    for warning in orders::orders(program, &program.file) {
        let Some(at) = warning.primary().map(|label| label.span) else { continue };
        let about = |error: &&mut Diagnostic| {
            let place = error.primary().map(|label| label.span);
            place.is_some_and(|place| place.contains(at))
        };
        let errors = program.diagnostics.iter_mut().filter(|each| each.severity == Severity::Error);
        if let Some(error) = errors
            .filter(|error| error.code == codes::ARITHMETIC || error.code == codes::MISMATCH)
            .find(about)
        {
            error.help.clone_from(&warning.help);
        }
    }
}

/// The names that a program defines and does not use; none if it has errors.
pub fn unused_names(program: &mut Program) -> Vec<Diagnostic> {
    let mut found = if program.is_ok() { unused::unused(program) } else { Vec::new() };
    if !found.is_empty() {
        let spans = constraining(program, &found);
        found.retain(|unused| unused.primary().is_none_or(|label| !spans.contains(&label.span)));
    }
    tidy(program, found)
}

/// The other lints: unused names, broadcasts, parameters used only together, and chosen sizes.
fn looks(program: &mut Program, shapes: &Shapes) -> Vec<Diagnostic> {
    let mut found = unused::unused(program);
    // Nothing computes such a value, but it may decide the size of something else.
    let spans = constraining(program, &found);
    found.retain(|unused| unused.primary().is_none_or(|label| !spans.contains(&label.span)));
    found.extend(broadcasts(program, shapes, Severity::Note));
    found.extend(together(program));
    found.extend(chosen(program, shapes));
    found
}

/// Sorts diagnostics by their place, and removes duplicates and those that a comment allows.
fn tidy(program: &Program, mut found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let place = |diagnostic: &Diagnostic| {
        let span = diagnostic.primary().map_or(Span::empty(program.main, 0), |label| label.span);
        (span.source != program.main, span.source.0, span.start, diagnostic.code)
    };
    found.sort_by_key(place);
    found.dedup();
    // A broadcast that comes from targets of the wrong kind is reported once, as that.
    let at = |each: &Diagnostic| each.primary().map(|label| label.span);
    let targets: Vec<_> = found.iter().filter(|each| each.code == codes::TARGETS).map(at).collect();
    found.retain(|each| each.code != codes::BROADCASTS || !targets.contains(&at(each)));
    found.retain(|diagnostic| !allow::allowed(&program.sources, diagnostic));
    found
}

/// Spans of those among some unused values that use a leaf of inferred shape which others use, too: they may decide its size.
fn constraining(program: &mut Program, unused: &[Diagnostic]) -> FxHashSet<Span> {
    // A program that was read in part may leave sizes open.
    if program.graph.final_shapes().is_err() && program.graph.how_all().is_err() {
        return FxHashSet::default();
    }
    let places: FxHashSet<Span> =
        unused.iter().filter_map(|each| each.primary()).map(|label| label.span).collect();
    let counts = program.graph.use_counts();
    let mut spans = FxHashSet::default();
    let is_unread = |made: &&NamedTensor| made.level == 0 && counts[made.tensor.index()] == 0;
    for made in program.made.iter().filter(|made| is_unread(made) && places.contains(&made.span)) {
        let (mut seen, mut waiting) = (FxHashSet::default(), vec![made.tensor]);
        let mut uses: FxHashMap<Tensor, usize> = FxHashMap::default();
        while let Some(tensor) = waiting.pop() {
            if !seen.insert(tensor) {
                continue;
            }
            if let Some(Node::Operation { operands, .. }) = program.graph.node(tensor) {
                operands.iter().for_each(|operand| *uses.entry(*operand).or_default() += 1);
                waiting.extend(operands);
            }
        }
        let is_leaf = |tensor: Tensor| matches!(program.graph.node(tensor), Some(Node::Leaf { .. }));
        let inferred = |tensor: Tensor| is_leaf(tensor) && !program.graph.is_declared(tensor);
        if uses.iter().any(|(tensor, uses)| inferred(*tensor) && counts[tensor.index()] > *uses) {
            spans.insert(made.span);
        }
    }
    spans
}

/// Places where something broadcasts, one for each operand as it is written; only those that are suspicious, if warnings are
/// wanted and no notes.
fn broadcasts(program: &mut Program, shapes: &Shapes, wanted: Severity) -> Vec<Diagnostic> {
    let all = match wanted {
        Severity::Warning => program.graph.mutual_broadcasts(),
        _ => program.graph.broadcasts(),
    };
    let all = all.unwrap_or_default();
    if all.is_empty() {
        return Vec::new();
    }
    let results = results(program);
    let mutual = mutual::Mutual::new(program, shapes);
    let mut found: Vec<Diagnostic> = Vec::new();
    // A function that is applied again would be reported again.
    let mut said: FxHashMap<(Span, String), (usize, usize)> = FxHashMap::default();
    let mut rest = all.as_slice();
    while let Some(first) = rest.first() {
        let (of_step, after) = rest.split_at(rest.iter().take_while(|each| each.step == first.step).count());
        rest = after;
        let Some(origin) = program.origins.get(first.step) else { continue };
        let node = results[first.step.index()].and_then(|result| program.graph.node(result));
        if let Some((a, b)) = mutual.pair(program, shapes, (node.as_ref(), origin), of_step) {
            let names = (program.graph.message_name(a.operand), program.graph.message_name(b.operand));
            let message = format!("`{}` and `{}` broadcast into each other", names.0, names.1);
            let help = mutual::other_bar(program, shapes, (a.operand, b.operand)).unwrap_or_else(|| {
                Wording::new(
                    "to pair them up, declare equal axes in the same row; if all pairs are meant, say so by a spec: \
                     `einsum(\"i; j => i, j\", a, b)`",
                )
            });
            let [a, b, made] = [a.operand, b.operand, a.result].map(|tensor| shapes.get(tensor).to_string());
            let label = format!("`{a}` and `{b}` make `{made}`: every element meets every other");
            if said.insert((origin.span, message.clone()), (found.len(), 1)).is_none() {
                found.push(
                    Diagnostic::warning(codes::BROADCASTS, message, origin.span, label).with_help(help),
                );
            }
            continue;
        }
        // Broadcasts inside functions of the library are not reported.
        if wanted == Severity::Warning || origin.span != origin.inner {
            continue;
        }
        let composes = matches!(node, Some(Node::Operation { id, .. }) if id.is_composition());
        let slots = 1 + of_step.iter().map(|each| each.slot).max().unwrap_or(0);
        for slot in 0..slots {
            // A linear map is applied to every example; that is what `@` means.
            let is_usual = |each: &Broadcast| composes && each.kind == Kind::Batch && !each.unit;
            let is_repeated = |each: &Broadcast| each.axes.iter().any(|(_, size)| *size > 1);
            let fits =
                |each: &Broadcast| shapes.elements(each.operand) == 1 || made_to_fit(program, each.operand);
            // A function of the language that is made of several steps broadcasts inside of itself.
            let is_inside = |each: &Broadcast| {
                let made = program.graph.step_of(each.operand).and_then(|step| program.origins.get(step));
                made.is_some_and(|made| made.span == origin.span)
            };
            let of_slot = of_step.iter().filter(|each| each.slot == slot && !is_inside(each));
            let rows: Vec<&Broadcast> =
                of_slot.filter(|each| !is_usual(each) && is_repeated(each) && !fits(each)).collect();
            let Some(first) = rows.first() else { continue };
            let name = program.graph.label_of(first.operand);
            let along: Vec<String> = rows.iter().map(|each| along(each)).collect();
            let message = format!("`{name}` broadcasts along {}", along.join(" and "));
            if let Some((at, count)) = said.get_mut(&(origin.span, message.clone())) {
                *count += 1;
                found[*at].notes = vec![format!("{count} times, in a function or a loop")];
                continue;
            }
            said.insert((origin.span, message.clone()), (found.len(), 1));
            let label = format!("`{}` into `{}`", shapes.get(first.operand), shapes.get(first.result));
            found.push(Diagnostic::note(codes::BROADCASTS, message, origin.span, label));
        }
    }
    found
}

/// The tensor that each step makes: the first if there are several.
fn results(program: &Program) -> Vec<Option<Tensor>> {
    let mut results = vec![None; program.graph.steps()];
    for tensor in program.graph.tensors() {
        if let Some(step) = program.graph.step_of(tensor) {
            results[step.index()].get_or_insert(tensor);
        }
    }
    results
}

/// Returns true if a tensor has no shape of its own: positions, random numbers, constants.
fn made_to_fit(program: &Program, tensor: Tensor) -> bool {
    let Some(Node::Leaf { kind }) = program.graph.node(tensor) else { return false };
    matches!(kind, LeafKind::Range | LeafKind::Uniform | LeafKind::Constant(_))
}

/// The axes of a row along which something broadcasts: `the batch axis (32)`, `output axes 1 and 2 (28, 28)`.
fn along(each: &Broadcast) -> String {
    let kind = match each.kind {
        Kind::Batch => "batch",
        Kind::Input => "input",
        Kind::Output => "output",
    };
    let sizes: Vec<String> = each.axes.iter().map(|(_, size)| size.to_string()).collect();
    let places: Vec<String> = each.axes.iter().map(|(place, _)| (place + 1).to_string()).collect();
    let unit = if each.unit { ", where it has one element" } else { "" };
    match places.as_slice() {
        [place] => format!("{kind} axis {place} ({}{unit})", sizes.join(", ")),
        places => format!("{kind} axes {} ({}{unit})", listed(places), sizes.join(", ")),
    }
}

/// Pairs of parameters that are used once each, with each other: only their product, sum or
/// composition is learned.
fn together(program: &Program) -> Vec<Diagnostic> {
    let counts = program.graph.use_counts();
    let once = |tensor: &Tensor| {
        let is_param = matches!(program.graph.node(*tensor), Some(Node::Leaf { kind: LeafKind::Param }));
        is_param && counts[tensor.index()] == 1
    };
    let mut found = Vec::new();
    for tensor in program.graph.tensors() {
        let Some(Node::Operation { id: OperationId::Pointwise(operation), operands: &[a, b], step }) =
            program.graph.node(tensor)
        else {
            continue;
        };
        let Some(origin) = program.origins.get(step) else { continue };
        let is_arithmetic =
            matches!(operation, Pointwise::Add | Pointwise::Sub | Pointwise::Mul | Pointwise::Div);
        if !is_arithmetic || !once(&a) || !once(&b) {
            continue;
        }
        let names = (program.graph.label_of(a), program.graph.label_of(b));
        let message = format!("the parameters `{}` and `{}` are only used together", names.0, names.1);
        found.push(
            Diagnostic::warning(codes::USED_ONCE, message, origin.span, "the only use of both")
                .with_help("together they learn no more than one of them, unless they differ in shape"),
        );
    }
    found
}

/// Sizes that the program leaves open and that closing chose, where that may be a surprise.
fn chosen(program: &mut Program, shapes: &Shapes) -> Vec<Diagnostic> {
    let Ok(all) = program.graph.how_all() else { return Vec::new() };
    let mut made: FxHashMap<Tensor, NamedTensor> = FxHashMap::default();
    for each in &program.made {
        made.entry(each.tensor).or_insert_with(|| each.clone());
    }
    let mut found = Vec::new();
    let mut surprising: FxHashSet<Tensor> = FxHashSet::default();
    for tensor in program.graph.tensors() {
        let How::Chosen(rule) = all[tensor.index()] else { continue };
        let kind = match program.graph.node(tensor) {
            Some(Node::Leaf { kind }) => Some(kind),
            _ => None,
        };
        // A tensor computed from a surprising one has its size for the same reason.
        if let Some(Node::Operation { operands, .. }) = program.graph.node(tensor)
            && operands.iter().any(|operand| surprising.contains(operand))
        {
            surprising.insert(tensor);
            continue;
        }
        let Some(surprise) = Surprise::of(rule, kind) else { continue };
        surprising.insert(tensor);
        let origin = program.graph.step_of(tensor).and_then(|step| program.origins.get(step)).copied();
        let named = made.get(&tensor);
        // Of the tensors made inside the library, only parameters with a warning are reported.
        let inside = origin.is_none_or(|origin| origin.span != origin.inner);
        let is_param = kind == Some(LeafKind::Param);
        if inside && !(is_param && surprise == Surprise::Warning) {
            continue;
        }
        let Some(span) = named.map(|made| made.span).or(origin.map(|origin| origin.span)) else { continue };
        // A tensor without a name is quoted as it is written in the text.
        let name = match kind {
            Some(LeafKind::Range | LeafKind::Uniform) => program.sources.slice(span).to_string(),
            _ => program.graph.label_of(tensor),
        };
        let shape = shapes.get(tensor).to_string();
        let shape = if shape.is_empty() { "no axes".into() } else { format!("the shape `{shape}`") };
        let message = format!("`{name}` has {shape}, which nothing forces");
        let diagnostic = match surprise {
            Surprise::Warning => Diagnostic::warning(codes::CHOSEN, message, span, rule.to_string()),
            Surprise::Note => Diagnostic::note(codes::CHOSEN, message, span, rule.to_string()),
        };
        let reasons = if found.len() < MOST_REASONS { reasons(program, tensor, shapes) } else { Vec::new() };
        let help = match kind {
            Some(LeafKind::Param) => format!("say what it is meant to be: `{{{} : …}}`", last(&name)),
            Some(_) => "say what shape it has".to_string(),
            None => "say what shape it has, by `set` or where it is used".to_string(),
        };
        found.push(reasons.into_iter().fold(diagnostic, Diagnostic::with_note).with_help(help));
    }
    found
}

/// The severity with which a choice made by closing is reported.
#[derive(Clone, Copy, PartialEq)]
enum Surprise {
    Note,
    Warning,
}

impl Surprise {
    /// Decides by the rule and by the kind of the leaf, if it is one. Leaves take the sizes of their operands and results
    /// follow from operands: that is inference, and no surprise.
    fn of(rule: Completion, leaf: Option<LeafKind>) -> Option<Surprise> {
        let is_param = leaf == Some(LeafKind::Param);
        let made_to_fit = matches!(leaf, Some(LeafKind::Range | LeafKind::Uniform));
        match rule {
            Completion::Search | Completion::LeastSize => Some(Surprise::Warning),
            Completion::SeveralSizes if leaf.is_some() => Some(Surprise::Warning),
            Completion::OneElement if is_param || made_to_fit => Some(Surprise::Warning),
            Completion::FewestAxes => Some(Surprise::Note),
            Completion::NoAxes if is_param => Some(Surprise::Note),
            _ => None,
        }
    }
}

/// The reasons for the sizes that were chosen, not forced.
fn reasons(program: &mut Program, tensor: Tensor, shapes: &Shapes) -> Vec<String> {
    let mut reasons: Vec<String> = Vec::new();
    for kind in Kind::ALL {
        for axis in 0..shapes.get(tensor).row(kind).len() {
            let Ok(why) = program.graph.why(tensor, kind, axis) else { continue };
            for part in why.parts.into_iter().filter(|_| !why.forced) {
                let span = part.step.and_then(|step| program.origins.get(step)).map(|origin| origin.span);
                let line =
                    span.map_or(String::new(), |span| format!("line {}: ", program.sources.position(span).0));
                let reason = format!("{line}{}", part.text);
                if !reasons.contains(&reason) {
                    reasons.push(reason);
                }
            }
        }
    }
    reasons
}

/// The name without the functions in which it was made.
fn last(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}
