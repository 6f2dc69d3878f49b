//! Finds the number of axes that `...` and `..r..` stand for, and the equation with that many labels in their
//! place.
//!
//! Each array says that its axes are those that are written and those of its rows. An array with one row of unknown length
//! decides it; so do sizes that are given as `r=(2, 3)`. Nothing else is guessed.

use super::mistake::Mistake;
use super::notation::{ArrayAxes, ComposedPart, Equation, Factor, Form, Label, Tensor};
use super::symbols::Conditions;
use broadloom_core::{Affine, Padding as CorePadding, Size};
use broadloom_diagnostics::axes;
use broadloom_spec::{Padding, Span};

/// The arguments of a call other than the spec.
pub struct CallArguments {
    /// The shapes of the arrays.
    pub shapes: Vec<Vec<Size>>,
    /// Sizes by name.
    pub sizes: Vec<(String, Value)>,
    /// The behaviour of windows whose ends the spec leaves open.
    pub padding: Option<CorePadding>,
    /// The name of the array in messages, if there is only one.
    pub called: String,
    /// The conditions that the plan relies on.
    pub conditions: Conditions,
}

/// The name of an array that is alone.
pub const ALONE: &str = "the array";

/// A size that is given by name, or those of a row.
#[derive(Clone, Debug)]
pub enum Value {
    /// `h=2`.
    One(Size),
    /// `r=(2, 3)`.
    Many(Vec<Size>),
}

/// An equation without rows: every axis of every array has a form of its own.
pub struct Flat {
    /// The text of the spec.
    pub text: String,
    /// The labels; a size that is known already is written in the spec or given by name.
    pub labels: Vec<Label>,
    /// Names of the labels whose sizes were given by name.
    pub keyword: Vec<bool>,
    /// For each operand with input axes, its axes in the order of memory.
    pub turned: Vec<Option<String>>,
    /// The labels that stand for a composed axis, and its parts.
    pub composed: Vec<(usize, Vec<usize>)>,
    /// The arrays before `=>`.
    pub operands: Vec<Vec<Axis>>,
    /// The arrays after `=>`.
    pub results: Vec<Vec<Axis>>,
}

impl Flat {
    /// The parts of a label that stands for a composed axis; of any other, the label itself.
    pub fn parts(&self, label: usize) -> Vec<usize> {
        let composed = self.composed.iter().find(|(other, _)| *other == label);
        composed.map_or_else(|| vec![label], |(_, parts)| parts.clone())
    }

    /// The labels of an axis, those that stand for a composed axis taken apart.
    pub fn parts_of(&self, axis: &Axis) -> Vec<usize> {
        axis.form.labels().into_iter().flat_map(|label| self.parts(label)).collect()
    }
}

/// One axis of an array.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Its form.
    pub form: AxisForm,
    /// Its place in the text.
    pub span: Span,
}

/// The form of an axis, over labels of the [`Flat`] equation.
#[derive(Clone, Debug)]
pub enum AxisForm {
    /// `i`.
    Label(usize),
    /// `2`.
    Fixed(u64),
    /// `2*o+1`, `o<+k`: the map, what it steps over, and the window.
    Affine(Affine, usize, Option<usize>),
    /// `a^b`.
    Concat(Vec<usize>),
    /// `(h w)`.
    Group(Vec<usize>),
}

/// Puts labels in the place of rows.
pub fn expand(equation: &Equation, given: &CallArguments) -> Result<Flat, Mistake> {
    check_operands(equation, given)?;
    let lengths = lengths(equation, given)?;
    let mut flat = Flat {
        text: equation.text.clone(),
        labels: equation.labels.clone(),
        keyword: vec![false; equation.labels.len()],
        turned: equation.operands.iter().map(|operand| memory_order(equation, operand)).collect(),
        composed: Vec::new(),
        operands: Vec::new(),
        results: Vec::new(),
    };
    let rows = row_labels(equation, given, &lengths, &mut flat);
    let factors = give(equation, given, &mut flat)?;
    let expander = Expander { equation, given, rows: &rows, factors: &factors };
    for composed in &equation.composed {
        flat.composed.push((composed.label, expander.parts(&composed.parts)));
    }
    for operand in &equation.operands {
        flat.operands.push(expander.tensor(operand)?);
    }
    for result in &equation.results {
        flat.results.push(expander.tensor(result)?);
    }
    Ok(flat)
}

