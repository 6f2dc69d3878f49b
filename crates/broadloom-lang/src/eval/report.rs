//! Errors of the graph as diagnostics: each end of a
//! conflict is a label at the line that caused it.

use broadloom::{
    Axis, Error, ErrorKind, MessageLine, Node, PartialAxis, Remedy, StepId, Tensor, example_shape,
};
use broadloom_diagnostics::{Advice, Diagnostic, Fact, Help, Label, Link, Role, Setting, Span};

use super::advice::{blame, causes, code::in_loom, makers, windows};
use super::{Eval, Evaluated, Reported, reporting};
use crate::codes;
use crate::front::naming_setting;
use crate::program::{Dim, Origin, Origins, Program};

/// Reports an error of the graph.
pub(super) fn refused<T>(eval: &mut Eval<'_>, error: &Error, span: Span) -> Evaluated<T> {
    let place = eval.place(span);
    let mut diagnostic = diagnosed(error, place, &eval.origins);
    if place != span {
        // The height and the width of one image are one mistake.
        let same = |known: &Diagnostic| {
            known.code == diagnostic.code && known.primary().is_some_and(|label| label.span == place)
        };
        if eval.diagnostics.iter().any(same) {
            return Err(Reported);
        }
        diagnostic = from_outside(diagnostic, error);
        if let Some(about) = reporting::about_library(eval, span) {
            diagnostic = diagnostic.with_note(about);
        }
    }
    if named_axis(error).is_some_and(|of| of.is_some_and(|of| is_inside_library(eval, of))) {
        diagnostic = by_its_sizes(diagnostic, error);
    }
    // Users of the library cannot change what it writes.
    diagnostic.help.retain(|help| match &help.kind {
        Advice::Declare(names) if place == span => !names.iter().any(|name| is_inside_library(eval, name)),
        Advice::Declare(_) | Advice::Product => place == span,
        _ => true,
    });
    if let Some(advice) = causes::cause(eval, error.kind(), span) {
        diagnostic.help = vec![advice.into()];
    }
    if matches!(error.kind(), ErrorKind::Mismatch | ErrorKind::Arithmetic) {
        if is_same_whole(eval, &diagnostic) {
            return Err(Reported);
        }
        diagnostic = makers::with_makers(eval, diagnostic, error);
        diagnostic = windows::with_strides(eval, diagnostic, error, span);
        diagnostic = blame::blamed(eval, diagnostic, error, place, span);
        diagnostic.help.extend(windows::without_padding(eval, error, span).map(Help::from));
    }
    eval.fail(diagnostic)
}

/// Returns true if an axis that is too small for its parts has been reported.
fn is_same_whole(eval: &Eval<'_>, wrong: &Diagnostic) -> bool {
    let is_whole = |fact: &&Fact| matches!(fact, Fact::TooLarge(_));
    let own = wrong.facts.iter().find(is_whole);
    own.is_some() && eval.diagnostics.iter().any(|known| known.facts.iter().find(is_whole) == own)
}

/// Returns true if the body of a function of the library has made the tensor of a name.
fn is_inside_library(eval: &Eval<'_>, name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(owner, _)| {
        let mut inside = eval.applied.iter().filter(|applied| applied.is_of_library());
        inside.any(|applied| applied.path() == owner)
    })
}

