//! Help for names that do not exist here: names of other libraries, methods, axes by number.

use broadloom::Tensor;
use broadloom_diagnostics::{Diagnostic, Edit, Span};

use super::elsewhere::{Defined, Elsewhere};
use super::{Eval, Evaluated, Reported};
use crate::codes;
use crate::suggest::{self, Way};
use crate::syntax::ast::{Arg, ExprId, ExprKind, Ident, Name};
use crate::value::Value;

/// The longest piece of a program that a message quotes.
const LONGEST_QUOTE: usize = 48;

/// The help for `zeros` and `ones` outside declarations.
pub(super) const FIRST_VALUES: &str = "`zeros` and `ones` are first values, of the shape that is declared: `state s : 3 = zeros`; a number broadcasts by itself";

/// Functions that reduce axes.
const REDUCTIONS: [&str; 5] = ["sum", "mean", "max", "min", "product"];

impl Eval<'_> {
    /// Reports a call of something that does not exist. Returns `None` if the callee exists.
    pub(super) fn foreign_call(&mut self, callee: ExprId, args: &[Arg]) -> Option<Reported> {
        let file = self.frame.file.clone();
        match &file.expr(callee).kind {
            ExprKind::Name(name) if self.frame.scope.find(*name).is_none() => {
                let span = file.expr(callee).span;
                let is_foreign = !self.is_defined_elsewhere(*name, span);
                if let Some(advice) = self.translated_call(callee, args).filter(|_| is_foreign) {
                    return Some(self.reported(self.advised(
                        self.no_function(*name, span),
                        advice,
                        span,
                        span,
                    )));
                }
                let arguments: Vec<String> = match suggest::is_in_a_row(self.text(*name)) {
                    true => self.layers_in_a_row(args),
                    false => args.iter().map(|arg| self.quote(self.span_of(arg.value))).collect(),
                };
                if let Some(advice) = self.reordered_first(self.text(*name), args).filter(|_| is_foreign) {
                    return Some(self.reported(self.advised(
                        self.no_function(*name, span),
                        advice,
                        span,
                        span,
                    )));
                }
                Some(self.unknown_function(*name, &arguments, span))
            }
            ExprKind::Field(_, field) => {
                let argument = |arg: &Arg| {
                    let value = self.quote(self.span_of(arg.value));
                    arg.name.map_or(value.clone(), |name| format!("{} = {value}", self.text(name.name)))
                };
                let arguments: Vec<String> = match suggest::is_in_a_row(self.text(field.name)) {
                    true => self.layers_in_a_row(args),
                    false => args.iter().map(argument).collect(),
                };
                let translated = self.translated_call(callee, args);
                let translated = translated.or_else(|| self.reordered_first(self.text(field.name), args));
                let reported = self.prefixed(callee, Some(&arguments), translated);
                reported.or_else(|| self.method_of_nothing(callee))
            }
            _ => None,
        }
    }

    /// Advice for a function that orders the axes of its first argument.
    fn reordered_first(&self, function: &str, args: &[Arg]) -> Option<Advice> {
        let first = args.first()?.value;
        let ExprKind::Name(name) = self.frame.file.expr(first).kind else { return None };
        match self.frame.scope.find(name)? {
            Value::Tensor(tensor) => {
                self.reordered(function, (tensor, &self.quote(self.span_of(first))), args)
            }
            _ => None,
        }
    }

    fn no_function(&self, name: Name, span: Span) -> Diagnostic {
        let message = format!("there is no function `{}`", self.text(name));
        Diagnostic::error(codes::UNKNOWN, message, self.place(span), "not known here")
    }

    /// Reports `np.exp` and the like, if a library of Python is meant.
    pub(super) fn prefixed(
        &mut self,
        of: ExprId,
        arguments: Option<&[String]>,
        translated: Option<Advice>,
    ) -> Option<Reported> {
        let file = self.frame.file.clone();
        let &ExprKind::Field(mut base, field) = &file.expr(of).kind else { return None };
        while let ExprKind::Field(inner, _) = &file.expr(base).kind {
            base = *inner;
        }
        let ExprKind::Name(name) = &file.expr(base).kind else { return None };
        let library = self.text(*name).to_string();
        if self.frame.scope.find(*name).is_some() || !suggest::is_library(&library) {
            return None;
        }
        // An import of this name was refused.
        if self.frame.file.mistaken.contains(name) {
            return Some(Reported);
        }
        let text = self.text(field.name).to_string();
        let call = |name: &str| match arguments {
            Some(arguments) => format!("{name}({})", arguments.join(", ")),
            None => name.to_string(),
        };
        let message = format!("there is no library `{library}`");
        let (whole, end) = (file.expr(of).span, field.span);
        let diagnostic = Diagnostic::error(codes::UNKNOWN, message, self.place(whole), "");
        if let Some(advice) = translated {
            return Some(self.reported(self.advised(diagnostic, advice, whole, end)));
        }
        if let Some((sizes, values)) =
            arguments.zip(suggest::first_values(&text)).filter(|(sizes, _)| !sizes.is_empty())
        {
            return Some(self.reported(self.declared_first(diagnostic, whole, sizes, values)));
        }
        let known = self.frame.scope.all();
        let here = self.frame.scope.find(field.name).map(|_| text.clone());
        let near = suggest::nearest(&text, known.iter().map(|name| self.names.text(*name)));
        let foreign = suggest::foreign(&text).filter(|_| here.is_none());
        let advice = match (foreign, here.or(near)) {
            (Some(way), _) => Advice::from_way(way, arguments.unwrap_or(&[])),
            (None, Some(name)) => match self.names.find(&name).and_then(|name| self.frame.scope.find(name)) {
                Some(Value::Function(function)) => {
                    let list = match signature(self, function.def.config.as_deref().unwrap_or(&[])) {
                        list if list == "axes" => "\"... | v\"".to_string(),
                        list => list,
                    };
                    let x = arguments.and_then(|list| list.first()).filter(|x| !x.contains(['=', '…']));
                    let x = x.map_or("x", String::as_str);
                    Advice::say(format!("write `{name}({list})({x})`: functions stand by themselves"))
                }
                Some(Value::Initial(_)) => Advice::say(FIRST_VALUES),
                _ => Advice {
                    help: format!("write `{}`: functions stand by themselves", call(&name)),
                    written: Some(call(&name)),
                },
            },
            (None, None) if text.starts_with("save") && arguments.is_some() => {
                Advice::say(suggest::saved(&arguments.unwrap_or(&[]).join(", ")))
            }
            (None, None) if text.ends_with("seed") => {
                Advice::say("leave it out: the seed is given when the program is run, `--seed 0`")
            }
            (None, None) => Advice::say("functions stand by themselves; docs/language.md lists them"),
        };
        Some(self.reported(self.advised(diagnostic, advice, whole, end)))
    }

    /// Adds advice about a call: what is written in its place replaces the text from the start of a span to the end of
    /// the list of arguments behind a name.
    fn advised(&self, diagnostic: Diagnostic, advice: Advice, whole: Span, name: Span) -> Diagnostic {
        let is_here = self.place(whole) == whole;
        match advice.written.filter(|written| is_here && !written.contains('…')) {
            Some(written) => {
                let rest = self.sources.get(name.source).text().get(name.end as usize..).unwrap_or_default();
                let span = Span { end: name.end + list_length(rest) as u32, ..whole };
                diagnostic.with_fix(advice.help, span, written)
            }
            None => diagnostic.with_help(advice.help),
        }
    }

    /// Reports `optimizer.step()`: a method of something that does not exist.
    fn method_of_nothing(&mut self, callee: ExprId) -> Option<Reported> {
        let file = self.frame.file.clone();
        let ExprKind::Field(of, field) = &file.expr(callee).kind else { return None };
        let ExprKind::Name(name) = &file.expr(*of).kind else { return None };
        let span = file.expr(*of).span;
        if self.frame.scope.find(*name).is_some() || self.is_defined_elsewhere(*name, span) {
            return None;
        }
        let Way::Say(help) = suggest::method(self.text(field.name))? else { return None };
        let advice = match self.text(field.name) {
            "step" => {
                self.owner_of("backward").map(|loss| Advice::write(format!("minimise {loss} by sgd(0.1)")))
            }
            _ => None,
        };
        let message = format!("`{}` is not defined", self.text(*name));
        let diagnostic = Diagnostic::error(codes::UNKNOWN, message, self.place(span), "not known here");
        let (whole, end) = (file.expr(callee).span, field.span);
        Some(self.reported(self.advised(diagnostic, advice.unwrap_or(Advice::say(help)), whole, end)))
    }

    fn unknown_function(&mut self, name: Name, arguments: &[String], span: Span) -> Reported {
        let text = self.text(name).to_string();
        if let Some(way) = suggest::foreign(&text).filter(|_| !self.is_defined_elsewhere(name, span)) {
            let diagnostic = self.no_function(name, span);
            if let Some(values) = suggest::first_values(&text).filter(|_| !arguments.is_empty()) {
                return self.reported(self.declared_first(diagnostic, span, arguments, values));
            }
            return self.reported(self.advised(diagnostic, Advice::from_way(way, arguments), span, span));
        }
        self.unknown_name(name, span, true)
    }

    /// Reports a name that does not exist here, with the place where it is known or a suggestion.
    pub(super) fn unknown_name(&mut self, name: Name, span: Span, is_call: bool) -> Reported {
        // The mistake in its definition has been reported already.
        if self.frame.file.mistaken.contains(&name) || self.misassigned.contains(&name) {
            return Reported;
        }
        let text = self.text(name).to_string();
        let message = match is_call {
            true => format!("there is no function `{text}`"),
            false => format!("`{text}` is not defined"),
        };
        let place = self.place(span);
        let mut diagnostic = Diagnostic::error(codes::UNKNOWN, message, place, "not known here");
        let known = self.frame.scope.all();
        let near = suggest::nearest(&text, known.iter().map(|name| self.names.text(*name)));
        let near = self.name_here(&text).or(near);
        if place == span
            && let Some(Elsewhere { label, at, help, kind }) = self.elsewhere(name, span)
        {
            // A label of a shape may have the same typing mistake.
            diagnostic = diagnostic.with_label(at, label);
            return self.reported(match near.filter(|_| kind == Defined::Label) {
                Some(near) => diagnostic.with_near_name(&near, span),
                None => diagnostic.with_help(help),
            });
        }
        if let Some(module) = self.module_with(name) {
            let written = format!("{module}.{text}");
            let help = format!("`{module}` has it: write `{written}`");
            return self.reported(match place == span {
                true => diagnostic.with_fix(help, span, written),
                false => diagnostic.with_help(help),
            });
        }
        let help = match (suggest::foreign(&text), near) {
            (Some(way), _) => said(way, &[]),
            (None, Some(near)) if place == span => {
                return self.reported(diagnostic.with_near_name(&near, span));
            }
            (None, Some(near)) => format!("did you mean `{near}`?"),
            (None, None) if is_call => {
                format!("write `def {text}(…) = …` before this line; docs/language.md lists what there is")
            }
            (None, None) => {
                format!("write `let {text} = …` before this line, or `{{{text}}}` for a parameter")
            }
        };
        self.reported(diagnostic.with_help(help))
    }

    /// The first of the modules here, by name, that has a name of its own.
    fn module_with(&self, name: Name) -> Option<String> {
        let has_it = |module: &Name| match self.frame.scope.find(*module) {
            Some(Value::Module(scope)) => scope.own(name).is_some(),
            _ => false,
        };
        let modules = self.frame.scope.all().into_iter().filter(has_it);
        modules.map(|module| self.text(module).to_string()).min()
    }

    /// Reports a mistake where no value is needed.
    fn reported(&mut self, diagnostic: Diagnostic) -> Reported {
        match self.fail::<()>(diagnostic) {
            Ok(()) | Err(Reported) => Reported,
        }
    }

    /// Reports `x.sum()`: a function of another library, or of this one, written as a method.
    pub(super) fn method(
        &mut self,
        value: &Value,
        of: ExprId,
        field: Ident,
        args: Option<&[Arg]>,
    ) -> Option<Reported> {
        let text = self.text(field.name).to_string();
        if let (Value::Layer(layer), Some(args)) = (value, args) {
            let known = self.has_part(layer, field.name);
            return self.method_of_layer(of, field, &text, args).filter(|_| !known);
        }
        // A list of layers is a layer.
        if let (Value::List(items), Some(args)) = (value, args)
            && items.iter().any(|item| matches!(item, Value::Layer(_)))
            && let Some(reported) = self.method_of_layer(of, field, &text, args)
        {
            return Some(reported);
        }
        if !matches!(value, Value::Tensor(_) | Value::Number(_) | Value::List(_) | Value::Size(_)) {
            return None;
        }
        if let Value::Tensor(tensor) = value {
            let label = self.free_label(field.name);
            let graph = self.graph.quiet();
            let captured = graph.captured(*tensor, &text).or(graph.captured(*tensor, &label));
            if captured.is_ok() {
                return None;
            }
        }
        let owner = self.quote(self.span_of(of));
        if let ("grad" | "T", Value::Tensor(_)) = (&*text, value) {
            args?;
            let message = format!("`{owner}.{text}` is no function");
            return Some(self.wrong_field(message, field.span, format!("write `{owner}.{text}`")));
        }
        let mut arguments = vec![owner.clone()];
        arguments.extend(args.unwrap_or(&[]).iter().map(|arg| self.quote(self.span_of(arg.value))));
        let function = self.frame.scope.find(field.name).filter(|value| {
            matches!(value, Value::Builtin(_) | Value::Layer(_) | Value::Function(_) | Value::Operation(_))
        });
        let axis = args.and_then(|args| args.first()).and_then(|arg| self.literal_number(arg.value));
        let advice = match (function, suggest::method(&text), value) {
            // A label is a size of the result of its spec, and not of the operand.
            (_, Some(_), Value::Tensor(_)) if text == "t" && args.is_none() => Advice::say(format!(
                "a label is a size of what its spec makes: `let y = sum(\"… t …\", {owner})`, and then `y.t`; the transpose is `{owner}.T`"
            )),
            (_, Some(_), Value::Tensor(_))
                if text == "backward" && self.backward_by_minimise(&owner).is_some() =>
            {
                Advice::say(self.backward_by_minimise(&owner).unwrap_or_default())
            }
            (_, Some(_), Value::Tensor(_)) if matches!(&*text, "shape" | "size") => {
                let axis = axis.and_then(crate::position::whole).or_else(|| self.index_behind(field.span));
                Advice::say(self.named_size(&owner, axis, self.span_of(of)))
            }
            (_, Some(_), Value::List(_))
                if text == "append"
                    && let [list, item] = &arguments[..]
                    && let Some(advice) = self.list_of_loop(list, item, field.span) =>
            {
                Advice::say(advice)
            }
            (_, Some(_), Value::Tensor(tensor))
                if let Some(advice) = self.reordered(&text, (*tensor, &owner), args.unwrap_or(&[])) =>
            {
                advice
            }
            (_, Some(_), Value::Tensor(_))
                if text == "transpose" && args.is_some_and(|args| !args.is_empty()) =>
            {
                Advice::from_way(suggest::BY_SPEC, &arguments)
            }
            (_, Some(way), _) => Advice::from_way(way, &arguments),
            (Some(_), _, Value::Tensor(tensor)) if arguments.len() > 1 && REDUCTIONS.contains(&&*text) => {
                Advice::say(self.axis_help(&text, *tensor, &owner, axis))
            }
            (Some(Value::Function(function)), ..) => {
                let list = signature(self, function.def.config.as_deref().unwrap_or(&[]));
                Advice::say(format!("write `{text}({list})({owner})`"))
            }
            (Some(Value::Layer(layer)), ..) => {
                // Axes are given by numbers elsewhere, and the function has no place for them.
                arguments.truncate(layer.function.def.arguments.len().max(1));
                Advice::write(format!("{text}({})", arguments.join(", ")))
            }
            (Some(_), ..) => Advice::write(format!("{text}({})", arguments.join(", "))),
            (None, None, _) => {
                args?;
                let known = self.frame.scope.all();
                let near = suggest::nearest(&text, known.iter().map(|name| self.names.text(*name)));
                match near {
                    Some(near) => Advice::write(format!("{near}({})", arguments.join(", "))),
                    None => Advice::say(format!(
                        "a function is written before what it is applied to: `{text}({owner})`"
                    )),
                }
            }
        };
        let message = match args {
            Some(_) => format!("{} has no methods, such as `{text}`", value.kind()),
            None => format!("{} has no `{text}`", value.kind()),
        };
        let (place, whole) = (self.place(field.span), self.span_of(of).to(field.span));
        if place != field.span {
            return Some(self.wrong_field(message, field.span, advice.help));
        }
        let diagnostic = Diagnostic::error(codes::FIELD, message, place, "");
        Some(self.reported(self.advised(diagnostic, advice, whole, field.span)))
    }

    /// The number in brackets behind a field, as in `x.shape[0]`.
    fn index_behind(&self, field: Span) -> Option<i64> {
        let rest = self.sources.get(field.source).text().get(field.end as usize..)?;
        rest.strip_prefix('[')?.split_once(']')?.0.trim().parse().ok()
    }

    /// Reports a method that layers of other libraries have.
    fn method_of_layer(&mut self, of: ExprId, field: Ident, text: &str, args: &[Arg]) -> Option<Reported> {
        let owner = self.quote(self.span_of(of));
        let arguments: Vec<String> = args.iter().map(|arg| self.quote(self.span_of(arg.value))).collect();
        if let ("parameters" | "named_parameters", Some((rule, _))) = (text, self.rule_around(field.span)) {
            let message =
                format!("`{rule}` is not given parameters: `minimise` finds those that a loss depends on");
            let help = self.minimise_of(field.span, Some(&owner)).unwrap_or_default();
            return Some(self.wrong_field(message, field.span, help));
        }
        let help = match text {
            "forward" | "apply" | "predict" | "call" => {
                format!("apply it: `{owner}({})`", arguments.join(", "))
            }
            "parameters" | "named_parameters" | "state_dict" => {
                format!("`params({owner}(x))` is the list of the parameters that its result depends on")
            }
            "eval" => format!("write `inference({owner})(x)` where it is applied"),
            "train" => "leave it out: what is not under `inference(…)` is trained".to_string(),
            "fit" | "compile" => "write `minimise loss by sgd(0.1)` inside of a `repeat`".to_string(),
            "to" | "cuda" | "cpu" => "leave it out".to_string(),
            "zero_grad" => {
                "leave it out: gradients begin afresh with every `minimise` and `backward`".to_string()
            }
            "step" | "update" => {
                format!("write `minimise loss by {owner}`, which computes gradients and applies the rule")
            }
            _ => return None,
        };
        Some(self.wrong_field(format!("a function has no methods, such as `{text}`"), field.span, help))
    }

    fn wrong_field(&mut self, message: String, span: Span, help: String) -> Reported {
        match self.wrong::<()>(codes::FIELD, message, span, help) {
            Ok(()) | Err(Reported) => Reported,
        }
    }

    /// Advice for reducing an axis by its number: a spec
    /// that fits the tensor, if its axes are known.
    pub(crate) fn axis_help(&self, name: &str, tensor: Tensor, owner: &str, axis: Option<f64>) -> String {
        let general = format!(
            "a spec names the axes that stay: `{name}(\"... | i => ... |\", {owner})` leaves out the output axis"
        );
        let [batch, input, output] = self.graph.shape(tensor).rows;
        if [&batch, &input, &output].iter().any(|row| row.open) {
            return general;
        }
        let mut letters = "abcdefghijklmnopqrstuvwxyz".chars().map(String::from);
        // In memory order: batch, output, input.
        let [batch, output, input] =
            [batch, output, input].map(|row| letters.by_ref().take(row.lead.len()).collect::<Vec<String>>());
        let all: Vec<String> = [&batch, &output, &input].into_iter().flatten().cloned().collect();
        let at =
            axis.and_then(crate::position::whole).map(|at| if at < 0 { at + all.len() as i64 } else { at });
        let left = at.and_then(|at| usize::try_from(at).ok()).and_then(|at| all.get(at).cloned());
        let (Some(left), true) = (left, all.len() <= 20) else { return general };
        let shape = |without: Option<&String>| {
            let row = |labels: &[String]| {
                let kept = labels.iter().filter(|label| Some(*label) != without);
                kept.map(String::as_str).collect::<Vec<_>>().join(" ")
            };
            let [batch, input, output] = [&batch, &input, &output].map(|labels| row(labels));
            let batch = if batch.is_empty() { batch } else { format!("{batch} | ") };
            let input = if input.is_empty() { input } else { format!("{input} -> ") };
            format!("{batch}{input}{output}").trim().to_string()
        };
        format!(
            "a spec names the axes, and leaves out that one: `{name}(\"{} => {}\", {owner})`",
            shape(None),
            shape(Some(&left))
        )
    }

    /// Returns true if a name has a value here.
    pub(crate) fn is_known(&self, name: Ident) -> bool {
        self.frame.scope.find(name.name).is_some()
    }

    /// The value of a number that is written as a literal.
    pub(crate) fn literal_number(&self, expr: ExprId) -> Option<f64> {
        let file = &self.frame.file;
        match &file.expr(expr).kind {
            ExprKind::Number(number) => Some(*number),
            ExprKind::Unary(crate::syntax::ast::Unary::Minus, inner) => match &file.expr(*inner).kind {
                ExprKind::Number(number) => Some(-number),
                _ => None,
            },
            _ => None,
        }
    }

    /// A piece of the program for a message, or `…` if it is long.
    pub(crate) fn quote(&self, span: Span) -> String {
        let text = self.sources.slice(span).split_whitespace().collect::<Vec<_>>().join(" ");
        if text.is_empty() || text.chars().count() > LONGEST_QUOTE || text.contains('`') {
            "…".into()
        } else {
            text
        }
    }

    /// Reports an assignment to a value that is fixed when the program is built.
    pub(super) fn constant_target<T>(
        &mut self,
        target: ExprId,
        value: &Value,
        assigned: ExprId,
    ) -> Evaluated<T> {
        let (span, text) = (self.span_of(target), self.quote(self.span_of(target)));
        let message = format!("`{text}` is {}, and stays as it is", value.kind());
        let first = match value {
            Value::Number(number) => format!(" = {}", crate::show::number(*number)),
            _ => String::new(),
        };
        let help = match value {
            Value::Number(_) => {
                format!("write `state {text} : |{first}` in place of its `let`: a state can be assigned to")
            }
            _ => {
                format!("write `let {text} = {}`, or choose another name", self.quote(self.span_of(assigned)))
            }
        };
        let place = self.place(span);
        let mut diagnostic = Diagnostic::error(codes::KIND, message, place, "").with_help(help);
        if let ExprKind::Name(name) = self.frame.file.clone().expr(target).kind
            && let Some(bound) = self.bound_before(name, span).filter(|_| place == span)
        {
            diagnostic = diagnostic.with_label(bound, "bound here");
        }
        self.fail(diagnostic)
    }

    /// Reports an assignment to a name that does not exist.
    pub(super) fn unknown_target<T>(
        &mut self,
        name: Name,
        span: Span,
        sign: &str,
        value: Span,
    ) -> Evaluated<T> {
        if self.frame.file.mistaken.contains(&name) || !self.misassigned.insert(name) {
            return Err(Reported);
        }
        let (text, value) = (self.text(name).to_string(), self.quote(value));
        let message = format!("`{text}` is not defined, so nothing can be assigned to it");
        let inside = if self.in_repeat() { " before the `repeat`" } else { " before this line" };
        let help = match sign {
            "=" => format!(
                "write `let {text} = {value}` for a name; what changes is declared: `state {text} : |`"
            ),
            _ => format!("declare it{inside}: `state {text} : |`, with its shape behind `:`"),
        };
        let place = self.place(span);
        let diagnostic = Diagnostic::error(codes::UNKNOWN, message, place, "not known here").with_help(help);
        self.fail(match sign == "=" && place == span {
            true => {
                diagnostic.fixed_by(format!("write `let {text}`"), vec![Edit::new(span.before(), "let ")])
            }
            false => diagnostic,
        })
    }
}