fn check_operands(equation: &Equation, given: &CallArguments) -> Result<(), Mistake> {
    let (wanted, found) = (equation.operands.len(), given.shapes.len());
    if wanted == found {
        return Ok(());
    }
    let arrays = |n: usize| if n == 1 { "1 array".to_owned() } else { format!("{n} arrays") };
    let message = format!(
        "the spec is for {}, and {} given",
        arrays(wanted),
        match found {
            0 => "none is".to_owned(),
            1 => "1 is".to_owned(),
            n => format!("{n} are"),
        }
    );
    let last = equation.operands.last().map_or(Span::default(), |operand| operand.span);
    let first = equation.operands.first().map_or(Span::default(), |operand| operand.span);
    Err(Mistake::shape(&equation.text, message, first.to(last), format!("{} before `=>`", arrays(wanted)))
        .with_help("write one shape for each array, separated by `;`"))
}

/// The number of axes of each row that is used.
fn lengths(equation: &Equation, given: &CallArguments) -> Result<Vec<Option<usize>>, Mistake> {
    let mut lengths: Vec<Option<usize>> = vec![None; equation.rows.len()];
    for (row, length) in equation.rows.iter().zip(&mut lengths) {
        if let Some((_, Value::Many(sizes))) = given.sizes.iter().find(|(name, _)| *name == row.name) {
            *length = Some(sizes.len());
        }
    }
    loop {
        let mut progress = false;
        for (index, operand) in equation.operands.iter().enumerate() {
            progress |= solve_rank(equation, given, index, operand, &mut lengths)?;
        }
        if !progress {
            break;
        }
    }
    check_lengths(equation, given, &lengths)?;
    Ok(lengths)
}

/// Finds the length of the only unknown row of an operand; true if there was one.
fn solve_rank(
    equation: &Equation,
    given: &CallArguments,
    index: usize,
    operand: &Tensor,
    lengths: &mut [Option<usize>],
) -> Result<bool, Mistake> {
    let rank = given.shapes[index].len();
    let mut known = 0;
    let mut unknown: Vec<usize> = Vec::new();
    for item in &operand.items {
        match item.form {
            Form::Row(row) => match lengths[row] {
                Some(length) => known += length,
                None => unknown.push(row),
            },
            _ => known += 1,
        }
    }
    let Some(&row) = unknown.first() else {
        return if known == rank { Ok(false) } else { Err(wrong_rank(equation, given, index, known, false)) };
    };
    if rank < known {
        return Err(wrong_rank(equation, given, index, known, true));
    }
    if unknown.iter().any(|other| *other != row) {
        return Ok(false);
    }
    if !(rank - known).is_multiple_of(unknown.len()) {
        return Err(wrong_rank(equation, given, index, known + unknown.len(), true));
    }
    lengths[row] = Some((rank - known) / unknown.len());
    Ok(true)
}

fn wrong_rank(
    equation: &Equation,
    given: &CallArguments,
    index: usize,
    wanted: usize,
    at_least: bool,
) -> Mistake {
    let shape = &given.shapes[index];
    let operand = &equation.operands[index];
    let more = if at_least { "at least " } else { "" };
    let which = name_of(given, index);
    let message = format!("{which} has {}, and the spec is for {more}{}", axes(shape.len()), axes(wanted));
    let label = format!("{more}{}; {which} has shape {}", axes(wanted), tuple(shape));
    let mistake = Mistake::shape(&equation.text, message, operand.span, label);
    let written = operand.span.slice(&equation.text);
    let run_together = written.split(|c: char| !c.is_alphabetic()).any(|word| word.chars().count() > 1);
    match equation.letters && run_together && wanted > shape.len() {
        true => mistake.with_help(
            "each letter is a label here; with commas between them labels are words, as in `batch, heads`",
        ),
        false => mistake,
    }
}

fn check_lengths(
    equation: &Equation,
    given: &CallArguments,
    lengths: &[Option<usize>],
) -> Result<(), Mistake> {
    let tensors = equation.operands.iter().chain(&equation.results);
    for item in tensors.flat_map(|tensor| &tensor.items) {
        let inner = equation.composed.iter().filter(|composed| item.form.labels().contains(&composed.label));
        let mut rows: Vec<usize> = inner.flat_map(|composed| rows_of(&composed.parts)).collect();
        match &item.form {
            Form::Row(row) => rows.push(*row),
            Form::Group(parts) => rows.extend(rows_of(parts)),
            _ => {}
        }
        if let Some(row) = rows.into_iter().find(|row| lengths[*row].is_none()) {
            return Err(unknown_length(equation, given, item, row));
        }
    }
    Ok(())
}