impl Program {
    /// Closes the program, and reports the sizes that nothing decides.
    pub(crate) fn close(&mut self) {
        // Without its mistaken parts a program may leave sizes open that it would decide with them.
        if !self.is_ok() {
            crate::lint::explain(self);
            return;
        }
        let errors = match self.graph.final_shapes() {
            Ok(_) => return self.close_checks(),
            Err(error) => match self.graph.undetermined() {
                errors if errors.is_empty() => vec![error],
                errors => errors,
            },
        };
        // Sizes that only follow from others are not reported beside them.
        let follows = |error: &Error| error.remedy() == Some(Remedy::Follows);
        let alone = errors.iter().all(follows);
        let mut layers = Vec::new();
        for error in errors.iter().filter(|error| alone || !follows(error)) {
            let origin = error.step().and_then(|step| self.origins.get(step)).copied();
            let span = origin.map_or(Span::empty(self.main, 0), |origin| origin.span);
            let mut diagnostic = diagnosed(error, span, &self.origins);
            if let Some((place, function, (argument, is_first))) =
                origin.and_then(|origin| self.unsized_layer(origin))
            {
                // One layer may have several parameters that lack the same size.
                if layers.contains(&place) {
                    continue;
                }
                layers.push(place);
                let write = match is_first {
                    true => format!("write `{function}(64)`"),
                    false => format!("add `{argument} = 64`"),
                };
                diagnostic.help = vec![
                    format!("`{function}` is given no `{argument}`: {write}, or whatever size is meant")
                        .into(),
                ];
                let layer = function.to_string();
                diagnostic.facts.extend(is_first.then_some(Fact::NoSize { layer }));
            }
            if let Some((call, name)) = origin.and_then(|origin| self.caller_of(origin)) {
                let is_there = |label: &Label| call.contains(label.span) || label.span.contains(call);
                if !diagnostic.labels.iter().any(is_there) {
                    diagnostic.labels.push(Label::here(call, format!("`{name}` is applied")));
                }
            }
            if let Some(help) = error.step().and_then(|step| self.unit_that_is_read(step)) {
                diagnostic.labels.iter_mut().for_each(|label| label.text.clear());
                diagnostic.help = vec![help.into()];
            }
            self.diagnostics.push(diagnostic);
        }
    }

    /// The outermost application of a function of the program in which something was made.
    fn caller_of(&self, origin: Origin) -> Option<(Span, &str)> {
        let mut at = origin.application?;
        while let Some(outer) = self.applications.get(at as usize)?.outer {
            at = outer;
        }
        let application = self.applications.get(at as usize).filter(|application| !application.library)?;
        Some((application.span, &application.function))
    }

    /// Advice for a parameter of a layer of the library that reads an axis without a size.
    fn unit_that_is_read(&self, step: StepId) -> Option<String> {
        self.origins.get(step).filter(|origin| origin.span != origin.inner)?;
        let operands = |tensor: Tensor| match self.graph.node(tensor) {
            Some(Node::Operation { operands, .. }) => operands.to_vec(),
            _ => Vec::new(),
        };
        let made = self.graph.tensors().find(|tensor| self.graph.step_of(*tensor) == Some(step))?;
        // The step is that of the parameter, or of the operation that reads it.
        let user = self.graph.tensors().find(|tensor| operands(*tensor).contains(&made));
        let read = [Some(made), user].into_iter().flatten().flat_map(operands);
        let elements = |tensor: Tensor| {
            let shape = self.graph.shape(tensor);
            let axes = shape.rows.iter().flat_map(|row| &row.lead);
            axes.filter_map(PartialAxis::size).product::<u64>()
        };
        // A spec has added the axis: there are as many elements without it.
        let is_added = |tensor: &Tensor| {
            let [_, _, output] = self.graph.shape(*tensor).rows;
            let is_open = output
                .lead
                .last()
                .is_some_and(|axis| matches!(axis, PartialAxis::Known(Axis::Unit) | PartialAxis::Unknown));
            is_open && matches!(operands(*tensor)[..], [from] if elements(from) == elements(*tensor))
        };
        let read = read.into_iter().find(|tensor| *tensor != made && is_added(tensor))?;
        let (name, mut sized) = (self.graph.message_name(read), self.graph.shape(read));
        let is_known = !sized.rows.iter().any(|row| row.open) && !name.contains(['(', '.']);
        for axis in sized.rows.iter_mut().flat_map(|row| &mut row.lead) {
            if matches!(axis, PartialAxis::Known(Axis::Unit) | PartialAxis::Unknown) {
                *axis = PartialAxis::Sized(1);
            }
        }
        is_known.then(|| {
            format!("the last axis of `{name}` claims no size: write `reshape({name}, \"{sized}\")`, with an axis of size 1")
        })
    }