/// The arguments of a function that have to be given; the first one if none has to be.
pub(super) fn signature(eval: &Eval<'_>, arguments: &[crate::syntax::ast::Argument]) -> String {
    let needed: Vec<&str> = arguments
        .iter()
        .filter(|each| each.default.is_none())
        .map(|each| eval.text(each.name.name))
        .collect();
    if needed.is_empty() {
        return arguments.first().map_or(String::new(), |first| eval.text(first.name.name).to_string());
    }
    needed.join(", ")
}

/// The length of a list of arguments at the beginning of a text; 0 if there is none, or no end of it on the line.
pub(super) fn list_length(text: &str) -> usize {
    if !text.starts_with('(') {
        return 0;
    }
    let (mut depth, mut quoted) = (0, false);
    for (at, letter) in text.char_indices() {
        match letter {
            '\n' | '\r' => return 0,
            '"' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    0
}

/// Advice about a call of something that does not exist.
pub(super) struct Advice {
    /// The sentence.
    pub help: String,
    /// The text in place of the call, if the sentence says exactly what to write.
    pub written: Option<String>,
}

impl Advice {
    fn say(help: impl Into<String>) -> Advice {
        Advice { help: help.into(), written: None }
    }

    pub fn write(text: String) -> Advice {
        Advice { help: format!("write `{text}`"), written: Some(text) }
    }

    fn from_way(way: Way, arguments: &[String]) -> Advice {
        match way {
            Way::Write(template) => Advice::write(suggest::filled(template, arguments)),
            Way::Say(text) => Advice::say(text),
            Way::Because(_, template) => {
                Advice { help: said(way, arguments), written: Some(suggest::filled(template, arguments)) }
            }
        }
    }
}

/// The advice as a sentence.
fn said(way: Way, arguments: &[String]) -> String {
    match way {
        Way::Write(template) => format!("write `{}`", suggest::filled(template, arguments)),
        Way::Say(text) => text.to_string(),
        Way::Because(reason, template) => {
            format!("{reason}: write `{}`", suggest::filled(template, arguments))
        }
    }
}
