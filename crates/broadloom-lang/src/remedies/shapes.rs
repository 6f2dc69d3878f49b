//! Changes of declared shapes and of the numbers in them.

use broadloom_diagnostics::{Diagnostic, Edit, Fact, Span};

use super::{Attempt, Change, sizes};
use crate::program::Program;
use crate::syntax::ast::{Axis, AxisKind, Body, ExprKind, File, Shape, Statement, StatementKind};

/// Declarations with more axes are not changed.
const MOST_AXES: usize = 5;

/// A declared shape.
struct Declaration<'p> {
    name: &'p str,
    shape: &'p Shape,
    span: Span,
    /// For a parameter, what stands behind its shape.
    rest: Option<&'p str>,
    /// True if it may have any number of axes.
    is_open: bool,
    /// The axes as they are written: batch, input, output.
    rows: [Vec<&'p str>; 3],
}

impl Declaration<'_> {
    /// The change to another shape.
    fn to(&self, shape: &str) -> Change {
        let name = self.name;
        let help = match self.rest {
            Some(rest) => format!("write `{{{name} : {shape}{rest}`"),
            None => format!("declare `{name}` as `{shape}`"),
        };
        Change::new(help, vec![Edit::new(self.span, shape)])
    }

    /// Its rows as a shape.
    fn text(&self) -> String {
        let row = |row: usize, behind: &str| match self.rows[row].is_empty() {
            true => String::new(),
            false => format!("{}{behind}", self.rows[row].join(", ")),
        };
        format!("{}{}{}", row(0, " | "), row(1, " -> "), row(2, "")).trim_end().to_string()
    }

    /// A map in place of a matrix: all axes but the last are its input, or whatever is read.
    fn as_map(&self) -> Vec<Change> {
        let ([], [], [before @ .., last]) = (&self.rows[0][..], &self.rows[1][..], &self.rows[2][..]) else {
            return Vec::new();
        };
        let read =
            if before.is_empty() || self.rest.is_none() { None } else { Some(format!("... -> {last}")) };
        let map = format!("{} -> {last}", before.join(", "));
        [Some(map), read]
            .into_iter()
            .flatten()
            .filter(|_| !before.is_empty())
            .map(|shape| self.to(&shape))
            .collect()
    }

    /// The change to other axes in the same rows.
    fn with(&self, rows: &[Vec<&str>; 3]) -> Change {
        let [batch, input, output] = [0, 1, 2].map(|row: usize| rows[row].join(", "));
        let batch = if self.shape.batch.is_some() { format!("{batch} | ") } else { batch };
        let input = if self.shape.input.is_some() { format!("{input} -> ") } else { input };
        self.to(format!("{batch}{input}{output}").trim())
    }

    /// The same axes with more of them before `|`.
    fn with_batch(&self) -> Vec<Change> {
        let [batch, _, output] = &self.rows;
        let all: Vec<&str> = batch.iter().chain(output).copied().collect();
        self.divided(&all, batch.len() + 1, "")
    }

    /// The same axes with the last ones before `->`, and without those of 1.
    fn with_inputs(&self) -> Vec<Change> {
        let [batch, _, output] = &self.rows;
        let all: Vec<&str> = batch.iter().chain(output).copied().filter(|axis| *axis != "1").collect();
        self.divided(&all, 1, " ->")
    }

    /// The change to so many axes before `|` or more, and something behind the rest.
    fn divided(&self, axes: &[&str], first: usize, behind: &str) -> Vec<Change> {
        let is_fixed = self.is_open || !self.rows[1].is_empty();
        let places = (first..axes.len()).filter(|_| !is_fixed);
        places
            .map(|at| self.to(&format!("{} | {}{behind}", axes[..at].join(", "), axes[at..].join(", "))))
            .collect()
    }

    /// The same rows with axes of one of them in another order, if another declaration has them, too.
    fn in_other_orders(&self, others: &[Declaration<'_>]) -> Vec<Change> {
        let sorted = |row: &[&str]| {
            let mut row: Vec<String> = row.iter().map(ToString::to_string).collect();
            row.sort_unstable();
            row
        };
        let is_shared = |row: usize| {
            let mut others = others.iter().filter(|other| other.span != self.span);
            others.any(|other| sorted(&other.rows[row]) == sorted(&self.rows[row]))
        };
        // Another one may have all of them in other rows.
        let all = |each: &Declaration<'_>| sorted(&each.rows.concat());
        let same = others.iter().filter(|other| other.rows != self.rows && all(other) == all(self));
        let mut changes: Vec<Change> = same.map(|other| self.to(&other.text())).collect();
        for row in (0..3).filter(|row| is_shared(*row)) {
            let count = self.rows[row].len();
            let mut add = |change: &dyn Fn(&mut Vec<&str>)| {
                let mut rows = self.rows.clone();
                change(&mut rows[row]);
                if rows != self.rows {
                    changes.push(self.with(&rows));
                }
            };
            for at in 1..count {
                add(&|row| row.swap(at - 1, at));
            }
            if count > 2 {
                add(&|row| row.rotate_left(1));
                add(&|row| row.rotate_right(1));
            }
        }
        changes
    }

    /// The same rows without axes of 1.
    fn without_ones(&self) -> Option<Change> {
        let rows =
            self.rows.clone().map(|row| row.into_iter().filter(|axis| *axis != "1").collect::<Vec<_>>());
        (rows != self.rows && rows.iter().any(|row| !row.is_empty())).then(|| self.with(&rows))
    }

    /// True if the axes of 1 stand before the others, so that the others line up as before without them.
    fn begins_with_ones(&self) -> bool {
        self.rows.iter().all(|row| row.iter().skip_while(|axis| **axis == "1").all(|axis| *axis != "1"))
    }

    /// The same rows with units in place of axes of 1.
    fn with_units(&self) -> Option<Change> {
        self.replaced("1", "1:unit")
    }

    /// The same rows with one size in place of another, at one place or everywhere.
    fn resized(&self, [size, other]: [u64; 2]) -> Vec<Change> {
        let [size, other] = [size, other].map(|size| size.to_string());
        let mut changes = Vec::new();
        for row in 0..3 {
            for at in (0..self.rows[row].len()).filter(|at| self.rows[row][*at] == size) {
                let mut rows: [Vec<&str>; 3] = self.rows.clone();
                rows[row][at] = &other;
                changes.push(self.with(&rows));
            }
        }
        changes.extend(self.replaced(&size, &other));
        changes
    }

    /// The same rows with one axis in place of another, wherever it stands.
    fn replaced(&self, axis: &str, other: &str) -> Option<Change> {
        let replace = |own: &&str| if *own == axis { other.to_string() } else { own.to_string() };
        let rows = self.rows.each_ref().map(|row| row.iter().map(replace).collect::<Vec<_>>());
        let rows = rows.each_ref().map(|row| row.iter().map(String::as_str).collect());
        (rows != self.rows).then(|| self.with(&rows))
    }
}