    /// The layer that made something without being given its size: its application, its function,
    /// and the argument.
    fn unsized_layer(&self, origin: Origin) -> Option<(u32, &str, (&str, bool))> {
        let at = origin.application?;
        let application = self.applications.get(at as usize)?;
        application.open.as_ref()?;
        // The layer that the program itself applies, if that one is given no size either.
        let mut named = (at, application);
        while let Some(outer) = named.1.outer.filter(|_| named.1.library)
            && let Some(application) = self.applications.get(outer as usize)
            && application.library
            && application.open.is_some()
        {
            named = (outer, application);
        }
        let (argument, is_first) = named.1.open.as_ref()?;
        Some((at, &named.1.function, (argument, *is_first)))
    }
}

impl Program {
    /// Sets the sizes that were given from outside in the graph, so that they show in shapes. A
    /// size that does not fit is reported.
    pub fn settle(&mut self) {
        // The errors of a program have been reported already.
        for (name, size) in if self.is_ok() { self.sizes.clone() } else { Vec::new() } {
            let known = self.graph.captured_dim(&name).ok().and_then(|named| self.graph.size(named));
            let left = self.graph.dim_range(&name);
            let made = self.graph.set_sizes(&[(&name, size)]);
            let declared = self.dims.iter().rev().find(|dim| dim.name == name).map(|dim| dim.span);
            let span = declared.unwrap_or(Span::empty(self.main, 0));
            self.origins.extend_to(self.graph.steps(), Origin { span, inner: span, application: None });
            if let Err(error) = made {
                let mut wrong = diagnosed(&error, span, &self.origins);
                if let Some(known) = known {
                    wrong.message = format!("`{name}` is set to {size}, but this program makes it {known}");
                    wrong.notes.clear();
                    wrong = wrong.with_help(format!("leave it open, or set it to {known}"));
                } else if let Some(left) = left.filter(|_| error.kind() == ErrorKind::Range) {
                    wrong = left_out(wrong, (&name, "is set to"), size, left);
                }
                self.diagnostics.push(wrong);
            }
        }
        self.look_at_dims();
    }
}

impl Program {
    /// Reports the conditions of the program that do not hold at the sizes it runs at.
    fn close_checks(&mut self) {
        if !self.graph.is_symbolic() {
            return;
        }
        self.close_defaults();
        let checks = self.graph.runtime_checks().unwrap_or_default();
        let ranged = self.dims.iter().filter(|dim| dim.range.is_some());
        let sizes: Vec<(&str, u64)> = ranged.clone().map(|dim| (&*dim.name, dim.size)).collect();
        for check in checks.iter().filter(|check| check.holds(&sizes) == Some(false)) {
            let about = ranged.clone().filter(|dim| check.names().any(|name| name == dim.name));
            let mut about: Vec<&Dim> = about.collect();
            let Some(last) = about.pop() else { continue };
            let size = |dim: &Dim| format!("{} here", dim.size);
            let message = format!("the program relies on this: {check}");
            let mut diagnostic = Diagnostic::error(codes::ARITHMETIC, message, last.span, size(last));
            for dim in about {
                diagnostic = diagnostic.with_label(dim.span, size(dim));
            }
            if let Some(origin) = self.origins.get(check.step()) {
                diagnostic = diagnostic.with_label(origin.span, "asks for it");
            }
            let help = "declare or set another size, one for which it holds";
            self.diagnostics.push(diagnostic.with_help(help));
        }
    }
}

impl Program {
    /// Reports sizes that are declared to run at, and that the program does not leave. Where none is declared, the program
    /// runs at one that it leaves.
    fn close_defaults(&mut self) {
        for at in 0..self.dims.len() {
            let Dim { name, size, stated, span, .. } = self.dims[at].clone();
            let Some(left) = self.graph.dim_range(&name).filter(|_| self.dims[at].range.is_some()) else {
                continue;
            };
            let fits = |size: u64| left.0 <= size && left.1.is_none_or(|high| size <= high);
            // A size that the program itself decides is that size.
            if left.1 == Some(left.0) || fits(size) || self.sizes.iter().any(|(set, _)| *set == name) {
                continue;
            }
            if !stated {
                self.dims[at].size = left.1.map_or(left.0, |high| size.clamp(left.0, high)).max(left.0);
                continue;
            }
            let mut graph = self.graph.clone();
            let Err(error) = graph.set_sizes(&[(&name, size)]) else { continue };
            let mut origins = self.origins.clone();
            origins.extend_to(graph.steps(), Origin { span, inner: span, application: None });
            let wrong = left_out(diagnosed(&error, span, &origins), (&name, "is"), size, left);
            self.diagnostics.push(wrong);
        }
    }
}

