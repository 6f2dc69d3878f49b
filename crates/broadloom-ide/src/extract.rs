//! Extracting a function: a selected expression, stages of a pipe, or several statements become a `def`, which is called in their place.
//! The names that the selection needs become its arguments. If it makes parameters, it becomes a layer, with two lists of arguments.
//!
//! Afterwards the program makes the same graph, step by step; `actions` compares them before the change is carried out.

use broadloom_diagnostics::{Edit, Span};
use broadloom_lang::syntax::ast::{
    AxisKind, Binary, Body, Def, ExprId, ExprKind, File, ResultShape, Statement, StatementKind,
};
use broadloom_lang::syntax::reformat;

use crate::analysis::Analysis;
use crate::definition::in_library;
use crate::names::{Binding, BindingKind};
use crate::occurrences::{Occurrence, Occurrences, Target};

/// A function that can be extracted.
pub(crate) struct Extraction {
    pub title: String,
    /// The changes, or the reason why the program would mean something else.
    pub edits: Result<Vec<Edit>, String>,
}

/// The function that a selection can become; None if the selection is no expression, and no whole statements.
pub(crate) fn extraction(analysis: &Analysis, start: u32, end: u32) -> Option<Extraction> {
    let (program, file) = (&analysis.program, &analysis.program.file);
    let text = program.sources.get(program.main).text();
    let selection = trimmed(text, file, Span::new(program.main, start, end))?;
    let place = Place::find(file, &file.statements, selection, Around::default())?;
    let names = Occurrences::new(program.main, text);
    let name = fresh(analysis, &names, "extracted");
    let title = format!("extract into a function, `{name}`");
    let extract = Extract { analysis, text, names: &names, place: &place, name };
    Some(Extraction { title, edits: extract.edits() })
}

/// A selection without blanks and comments at its ends; None if nothing is left.
fn trimmed(text: &str, file: &File, selection: Span) -> Option<Span> {
    let Span { mut start, mut end, .. } = selection;
    loop {
        let part = text.get(start as usize..end as usize)?;
        start += (part.len() - part.trim_start().len()) as u32;
        end -= (part.len() - part.trim_end().len()) as u32;
        let comment = |at: &Span| start < end && (at.start == start || at.end == end);
        match file.comments.iter().find(|each| comment(each)) {
            Some(first) if first.start == start => start = first.end,
            Some(last) => end = last.start,
            None => return (start < end).then_some(Span { start, end, ..selection }),
        }
    }
}

/// The selected part of a program.
enum Selected<'f> {
    Expr,
    /// Stages of a pipe, without what goes into them.
    Stages,
    /// Statements; the second is true if they are the last of a function.
    Statements(&'f [Statement], bool),
}

/// The surroundings of a selection.
#[derive(Clone, Default)]
struct Around<'f> {
    /// The statement outside of all others.
    top: Option<&'f Statement>,
    /// The functions, the innermost last.
    defs: Vec<&'f Def>,
    /// True inside of what is done for each item of a list: layers are made again for each.
    is_repeated: bool,
}

struct Place<'f> {
    around: Around<'f>,
    top: &'f Statement,
    selected: Selected<'f>,
    /// The selection, from the first letter to the last.
    span: Span,
    /// The expressions in it.
    exprs: Vec<&'f ExprKind>,
}

