//! The size of every label: from the axes of the arrays, from what is written, and from what is given by name.
//!
//! Each axis of an operand is an equation between its size and those of its labels. The equations are gone through until
//! nothing new is learnt; one that does not hold is a mistake that shows both places. An equation between expressions holds if it
//! does for all sizes.

use super::mistake::Mistake;
use super::ranks::{Axis, AxisForm, CallArguments, Flat, name_of, tuple};
use broadloom_core::{Affine, Padding, Size};
use broadloom_spec::Span;

/// The sizes of the labels of `flat`, all of them known.
pub fn bind(flat: &Flat, given: &CallArguments) -> Result<Vec<Size>, Mistake> {
    let mut binder = Binder::new(flat, given);
    loop {
        let mut progress = false;
        for (operand, axes) in flat.operands.iter().enumerate() {
            for (position, axis) in axes.iter().enumerate() {
                progress |= binder.axis(axis, OperandAxis { operand, axis: position, span: axis.span })?;
            }
        }
        for (label, parts) in &flat.composed {
            progress |= binder.composed(*label, parts)?;
        }
        if !progress {
            break;
        }
    }
    binder.sizes()
}

/// An axis of an operand.
#[derive(Clone, Copy)]
struct OperandAxis {
    operand: usize,
    axis: usize,
    span: Span,
}

/// The reason of a size.
#[derive(Clone, Copy)]
enum Origin {
    Written(Span),
    Keyword,
    Axis(OperandAxis),
    /// The parts of a composed axis.
    Parts(Span),
}

struct Binder<'a> {
    flat: &'a Flat,
    given: &'a CallArguments,
    known: Vec<Option<(Size, Origin)>>,
}