/// An error of the graph as a diagnostic.
pub(crate) fn diagnosed(error: &Error, span: Span, origins: &Origins) -> Diagnostic {
    let origin = |part: &MessageLine| part.step.and_then(|step| origins.get(step)).copied();
    // The sentences of these errors name a routine, and routines have no names in the text.
    let message = match (error.kind(), error.tensor()) {
        (ErrorKind::NoValues, Some((_, name))) => format!("`{name}` has no values"),
        (ErrorKind::NoGradient, Some((_, name))) => format!("there is no gradient of `{name}` yet"),
        _ => error.sentence().to_string(),
    };
    let mut diagnostic = Diagnostic::error(code(error.kind()), message, span, "");
    diagnostic.facts = error.facts().to_vec();
    if let Some(excerpt) = error.excerpt() {
        diagnostic = diagnostic.with_note(excerpt);
    }
    for (number, end) in error.ends().iter().enumerate() {
        // A refused operation has no step yet: its place is that of the message.
        let refused = end.step.filter(|step| error.step() == Some(*step) && step.index() >= origins.len());
        match origin(end).map(|origin| origin.span).or(refused.map(|_| span)) {
            Some(place) if place == span => {
                // One place may be both ends, for different reasons.
                let label = &mut diagnostic.labels[0].text;
                let between = if label.is_empty() { "" } else { "; " };
                label.push_str(&format!("{between}{}", end.label()));
            }
            Some(place) => {
                // Both ends may be the same.
                if !error.ends()[..number].contains(end) {
                    let label = Label { role: Role::End(number), ..Label::new(place, end.label()) };
                    diagnostic.labels.push(label);
                }
            }
            None => diagnostic = diagnostic.with_note(end.text.clone()),
        }
    }
    for link in error.chain() {
        diagnostic.chain.push(Link { text: link.text.clone(), span: origin(link).map(|origin| origin.span) });
    }
    // Other help does not depend on the language.
    let is_worded = |remedy: &Remedy| matches!(remedy, Remedy::Follows | Remedy::Spec | Remedy::Window(_));
    let remedy = error.remedy().filter(|remedy| !is_worded(remedy));
    let worded = |help: &Help| match remedy.filter(|_| help.is_remedy) {
        Some(remedy) => in_this_language(remedy).as_remedy(),
        None => {
            let mut help = help.clone();
            help.write_in(in_loom);
            help
        }
    };
    error.help().iter().map(worded).fold(diagnostic, Diagnostic::with_help)
}

/// The tensor whose axis a message says by its name that it would have two sizes, if it names that too.
fn named_axis(error: &Error) -> Option<Option<&str>> {
    error.facts().iter().find_map(|fact| match fact {
        Fact::NamedAxis { of } => Some(of.as_deref()),
        _ => None,
    })
}

/// The error of a function of the library without what its body calls things: its users cannot change that.
fn from_outside(mut diagnostic: Diagnostic, error: &Error) -> Diagnostic {
    match error.remedy() {
        Some(Remedy::Spec) => diagnostic.help.retain(|help| !help.is_remedy),
        Some(Remedy::Drop(Some((below, above)))) => {
            let drops = diagnostic.help.into_iter().filter(|help| help.is_remedy);
            let drops: Vec<Help> = drops.collect();
            diagnostic.help = vec![
                format!(
                    "windows have to fit: change the size of what it reads ({below} or {above} would fit), the window or the stride"
                )
                .into(),
            ];
            diagnostic.help.extend(drops);
        }
        _ => {}
    }
    by_its_sizes(diagnostic, error)
}