impl<'f> Place<'f> {
    /// Finds what is selected among the statements of a block. The parser limits how deep blocks nest.
    fn find(
        file: &'f File,
        block: &'f [Statement],
        selection: Span,
        around: Around<'f>,
    ) -> Option<Place<'f>> {
        let first = block.partition_point(|statement| statement.span.end <= selection.start);
        let count = block[first..].iter().take_while(|each| each.span.start < selection.end).count();
        let chosen = &block[first..first + count];
        let (statement, last) = (chosen.first()?, chosen.last()?);
        let span = Span { start: statement.span.start, ..last.span };
        let top = around.top.unwrap_or(statement);
        let is_whole = selection.start == span.start && selection.end == span.end;
        let has_names = chosen.iter().any(|each| matches!(each.kind, StatementKind::Let { .. }));
        if is_whole && has_names {
            let is_last = !around.defs.is_empty() && first + count == block.len();
            let selected = Selected::Statements(chosen, is_last);
            return Some(Place::of(file, around, top, selected, span));
        }
        if count != 1 || !span.contains(selection) {
            return None;
        }
        let around = Around { top: Some(top), ..around };
        for body in statement.kind.blocks() {
            if body.first().is_some_and(|first| first.span.start <= selection.start) {
                let is_for = matches!(statement.kind, StatementKind::For { .. });
                let inner = Around { is_repeated: around.is_repeated || is_for, ..around.clone() };
                if let Some(found) = Place::find(file, body, selection, inner) {
                    return Some(found);
                }
            }
        }
        let mut around = around;
        match &statement.kind {
            StatementKind::Def(def) => {
                around.defs.push(def);
                match &def.body {
                    Body::Block(body) => return Place::find(file, body, selection, around),
                    // Defaults of arguments are none.
                    Body::Expr(value) if !file.expr(*value).span.contains(selection) => return None,
                    Body::Expr(_) => {}
                }
            }
            StatementKind::Dim { .. } | StatementKind::Leaf { .. } => return None,
            _ => {}
        }
        Place::of_expr(file, statement, selection, around)
    }

    fn of(
        file: &'f File,
        around: Around<'f>,
        top: &'f Statement,
        selected: Selected<'f>,
        span: Span,
    ) -> Place<'f> {
        let within = file.exprs_within(top.span.to(span)).filter(|(_, expr)| span.contains(expr.span));
        let exprs = within.map(|(_, expr)| &expr.kind).collect();
        Place { around, top, selected, span, exprs }
    }

    /// Finds the selected expression of a statement, or the stages of a pipe.
    fn of_expr(
        file: &'f File,
        statement: &'f Statement,
        selection: Span,
        mut around: Around<'f>,
    ) -> Option<Place<'f>> {
        let all = || file.exprs_within(statement.span);
        let is_strictly_around = |span: Span| span.contains(selection) && span != selection;
        // Brackets around the whole selection are not part of the expression.
        let is_selected = |span: Span| span == selection;
        let is_in_text = |kind: &ExprKind| matches!(kind, ExprKind::Text(_));
        if all().any(|(_, expr)| is_in_text(&expr.kind) && is_strictly_around(expr.span)) {
            return None;
        }
        around.is_repeated |= all().any(|(_, expr)| {
            matches!(expr.kind, ExprKind::Each { item, .. } if file.expr(item).span.contains(selection))
        });
        let is_worthwhile = |kind: &ExprKind| {
            !matches!(
                kind,
                ExprKind::Name(_)
                    | ExprKind::Number(_)
                    | ExprKind::Text(_)
                    | ExprKind::Param(_)
                    | ExprKind::Range(..)
                    | ExprKind::Missing
            )
        };
        let found = all().any(|(_, expr)| is_selected(expr.span) && is_worthwhile(&expr.kind));
        let selected = match found {
            true => Selected::Expr,
            false if all().any(|(id, _)| is_end_of_stages(file, id, selection)) => Selected::Stages,
            false => return None,
        };
        let top = around.top.unwrap_or(statement);
        Some(Place::of(file, around, top, selected, selection))
    }

    /// Returns true if the selection applies something that may have parameters of its own.
    fn applies(&self, analysis: &Analysis) -> bool {
        let (file, names) = (&analysis.program.file, &analysis.program.names);
        let is_plain = |callee: &ExprId| match file.expr(*callee).kind {
            ExprKind::Name(name) => broadloom_lang::builtins().any(|known| known == names.text(name)),
            _ => false,
        };
        self.exprs.iter().any(|kind| match kind {
            ExprKind::Call { callee, .. } => !is_plain(callee),
            ExprKind::Binary(Binary::Pipe, _, to) => !is_plain(to),
            _ => false,
        })
    }
}

/// Returns true if a selection ends where an expression ends which is a pipe, and begins with one of its stages.
fn is_end_of_stages(file: &File, mut pipe: ExprId, selection: Span) -> bool {
    let mut is_first = true;
    while let ExprKind::Binary(Binary::Pipe, left, stage) = file.expr(pipe).kind {
        let span = file.expr(stage).span;
        if std::mem::take(&mut is_first) && span.end != selection.end || span.start < selection.start {
            return false;
        }
        if span.start == selection.start {
            return true;
        }
        pipe = left;
    }
    false
}

/// A name with a number behind it, if it is taken.
fn fresh(analysis: &Analysis, names: &Occurrences, wanted: &str) -> String {
    let text = analysis.sources().get(analysis.program.main).text();
    let is_taken =
        |name: &str| names.all.iter().any(|each| each.span.slice(text) == name) || in_library(analysis, name);
    let numbered = |number: usize| if number == 1 { wanted.to_string() } else { format!("{wanted}{number}") };
    (1..).map(numbered).find(|name| !is_taken(name)).unwrap_or_default()
}