impl<'a> Binder<'a> {
    fn new(flat: &'a Flat, given: &'a CallArguments) -> Binder<'a> {
        let origin =
            |index: usize, span| if flat.keyword[index] { Origin::Keyword } else { Origin::Written(span) };
        let known = flat.labels.iter().enumerate();
        let known = known.map(|(index, label)| Some((label.size?, origin(index, label.span))));
        Binder { flat, given, known: known.collect() }
    }

    fn get(&self, label: usize) -> Option<Size> {
        self.known[label].map(|(size, _)| size)
    }

    fn size_of(&self, place: OperandAxis) -> Size {
        self.given.shapes[place.operand][place.axis]
    }

    /// Reads the equation of one axis; true if a label became known.
    fn axis(&mut self, axis: &Axis, place: OperandAxis) -> Result<bool, Mistake> {
        let size = self.size_of(place);
        match &axis.form {
            AxisForm::Label(label) => self.learn(*label, size, place),
            AxisForm::Fixed(index) if self.given.conditions.at_most(Size::from(*index) + 1, size) => {
                Ok(false)
            }
            AxisForm::Fixed(index) => {
                let message = format!("the index {index} lies outside an axis of {size}");
                Err(self
                    .mistake(message, place, &self.shown(place))
                    .with_help("indices count from 0; a size is written in parentheses, as in `(3)`"))
            }
            AxisForm::Group(parts) => self.group(parts, size, place),
            AxisForm::Concat(parts) => self.concat(parts, size, place),
            AxisForm::Affine(affine, over, kernel) => self.affine(affine, *over, *kernel, size, place),
        }
    }

    fn learn(&mut self, label: usize, size: Size, place: OperandAxis) -> Result<bool, Mistake> {
        match self.known[label] {
            None => {
                self.known[label] = Some((size, Origin::Axis(place)));
                Ok(true)
            }
            Some((known, _)) if known == size => Ok(false),
            Some((known, origin)) => Err(self.conflict(label, (known, origin), size, place)),
        }
    }

    fn conflict(
        &self,
        label: usize,
        (known, origin): (Size, Origin),
        size: Size,
        place: OperandAxis,
    ) -> Mistake {
        let name = self.name(label);
        let message = format!("{name} cannot be both {known} and {size}");
        let mistake = self.mistake(message, place, &format!("{size}: {}", self.shown(place)));
        let mistake = match origin {
            Origin::Written(span) => mistake.with_place(span, format!("{known} is written here")),
            Origin::Parts(span) => mistake.with_place(span, format!("{known}: the product of its parts")),
            Origin::Keyword => {
                mistake.with_note(format!("`{}={known}` is given", self.flat.labels[label].name))
            }
            Origin::Axis(other) => {
                let mistake = mistake.with_place(other.span, format!("{known}: {}", self.shown(other)));
                if other.operand == place.operand { mistake } else { self.with_order(mistake, other.operand) }
            }
        };
        mistake.with_help("a label is one size wherever it stands, and nothing broadcasts: change an array, or use another label")
    }

    fn group(&mut self, parts: &[usize], size: Size, place: OperandAxis) -> Result<bool, Mistake> {
        let known: Size = parts.iter().filter_map(|part| self.get(*part)).product();
        let unknown: Vec<usize> = parts.iter().copied().filter(|part| self.get(*part).is_none()).collect();
        match unknown[..] {
            [] if known == size => Ok(false),
            [] => Err(self.unfit(parts, size, known, place)),
            [part] => match size.divided_by(known) {
                Some(size) => self.learn(part, size, place),
                None => Err(self.unfit(parts, size, known, place)),
            },
            _ => Ok(false),
        }
    }

    fn unfit(&self, parts: &[usize], size: Size, known: Size, place: OperandAxis) -> Mistake {
        let written = place.span.slice(&self.flat.text);
        let complete = parts.iter().all(|part| self.get(*part).is_some());
        let message = match (parts.is_empty(), complete) {
            (true, _) => {
                format!("`{written}` is an axis of one element, and {} has {size}", self.short(place))
            }
            (false, true) => format!("`{written}` is {known}, and {} has {size}", self.short(place)),
            (false, false) => {
                format!("`{written}` is a multiple of {known}, and {} has {size}", self.short(place))
            }
        };
        let sizes = parts.iter().filter_map(|part| {
            let label = &self.flat.labels[*part];
            (!label.name.is_empty()).then_some(())?;
            Some(format!("`{}` is {}", label.name, self.get(*part)?))
        });
        let sizes: Vec<String> = sizes.collect();
        let mistake = self.mistake(message, place, &self.shown(place));
        if sizes.is_empty() { mistake } else { mistake.with_note(sizes.join(", ")) }
    }

    /// The equation between a label that stands for a composed axis, and the parts of that.
    fn composed(&mut self, label: usize, parts: &[usize]) -> Result<bool, Mistake> {
        let product: Size = parts.iter().filter_map(|part| self.get(*part)).product();
        let unknown: Vec<usize> = parts.iter().copied().filter(|part| self.get(*part).is_none()).collect();
        let span = self.flat.labels[label].span;
        match (self.known[label], &unknown[..]) {
            (None, []) => {
                self.known[label] = Some((product, Origin::Parts(span)));
                Ok(true)
            }
            (Some((size, _)), []) if size == product => Ok(false),
            (Some((size, Origin::Axis(place))), [] | [_]) => {
                if let ([part], Some(size)) = (&unknown[..], size.divided_by(product)) {
                    return self.learn(*part, size, place);
                }
                let multiple = if unknown.is_empty() { "" } else { "a multiple of " };
                let message = format!(
                    "`{}` is {multiple}{product}, and {} leaves {size} for it",
                    span.slice(&self.flat.text),
                    self.short(place)
                );
                Err(self.mistake(message, OperandAxis { span, ..place }, &self.shown(place)))
            }
            _ => Ok(false),
        }
    }

    fn concat(&mut self, parts: &[usize], size: Size, place: OperandAxis) -> Result<bool, Mistake> {
        let known: Size = parts.iter().filter_map(|part| self.get(*part)).sum();
        let unknown: Vec<usize> = parts.iter().copied().filter(|part| self.get(*part).is_none()).collect();
        let written = place.span.slice(&self.flat.text);
        match unknown[..] {
            [] if known == size => Ok(false),
            [] => {
                let message = format!("`{written}` is {known}, and {} has {size}", self.short(place));
                Err(self.mistake(message, place, &self.shown(place)))
            }
            _ if !self.given.conditions.at_most(known, size) => {
                let message =
                    format!("`{written}` is at least {known}, and {} has {size}", self.short(place));
                Err(self.mistake(message, place, &self.shown(place)))
            }
            [part] => self.learn(part, size - known, place),
            _ => Ok(false),
        }
    }

    fn affine(
        &mut self,
        affine: &Affine,
        over: usize,
        kernel: Option<usize>,
        size: Size,
        place: OperandAxis,
    ) -> Result<bool, Mistake> {
        let (coefficient, constant) = affine.equation();
        let window = match (coefficient, kernel) {
            (0, _) | (_, None) => Some(Size::ZERO),
            (_, Some(kernel)) => self.get(kernel).map(|kernel| kernel * coefficient),
        };
        let rest = size - i64::try_from(constant).map_or_else(|_| Size::unknown(), Size::from);
        match (window, self.get(over), kernel) {
            (Some(window), _, _) => {
                let steps = (rest - window).divided_with_rest(affine.stride);
                let fits = |(steps, dropped): &(Size, u64)| {
                    *dropped <= affine.slack() && self.given.conditions.at_most(Size::ZERO, *steps)
                };
                match steps.filter(fits) {
                    Some((steps, _)) => self.learn(over, steps, place),
                    None => Err(self.no_fit(affine, size, place)),
                }
            }
            (None, Some(steps), Some(kernel)) if affine.slack() == 0 => {
                let kernel_size = (rest - steps * affine.stride).divided_by(coefficient.into());
                match kernel_size.filter(|size| self.given.conditions.at_most(Size::ONE, *size)) {
                    Some(size) => self.learn(kernel, size, place),
                    None => Err(self.no_fit(affine, size, place)),
                }
            }
            _ => Ok(false),
        }
    }

    fn no_fit(&self, affine: &Affine, size: Size, place: OperandAxis) -> Mistake {
        let written = place.span.slice(&self.flat.text);
        let message = format!("no size of `{written}` gives the {size} of {}", self.short(place));
        let mistake = self.mistake(message, place, &self.shown(place));
        match affine.window {
            Some(window) if window.padding == Padding::Valid => mistake.with_help(
                "the last window ends where the axis does: `~` in place of `<` drops what is left over",
            ),
            Some(_) => mistake,
            None => mistake.with_help(format!("the axis is a multiple of {}", affine.stride)),
        }
    }

    fn sizes(self) -> Result<Vec<Size>, Mistake> {
        let mut sizes = Vec::new();
        for label in 0..self.known.len() {
            match self.get(label) {
                Some(size) => sizes.push(size),
                None if self.is_used(label) => return Err(self.unknown(label)),
                None => sizes.push(Size::ONE),
            }
        }
        Ok(sizes)
    }

    fn is_used(&self, label: usize) -> bool {
        let axes = self.flat.operands.iter().chain(&self.flat.results).flatten();
        axes.flat_map(|axis| self.flat.parts_of(axis)).any(|other| other == label)
    }

    fn unknown(&self, label: usize) -> Mistake {
        let name = self.name(label);
        let holds = |axis: &&Axis| self.flat.parts_of(axis).contains(&label);
        let in_operand = self.flat.operands.iter().flatten().find(holds);
        let axis = in_operand.or_else(|| self.flat.results.iter().flatten().find(holds));
        let (span, label_text) = match (axis, in_operand) {
            (Some(axis), Some(_)) => (axis.span, "several sizes are possible here"),
            (Some(axis), None) => (axis.span, "only the result has it"),
            (None, _) => (self.flat.labels[label].span, ""),
        };
        let plain = &self.flat.labels[label].name;
        let help = match (in_operand, plain.is_empty()) {
            (_, true) => "give it a label, and its size by name".to_owned(),
            (None, _) => format!("give it by name: `{plain}=3`; `0` writes an axis of one element"),
            (Some(_), _) => format!("give it by name: `{plain}=3`"),
        };
        Mistake::shape(&self.flat.text, format!("nothing says how large {name} is"), span, label_text)
            .with_help(help)
    }

    fn name(&self, label: usize) -> String {
        format!("`{}`", self.flat.labels[label].shown(&self.flat.text))
    }

    fn short(&self, place: OperandAxis) -> String {
        format!("axis {} of {}", place.axis, name_of(self.given, place.operand))
    }

    fn shown(&self, place: OperandAxis) -> String {
        format!("{}, which has shape {}", self.short(place), tuple(&self.given.shapes[place.operand]))
    }

    fn mistake(&self, message: String, place: OperandAxis, label: &str) -> Mistake {
        let mistake = Mistake::shape(&self.flat.text, message, place.span, label);
        self.with_order(mistake, place.operand)
    }

    /// Says in which order the axes of an operand lie in memory, where that is not as they are written.
    fn with_order(&self, mistake: Mistake, operand: usize) -> Mistake {
        match &self.flat.turned[operand] {
            Some(order) => mistake.with_note(order),
            None => mistake,
        }
    }
}

impl AxisForm {
    /// The labels of the axis.
    pub fn labels(&self) -> Vec<usize> {
        match self {
            AxisForm::Label(label) => vec![*label],
            AxisForm::Fixed(_) => Vec::new(),
            AxisForm::Affine(_, over, kernel) => [*over].into_iter().chain(*kernel).collect(),
            AxisForm::Concat(labels) | AxisForm::Group(labels) => labels.clone(),
        }
    }
}