fn rows_of(parts: &[ComposedPart]) -> Vec<usize> {
    let row = |part: &ComposedPart| match part {
        ComposedPart::Row(row) => Some(*row),
        ComposedPart::Label(_) => None,
    };
    parts.iter().filter_map(row).collect()
}

fn unknown_length(equation: &Equation, given: &CallArguments, item: &ArrayAxes, row: usize) -> Mistake {
    let in_operand = |tensor: &Tensor| tensor.items.iter().any(|item| item.form == Form::Row(row));
    let shown = &equation.rows[row].shown;
    let name = &equation.rows[row].name;
    let (message, label) = match equation.operands.iter().any(in_operand) {
        true => (
            format!("several numbers of axes are possible for `{shown}`"),
            "an array does not say which of its axes are batch, input or output axes",
        ),
        false => (format!("nothing says how many axes `{shown}` has"), "no array has these axes"),
    };
    let example = match given.shapes.first().and_then(|shape| shape.last()) {
        Some(last) if equation.operands.iter().any(in_operand) => format!("({last},)"),
        _ => "(2, 3)".to_owned(),
    };
    Mistake::shape(&equation.text, message, item.span, label)
        .with_help(format!("give the sizes of its axes, as in `{name}={example}`"))
}

/// Labels for the axes of each row.
fn row_labels(
    equation: &Equation,
    given: &CallArguments,
    lengths: &[Option<usize>],
    flat: &mut Flat,
) -> Vec<Vec<usize>> {
    let mut rows = Vec::new();
    for (row, length) in equation.rows.iter().zip(lengths) {
        let sizes = given.sizes.iter().find_map(|(name, value)| match value {
            Value::Many(sizes) if *name == row.name => Some(sizes),
            _ => None,
        });
        let mut labels = Vec::new();
        for position in 0..length.unwrap_or(0) {
            labels.push(flat.labels.len());
            let size = sizes.map(|sizes| sizes[position]);
            let name = format!("{}[{position}]", row.shown);
            flat.labels.push(Label { name, span: Span::default(), size });
            flat.keyword.push(size.is_some());
        }
        rows.push(labels);
    }
    rows
}

/// Enters the sizes that are given by name; returns the values of the coefficients.
fn give(equation: &Equation, given: &CallArguments, flat: &mut Flat) -> Result<Vec<Option<u64>>, Mistake> {
    let mut factors = vec![None; equation.coefficients.len()];
    for (name, value) in &given.sizes {
        let label = equation.labels.iter().position(|label| label.name == *name);
        let coefficient = equation.coefficients.iter().position(|coefficient| coefficient == name);
        let is_row = equation.rows.iter().any(|row| row.name == *name);
        match (label, coefficient, value) {
            (Some(label), _, Value::One(size)) => {
                flat.labels[label].size = Some(*size);
                flat.keyword[label] = true;
            }
            (None, Some(coefficient), Value::One(size)) if size.get() > 0 => {
                factors[coefficient] = Some(size.get());
            }
            (None, None, Value::Many(_)) if is_row => {}
            _ => return Err(wrong_name(equation, name, label.is_some() || coefficient.is_some(), is_row)),
        }
    }
    Ok(factors)
}

fn wrong_name(equation: &Equation, name: &str, is_size: bool, is_row: bool) -> Mistake {
    let whole = Span::new(0, equation.text.len());
    let one = |message: String, label: &str| Mistake::shape(&equation.text, message, whole, label);
    if is_size {
        return one(format!("`{name}` is one size, at least 1"), "").with_help(format!("write `{name}=2`"));
    }
    let is_plain = matches!(name, "batch" | "input" | "output");
    if is_row && (!is_plain || equation.text.contains("...")) {
        return one(format!("`{name}` stands for any number of axes"), "")
            .with_help(format!("give their sizes as a tuple: `{name}=(2, 3)`"));
    }
    let names: Vec<&str> =
        equation.labels.iter().map(|label| label.name.as_str()).filter(|name| !name.is_empty()).collect();
    let mistake = one(format!("the spec has no label `{name}`"), "");
    match (names.is_empty(), equation.letters && name.chars().count() > 1) {
        (false, true) => mistake.with_help(
            "each letter is a label here; with commas between them labels are words, as in `batch, heads`",
        ),
        (false, false) => mistake.with_help(format!("its labels are {}", listed(&names))),
        (true, _) => mistake,
    }
}