/// The error with its two sizes in place of the axis of a body that cannot have both: the ends say which axes these are.
fn by_its_sizes(mut diagnostic: Diagnostic, error: &Error) -> Diagnostic {
    if let Some([a, b]) = error.sizes().filter(|_| named_axis(error).is_some()) {
        diagnostic.message = format!("{a} and {b} do not agree");
    }
    diagnostic
}

/// Longer chains are shown only on request.
const FEW: usize = 3;

/// Rewrites the error for a size that was set outside the range that the program leaves: it shows
/// the lines that restrict the range, and the rest of the range.
pub(crate) fn left_out(
    mut wrong: Diagnostic,
    (name, is): (&str, &str),
    size: u64,
    left: (u64, Option<u64>),
) -> Diagnostic {
    let (low, high) = left;
    if low <= size && high.is_none_or(|high| size <= high) {
        return wrong;
    }
    let (range, help) = match high {
        Some(high) => (format!("{low}..{high}"), format!("set it to a size from {low} to {high}")),
        None => (format!("{low}.."), format!("set it to a size from {low} upwards")),
    };
    wrong.message = format!("`{name}` {is} {size}, but the program leaves {range}");
    wrong.help.clear();
    if wrong.chain.len() <= FEW && wrong.chain.iter().all(|link| link.span.is_some()) {
        for Link { text, span } in std::mem::take(&mut wrong.chain) {
            let new = span.filter(|span| wrong.labels.iter().all(|label| label.span != *span));
            if let Some(span) = new {
                wrong = wrong.with_label(span, text);
            }
        }
    }
    wrong.with_help(Help::rule(help))
}

/// The remedy for a mistake, in the syntax of this language.
fn in_this_language(remedy: Remedy) -> Help {
    let advice = match remedy {
        Remedy::Values => {
            return naming_setting(
                "write `data x : … = load(\"x.npy\")`, or give the values when the program is run: ",
                Setting::Data("x".into()),
                "",
            );
        }
        Remedy::Backward => "write `backward`, and of what, before this line",
        Remedy::Integers => {
            "numbers of rows are whole: write whole numbers, or `as i64` behind the shape to leave out fractions"
        }
        Remedy::Bits => {
            "write `as i64` behind the shape of what is declared, or cast what is computed: `i64(x)`"
        }
        Remedy::WholeValues => {
            "give whole numbers, saved as integers (NumPy: `array.astype(\"int64\")`), or declare it `as f32`"
        }
        Remedy::Reduce => "write `mean(…)` or `sum(…)` around it, for one number",
        Remedy::Parameter => "a parameter is written in braces: `{w}`",
        Remedy::State => "declare a `state`, or write `{name} = …` for a new tensor",
        Remedy::Size => {
            return naming_setting(
                "declare it with a size to run at, `dim n in 1..64 = 32`, or set it: ",
                Setting::Size("n".into(), "32".into()),
                "",
            );
        }
        Remedy::Shape(elements) => {
            let shape = example_shape(elements);
            return format!(
                "write the shape: `let y : {shape} = reshape(x)`, or `reshape(x, \"{shape}\")`; or use it with something that has one"
            )
            .into();
        }
        Remedy::Drop(_) => "or drop what is left over: `padding = \"drop\"`",
        Remedy::Reshape => "`reshape(x)` keeps the number of elements",
        _ => {
            "sizes are captured from what a spec makes: `let y = einsum(\"... | h => ... | h\", x)`, then `y.h`"
        }
    };
    advice.into()
}

/// The code of a kind of error.
fn code(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Mismatch => codes::MISMATCH,
        ErrorKind::Arithmetic => codes::ARITHMETIC,
        ErrorKind::Undetermined => codes::UNDETERMINED,
        ErrorKind::Notation => codes::NOTATION,
        ErrorKind::Use => codes::USE,
        ErrorKind::GaveUp => codes::GAVE_UP,
        ErrorKind::Value | ErrorKind::NoValues | ErrorKind::NoGradient => codes::VALUE,
        ErrorKind::NotFinite => codes::NOT_FINITE,
        ErrorKind::File => codes::FILE,
        ErrorKind::Range => codes::NAMED,
        _ => codes::RUN,
    }
}