/// The changes to try with the declarations that an error is about.
pub(super) fn attempts(program: &Program, wrong: &Diagnostic, place: Span) -> Vec<Attempt> {
    let all = concerned(program, wrong, place);
    let each = |changes: &dyn Fn(&Declaration<'_>) -> Vec<Change>| all.iter().flat_map(changes).collect();
    let optional =
        |change: fn(&Declaration<'_>) -> Option<Change>| all.iter().filter_map(change).collect::<Vec<_>>();
    let is_product = wrong.facts.contains(&Fact::ProductRank);
    vec![
        Attempt::new(
            "a map has its input before `->`: ",
            each(&|each| if is_product { each.as_map() } else { Vec::new() }),
        ),
        Attempt::new(
            "a size of 1 does not broadcast, and what is left out does: ",
            optional(|each| each.without_ones().filter(|_| each.begins_with_ones())),
        ),
        Attempt::new(
            "a size of 1 does not broadcast, and `1:unit` does: ",
            optional(|each| each.with_units()),
        ),
        Attempt::new(
            "a size of 1 does not broadcast, and what is left out does: ",
            optional(|each| each.without_ones()),
        ),
        Attempt::new("examples and positions are batch axes, before `|`: ", each(&|each| each.with_batch())),
        Attempt::new(
            "axes that are contracted later are inputs, before `->`: ",
            each(&|each| if is_mask(program, each) { each.with_inputs() } else { Vec::new() }),
        ),
        Attempt { follows_rule: true, ..Attempt::new("for one name, ", renamed(&all, wrong)) },
        Attempt::new("with the size of what it meets, ", by_other_names(&all)),
        Attempt::new("the same axes in another order fit: ", each(&|each| each.in_other_orders(&all))),
        Attempt { is_choice: true, follows_rule: true, ..Attempt::new("", resized(&all, program, wrong)) },
    ]
}

/// The declarations on lines that an error shows, and those of what is read at its place.
fn concerned<'p>(program: &'p Program, wrong: &Diagnostic, place: Span) -> Vec<Declaration<'p>> {
    let mut all = Vec::new();
    declarations(program, &program.file.statements, &mut all);
    parameters(program, &program.file, &mut all);
    let read = names_read(program, place);
    let is_read =
        |declaration: &Declaration<'_>| declaration.rest.is_none() && read.contains(&declaration.name);
    let line = |span: Span| program.sources.position(span).0;
    let is_shown = |span: Span| {
        let mut labels = wrong.labels.iter().filter(|label| label.span.source == program.main);
        labels.any(|label| label.span.contains(span) || line(label.span) == line(span))
    };
    all.retain(|each| is_shown(each.span) || is_read(each));
    // What was declared first is the rule, and what follows has to fit.
    all.sort_by_key(|declaration| std::cmp::Reverse(declaration.span.start));
    all
}