struct Expander<'a> {
    equation: &'a Equation,
    given: &'a CallArguments,
    rows: &'a [Vec<usize>],
    factors: &'a [Option<u64>],
}

impl Expander<'_> {
    fn tensor(&self, tensor: &Tensor) -> Result<Vec<Axis>, Mistake> {
        let mut axes = Vec::new();
        for ArrayAxes { form, span } in &tensor.items {
            let form = match form {
                Form::Row(row) => {
                    axes.extend(
                        self.rows[*row]
                            .iter()
                            .map(|label| Axis { form: AxisForm::Label(*label), span: *span }),
                    );
                    continue;
                }
                Form::Label(label) => AxisForm::Label(*label),
                Form::Fixed(index) => AxisForm::Fixed(*index),
                Form::Concat(labels) => AxisForm::Concat(labels.clone()),
                Form::Group(parts) => AxisForm::Group(self.parts(parts)),
                Form::Affine { stride, over, offset, window } => {
                    let mut affine = Affine::strided(self.factor(*stride, *span)?).with_offset(*offset);
                    if let Some((dilation, _, padding)) = window {
                        affine = affine
                            .with_kernel(self.factor(*dilation, *span)?, self.padding(*padding, *span)?);
                    }
                    AxisForm::Affine(affine, *over, window.map(|(_, kernel, _)| kernel))
                }
            };
            axes.push(Axis { form, span: *span });
        }
        Ok(axes)
    }

    fn parts(&self, parts: &[ComposedPart]) -> Vec<usize> {
        let labels = |part: &ComposedPart| match part {
            ComposedPart::Label(label) => vec![*label],
            ComposedPart::Row(row) => self.rows[*row].clone(),
        };
        parts.iter().flat_map(labels).collect()
    }

    fn factor(&self, factor: Factor, span: Span) -> Result<u64, Mistake> {
        match factor {
            Factor::Literal(number) => Ok(number),
            Factor::Named(index) => self.factors[index].ok_or_else(|| {
                let name = &self.equation.coefficients[index];
                let message = format!("nothing says what `{name}` is");
                Mistake::shape(&self.equation.text, message, span, "a name before `*` stands for a number")
                    .with_help(format!("give it by name: `{name}=2`"))
            }),
        }
    }

    fn padding(&self, padding: Padding, span: Span) -> Result<CorePadding, Mistake> {
        match padding {
            Padding::Padded => Ok(CorePadding::Padded),
            Padding::Valid => Ok(CorePadding::Valid),
            Padding::Dropped => Ok(CorePadding::Dropped),
            Padding::Unmarked => self.given.padding.ok_or_else(|| {
                let message = "the spec does not say what happens at the ends of this axis";
                Mistake::shape(&self.equation.text, message, span, "a window without `<`, `~` or `=`")
                    .with_help("write `o<+k` to stay inside, `o~+k` to drop a remainder, `o=+k` to pad; or pass `padding=\"valid\"`, `\"drop\"` or `\"same\"`")
            }),
        }
    }
}

/// The axes of an array as they lie in memory, if that is not as they are written.
fn memory_order(equation: &Equation, operand: &Tensor) -> Option<String> {
    let items: Vec<&str> = operand.items.iter().map(|item| item.span.slice(&equation.text)).collect();
    let written = operand.span.slice(&equation.text);
    operand.turned.then(|| {
        format!("`{written}` is an array ({}): batch, then output, then input axes", items.join(", "))
    })
}

/// `operand 2`, or the name of the array if there is only one.
pub fn name_of(given: &CallArguments, index: usize) -> String {
    if given.shapes.len() == 1 { given.called.clone() } else { format!("operand {}", index + 1) }
}

/// A shape as Python prints it.
pub fn tuple(shape: &[Size]) -> String {
    match shape {
        [one] => format!("({one},)"),
        _ => format!("({})", shape.iter().map(Size::to_string).collect::<Vec<_>>().join(", ")),
    }
}

fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