struct Extract<'a> {
    analysis: &'a Analysis,
    text: &'a str,
    names: &'a Occurrences,
    place: &'a Place<'a>,
    name: String,
}

/// The arguments of a new function: those of its configuration, and those that it is applied to.
#[derive(Default)]
struct Arguments {
    config: Vec<String>,
    applied: Vec<String>,
}

impl Extract<'_> {
    fn edits(&self) -> Result<Vec<Edit>, String> {
        let place = self.place;
        let results = self.results()?;
        let makes_params = place.exprs.iter().any(|kind| matches!(kind, ExprKind::Param(_)));
        let is_nested = !place.around.defs.is_empty() || place.around.is_repeated;
        let is_layer = makes_params || is_nested && place.applies(self.analysis);
        let is_stages = matches!(place.selected, Selected::Stages);
        let Arguments { config, applied } = self.arguments(is_layer || is_stages);
        let config = match is_layer || is_stages {
            true => format!("({})", config.join(", ")),
            false => String::new(),
        };
        let taken = match is_stages {
            true => fresh(self.analysis, self.names, "input"),
            false => applied.join(", "),
        };
        let head = format!("def {}{config}({taken}) =", self.name);
        let call = match is_stages {
            true => format!("{}{config}", self.name),
            false => format!("{}{config}({taken})", self.name),
        };
        let body = match (&place.selected, results.is_empty()) {
            (Selected::Expr, _) => self.moved(""),
            (Selected::Stages, _) => self.moved(&format!("{taken} |> ")),
            (Selected::Statements(..), true) => self.lines(),
            (Selected::Statements(..), false) => {
                let result = match &results[..] {
                    [single] => single.clone(),
                    several => format!("[{}]", several.join(", ")),
                };
                format!("{}\n  {result}", self.lines())
            }
        };
        let def = match place.selected {
            Selected::Statements(..) => format!("{head}\n{body}\n"),
            _ => format!("{head} {body}\n"),
        };
        let def = reformat(place.span.source, &def).unwrap_or(def);
        let new = match results.is_empty() {
            true => call,
            false => format!("let {} = {call}", results.join(", ")),
        };
        let before = Span::empty(place.span.source, self.above());
        Ok(vec![Edit { span: before, text: format!("{def}\n") }, Edit { span: place.span, text: new }])
    }

    /// The names that the statements bind and others use; nothing if what is selected has a value itself. The error is the reason why they
    /// cannot move.
    fn results(&self) -> Result<Vec<String>, String> {
        let mut used: Vec<&Binding> = Vec::new();
        for each in self.names.all.iter().filter(|each| !self.place.span.contains(each.span)) {
            let Some(binding) = self.names.binding(each).filter(|binding| self.is_inside(binding)) else {
                continue;
            };
            if binding.kind != BindingKind::Value {
                let (line, _) = self.analysis.sources().position(each.span);
                return Err(format!(
                    "`{}` is made here and used on line {line}: a function keeps it for itself",
                    binding.name
                ));
            }
            used.push(binding);
        }
        let Selected::Statements(statements, is_last) = self.place.selected else { return Ok(Vec::new()) };
        let (last, before) = statements.split_last().ok_or("nothing is selected")?;
        let names_of = |statement: &Statement| match &statement.kind {
            StatementKind::Let { names, .. } => {
                Some(names.iter().map(|name| name.span).collect::<Vec<Span>>())
            }
            _ => None,
        };
        let can_move = |statement: &&Statement| {
            matches!(statement.kind, StatementKind::Let { .. } | StatementKind::Set { .. })
        };
        let has_value = is_last && matches!(last.kind, StatementKind::Expr(_));
        let stays = before
            .iter()
            .find(|each| !can_move(each))
            .or(Some(last).filter(|last| !has_value && !can_move(last)));
        if let Some(stays) = stays {
            let (line, _) = self.analysis.sources().position(stays.span);
            return Err(format!(
                "only `let` and `set` can move into a function, and line {line} is something else"
            ));
        }
        if has_value {
            return Ok(Vec::new());
        }
        if used.is_empty() {
            // Nothing uses them: the value is that of the last line with a name.
            let spans = statements.iter().rev().find_map(names_of).ok_or("nothing here has a name")?;
            used = self.names.bindings.all.iter().filter(|binding| spans.contains(&binding.span)).collect();
        }
        used.sort_by_key(|binding| binding.span);
        let mut results: Vec<String> = Vec::new();
        for binding in used {
            if !results.contains(&binding.name) {
                results.push(binding.name.clone());
            }
        }
        Ok(results)
    }

    fn is_inside(&self, binding: &Binding) -> bool {
        self.place.span.contains(binding.span)
    }

    /// The names that the selection needs from around it, in the order in which they are used.
    fn arguments(&self, is_layer: bool) -> Arguments {
        let mut found = Arguments::default();
        for each in self.names.all.iter().filter(|each| self.place.span.contains(each.span)) {
            let Some(is_config) = self.needed(each) else { continue };
            let name = each.span.slice(self.text).to_string();
            if found.config.contains(&name) || found.applied.contains(&name) {
                continue;
            }
            match is_config && is_layer || matches!(self.place.selected, Selected::Stages) {
                true => found.config.push(name),
                false => found.applied.push(name),
            }
        }
        found
    }

    /// Returns something if a name stands for something around the selection that a function elsewhere does not know: true if it is no
    /// tensor.
    fn needed(&self, each: &Occurrence) -> Option<bool> {
        let index = match each.target {
            Target::Bound(index) => index,
            Target::Free if self.is_stated(each.span.slice(self.text)) => return Some(true),
            _ => return None,
        };
        let binding = &self.names.bindings.all[index];
        let is_known = binding.known.0 <= each.span.start && each.span.start < binding.known.1;
        let is_everywhere = binding.known.1 == u32::MAX;
        let is_own = match binding.kind {
            BindingKind::Function | BindingKind::Module | BindingKind::Dim => !is_everywhere,
            _ => !is_everywhere || self.place.around.defs.is_empty(),
        };
        // The name of an argument in a call is none.
        if self.is_inside(binding) || !is_known || !is_own {
            return None;
        }
        let made = || self.analysis.program.made.iter().map(|made| made.span);
        // A function that is never applied makes nothing.
        let is_applied = || made().any(|span| self.place.top.span.contains(span));
        let is_evaluated = self.place.around.defs.is_empty() || is_applied();
        Some(match binding.kind {
            BindingKind::Data | BindingKind::State | BindingKind::Parameter => false,
            BindingKind::Value => is_evaluated && !made().any(|span| span == binding.span),
            BindingKind::Argument => {
                let configs = self.place.around.defs.iter().filter_map(|def| def.config.as_ref());
                configs.flatten().any(|argument| argument.name.span == binding.span)
            }
            _ => true,
        })
    }

    /// Returns true if a name is that of a size in the signature of a function around.
    fn is_stated(&self, name: &str) -> bool {
        let names = &self.analysis.program.names;
        let shapes = self.place.around.defs.iter().flat_map(|def| {
            let arguments = def.arguments.iter().filter_map(|argument| argument.shape.as_ref());
            arguments.chain(def.result.iter().flat_map(ResultShape::shapes))
        });
        shapes
            .flat_map(|shape| shape.batch.iter().chain(&shape.input).flatten().chain(&shape.output))
            .any(|axis| matches!(axis.kind, AxisKind::Name(own) if names.text(own) == name))
    }

    /// The selected expression, behind something else; in brackets if it has several lines.
    fn moved(&self, before: &str) -> String {
        let text = self.place.span.slice(self.text);
        if !text.contains('\n') {
            return format!("{before}{text}");
        }
        let lines: Vec<&str> = text.lines().collect();
        let rest: String = lines[1..].iter().map(|line| format!("\n    {}", line.trim_start())).collect();
        format!("(\n    {before}{}{rest}\n  )", lines[0])
    }

    /// The selected statements, indented like the body of a function outside of others.
    fn lines(&self) -> String {
        let start = self.place.span.start as usize;
        let line = self.text[..start].rfind(['\n', '\r']).map_or(0, |end| end + 1);
        let indent = &self.text[line..start];
        let text = self.place.span.slice(self.text);
        let moved = |line: &str| match line.strip_prefix(indent).unwrap_or(line.trim_start()) {
            "" => String::new(),
            line => format!("  {line}"),
        };
        let lines = text.lines().enumerate();
        let all: Vec<String> =
            lines.map(|(at, line)| if at == 0 { format!("  {line}") } else { moved(line) }).collect();
        all.join("\n")
    }

    /// The place above the statement around the selection; above the comment of a function.
    fn above(&self) -> u32 {
        let start = self.place.top.span.start as usize;
        let mut line = self.text[..start].rfind('\n').map_or(0, |end| end + 1);
        while let StatementKind::Def(_) = self.place.top.kind {
            let above = self.text[..line.saturating_sub(1)].rfind('\n').map_or(0, |end| end + 1);
            if above == line || !self.text[above..line].starts_with('#') {
                break;
            }
            line = above;
        }
        line as u32
    }
}