/// The names that are read at a place, and by the `let`s of those.
fn names_read(program: &Program, place: Span) -> Vec<&str> {
    let file = &program.file;
    let (mut names, mut places) = (Vec::new(), vec![place]);
    while let Some(place) = places.pop() {
        for expr in file.exprs.iter().filter(|expr| place.contains(expr.span)) {
            let ExprKind::Name(name) = expr.kind else { continue };
            let name = program.names.text(name);
            if names.contains(&name) {
                continue;
            }
            names.push(name);
            places.extend(file.statements.iter().filter_map(|statement| match &statement.kind {
                StatementKind::Let { names, value, .. } => {
                    let is_it = names.iter().any(|own| program.names.text(own.name) == name);
                    is_it.then(|| file.expr(*value).span)
                }
                _ => None,
            }));
        }
    }
    names
}

/// Two names for one size, with one of them in place of the other.
fn renamed(all: &[Declaration<'_>], wrong: &Diagnostic) -> Vec<Change> {
    let names = wrong.facts.iter().find_map(|fact| match fact {
        Fact::SizeNames(names) => Some(names),
        _ => None,
    });
    let Some([a, b]) = names else { return Vec::new() };
    all.iter().flat_map(|each| [each.replaced(b, a), each.replaced(a, b)]).flatten().collect()
}

/// Parameters with one name of a size in place of another: both stand in what the error shows.
fn by_other_names(all: &[Declaration<'_>]) -> Vec<Change> {
    let is_name = |axis: &&str| axis.starts_with(char::is_alphabetic) && !axis.contains([' ', ':']);
    let mut names: Vec<&str> = all.iter().flat_map(|each| each.rows.concat()).filter(is_name).collect();
    names.sort_unstable();
    names.dedup();
    let parameters = all.iter().filter(|each| each.rest.is_some());
    parameters
        .flat_map(|each| {
            let own: Vec<&str> = each.rows.concat().into_iter().filter(is_name).collect();
            let pairs = own.into_iter().flat_map(|own| names.iter().map(move |other| (own, *other)));
            let pairs = pairs.filter(|(own, other)| own != other).collect::<Vec<_>>();
            pairs.into_iter().filter_map(|(own, other)| each.replaced(own, other))
        })
        .collect()
}

/// Two sizes that do not agree, with one of them in place of the other: in a declaration, or in a call.
fn resized(all: &[Declaration<'_>], program: &Program, wrong: &Diagnostic) -> Vec<Change> {
    let (pairs, begins) = sizes::pairs(wrong);
    let of_pair = |pair: [u64; 2]| {
        let declared = all.iter().flat_map(move |each| each.resized(pair));
        let changes = declared.chain(sizes::resized(program, wrong, pair));
        changes.map(move |change| change.for_size(begins, pair[1]))
    };
    pairs.into_iter().flat_map(of_pair).collect()
}

/// Returns true if a declaration is that of a mask.
fn is_mask(program: &Program, declaration: &Declaration<'_>) -> bool {
    let mut args = program.file.exprs.iter().flat_map(|expr| match &expr.kind {
        ExprKind::Call { args, .. } => &args[..],
        _ => &[],
    });
    declaration.name.contains("mask")
        || args.any(|arg| {
            let is_it = program.sources.slice(program.file.expr(arg.value).span) == declaration.name;
            is_it && arg.name.is_some_and(|name| program.names.text(name.name) == "mask")
        })
}

/// The declarations of data and states.
fn declarations<'p>(program: &'p Program, statements: &'p [Statement], all: &mut Vec<Declaration<'p>>) {
    for statement in statements {
        match &statement.kind {
            StatementKind::Leaf { name, shape: Some(shape), .. } => {
                all.extend(declaration(program, program.names.text(name.name), shape, None));
            }
            StatementKind::Def(def) => {
                if let Body::Block(body) = &def.body {
                    declarations(program, body, all);
                }
            }
            other => other.blocks().for_each(|body| declarations(program, body, all)),
        }
    }
}

/// The declarations of parameters.
fn parameters<'p>(program: &'p Program, file: &'p File, all: &mut Vec<Declaration<'p>>) {
    for expr in &file.exprs {
        if let ExprKind::Param(param) = &expr.kind
            && let Some(shape) = &param.shape
        {
            all.extend(declaration(program, program.names.text(param.name.name), shape, Some(expr.span)));
        }
    }
}

/// A declaration with few axes.
fn declaration<'p>(
    program: &'p Program,
    name: &'p str,
    shape: &'p Shape,
    param: Option<Span>,
) -> Option<Declaration<'p>> {
    let span = shape.span.filter(|span| span.source == program.main)?;
    let is_open = |axis: &Axis| matches!(axis.kind, AxisKind::Rest | AxisKind::Row(_));
    let none = Vec::new();
    let rows = [shape.batch.as_ref().unwrap_or(&none), shape.input.as_ref().unwrap_or(&none), &shape.output];
    let count: usize = rows.iter().map(|row| row.len()).sum();
    if count > MOST_AXES {
        return None;
    }
    let is_open = rows.iter().any(|row| row.iter().any(is_open));
    let rows = rows.map(|row| row.iter().map(|axis| program.sources.slice(axis.span)).collect());
    let rest = param.map(|param| program.sources.slice(Span { start: span.end, ..param }));
    Some(Declaration { name, shape, span, rest, is_open, rows })
}
