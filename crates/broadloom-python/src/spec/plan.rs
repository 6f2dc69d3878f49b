//! From a bound equation to a plan: for each result, what is read, how it is combined, and how it is written.
//!
//! An operand is *read* into an array that has one axis for each label: composed axes are taken apart, indices and strides
//! become slices, windows become two axes, a label that stands twice becomes a diagonal. The arrays are combined and
//! reduced to the labels of the result, and that is *written*: the same in the other direction.
//!
//! The parts of `a^b` run one after another. Each choice of one part for each concatenation is a *phase*; an array takes
//! part in it if all its labels do. `a; b => a^b` has two phases, one for each operand.

use super::mistake::Mistake;
use super::phases::{Phase, phases};
use super::places::{NONE, Spread, diagonals, permute};
use super::ranks::{Axis, AxisForm, CallArguments, Flat};
use super::step::{ArrayStep, Pick, Recipe};
use broadloom_core::{Affine, Padding, Size};

/// The use of a spec.
#[derive(Clone, Copy)]
pub struct Use {
    /// The reduction: `sum`, `mean`, `max`, `min`, `prod`, `any` or `all`.
    pub reduce: &'static str,
}

/// The plans of all results.
pub fn plan(flat: &Flat, given: &CallArguments, sizes: &[Size], usage: Use) -> Result<Vec<Recipe>, Mistake> {
    let planner = Planner { flat, given, sizes, usage };
    let phases = phases(flat)?;
    flat.results.iter().map(|result| planner.result(result, &phases)).collect()
}

struct Planner<'a> {
    flat: &'a Flat,
    given: &'a CallArguments,
    sizes: &'a [Size],
    usage: Use,
}

impl Planner<'_> {
    fn result(&self, result: &[Axis], phases: &[Phase]) -> Result<Recipe, Mistake> {
        let written: Vec<&Phase> = phases.iter().filter(|phase| phase.has(result)).collect();
        let parts: Vec<(usize, &[usize])> = result
            .iter()
            .enumerate()
            .filter_map(|(at, axis)| match &axis.form {
                AxisForm::Concat(parts) => Some((at, parts.as_slice())),
                _ => None,
            })
            .collect();
        self.blocks(result, &parts, &written)
    }

    /// The pieces of a result, one concatenated axis after another.
    fn blocks(
        &self,
        result: &[Axis],
        parts: &[(usize, &[usize])],
        phases: &[&Phase],
    ) -> Result<Recipe, Mistake> {
        let Some(((axis, labels), rest)) = parts.split_first() else {
            return self.block(result, phases);
        };
        let mut pieces = Vec::new();
        for label in *labels {
            let chosen: Vec<&Phase> = phases.iter().copied().filter(|phase| phase.runs(*label)).collect();
            pieces.push(self.blocks(result, rest, &chosen)?);
        }
        Ok(Recipe::Concat(*axis, pieces))
    }

    fn block(&self, result: &[Axis], phases: &[&Phase]) -> Result<Recipe, Mistake> {
        let mut nodes = Vec::new();
        for phase in phases {
            let operands: Vec<usize> = (0..self.flat.operands.len())
                .filter(|operand| phase.has(&self.flat.operands[*operand]))
                .collect();
            if !operands.is_empty() {
                nodes.push(self.compute(result, phase, &operands)?);
            }
        }
        let shape = || result.iter().map(|axis| self.size(axis, phases.first().copied())).collect();
        if nodes.len() > 1 && self.usage.reduce == "mean" {
            let span = result.first().map_or_else(Default::default, |axis| axis.span);
            return Err(Mistake::spec(
                &self.flat.text,
                "a mean over the parts of a concatenation is not defined",
                span,
                "",
            )
            .with_help("take the sum, and divide by the number of elements"));
        }
        match nodes.len() {
            0 => self.needs_sum(result).map(|()| Recipe::Zeros(shape())),
            1 => Ok(nodes.remove(0)),
            _ => Ok(Recipe::Accumulate(nodes)),
        }
    }

    fn compute(&self, result: &[Axis], phase: &Phase, operands: &[usize]) -> Result<Recipe, Mistake> {
        let order: Vec<usize> =
            phase.order(result).into_iter().flat_map(|label| self.flat.parts(label)).collect();
        let mut unique: Vec<usize> = Vec::new();
        for label in &order {
            if !unique.contains(label) {
                unique.push(*label);
            }
        }
        let mut reads = Vec::new();
        for operand in operands {
            let (steps, labels) = self.read(*operand, phase)?;
            reads.push((*operand, steps, labels));
        }
        let all: Vec<usize> = reads.iter().flat_map(|(_, _, labels)| labels.iter().copied()).collect();
        let present: Vec<usize> = unique.iter().copied().filter(|label| all.contains(label)).collect();
        self.check_elements(&all, &present)?;
        let mut write = Vec::new();
        let kept = match &reads[..] {
            [(_, _, labels)] => {
                self.reduce(labels, &present, &mut write);
                None
            }
            _ => Some(present.clone()),
        };
        self.repeat(&present, &unique, &mut write);
        self.write(result, phase, unique, &order, &mut write)?;
        Ok(Recipe::Compute { reads, kept, write })
    }

    /// Refuses the greatest and the least of no elements, which no number is.
    fn check_elements(&self, labels: &[usize], present: &[usize]) -> Result<(), Mistake> {
        let empty = |label: &&usize| self.sizes[**label] == 0 && !present.contains(label);
        let Some(label) = labels.iter().find(empty).filter(|_| matches!(self.usage.reduce, "max" | "min"))
        else {
            return Ok(());
        };
        let label = &self.flat.labels[*label];
        let which = if self.usage.reduce == "max" { "greatest" } else { "least" };
        let message = format!("of no elements none is the {which}: `{}` is 0", label.shown(&self.flat.text));
        Err(Mistake::shape(&self.flat.text, message, label.span, "reduced, and empty"))
    }

    /// The steps that read an operand, and the labels of the axes that they leave.
    fn read(&self, operand: usize, phase: &Phase) -> Result<(Vec<ArrayStep>, Vec<usize>), Mistake> {
        let mut steps = Vec::new();
        let forms = self.take_apart(operand, &mut steps);
        let picks: Vec<Pick> = forms.iter().map(|form| self.pick(form, phase)).collect();
        if picks.iter().any(|pick| *pick != Pick::All) {
            steps.push(ArrayStep::Index(picks));
        }
        let forms: Vec<AxisForm> =
            forms.into_iter().filter(|form| !matches!(form, AxisForm::Fixed(_))).collect();
        self.pad_windows(&forms, &mut steps)?;
        let mut labels = Vec::new();
        for form in &forms {
            match form {
                AxisForm::Affine(affine, over, Some(kernel)) => {
                    steps.push(self.window(labels.len(), affine, *over, *kernel));
                    labels.extend([*over, *kernel]);
                }
                AxisForm::Concat(parts) => labels.extend(parts.iter().filter(|part| phase.runs(**part))),
                _ => labels.extend(form.labels()),
            }
        }
        let parts: Vec<usize> = labels.iter().flat_map(|label| self.flat.parts(*label)).collect();
        if parts != labels {
            steps.push(ArrayStep::Reshape(self.sizes_of(&parts)));
            labels = parts;
        }
        diagonals(&mut labels, &mut steps);
        Ok((steps, labels))
    }

    /// Takes composed axes apart.
    fn take_apart(&self, operand: usize, steps: &mut Vec<ArrayStep>) -> Vec<AxisForm> {
        let axes = &self.flat.operands[operand];
        let mut shape = Vec::new();
        let mut forms = Vec::new();
        for (axis, size) in axes.iter().zip(&self.given.shapes[operand]) {
            match &axis.form {
                AxisForm::Group(parts) => {
                    shape.extend(parts.iter().map(|part| self.sizes[*part]));
                    forms.extend(parts.iter().map(|part| AxisForm::Label(*part)));
                }
                form => {
                    shape.push(*size);
                    forms.push(form.clone());
                }
            }
        }
        let has_groups = axes.iter().any(|axis| matches!(axis.form, AxisForm::Group(_)));
        if has_groups {
            steps.push(ArrayStep::Reshape(shape));
        }
        forms
    }

    fn pick(&self, form: &AxisForm, phase: &Phase) -> Pick {
        match form {
            AxisForm::Fixed(index) => Pick::At(*index),
            AxisForm::Affine(affine, over, None) => {
                let (count, start) = (self.sizes[*over], Size::from(affine.offset));
                let stop = if count == 0 { start } else { start + (count - 1) * affine.stride + 1 };
                Pick::Range(start, stop, affine.stride)
            }
            AxisForm::Concat(parts) => {
                let before =
                    parts.iter().take_while(|part| !phase.runs(**part)).map(|part| self.sizes[*part]).sum();
                let size =
                    parts.iter().find(|part| phase.runs(**part)).map_or(Size::ZERO, |part| self.sizes[*part]);
                Pick::Range(before, before + size, 1)
            }
            _ => Pick::All,
        }
    }

    fn pad_windows(&self, forms: &[AxisForm], steps: &mut Vec<ArrayStep>) -> Result<(), Mistake> {
        let margins = |form: &AxisForm| match form {
            AxisForm::Affine(affine, _, Some(kernel)) => self.margins(affine, *kernel),
            _ => Ok(NONE),
        };
        let margins: Vec<(Size, Size)> = forms.iter().map(margins).collect::<Result<_, _>>()?;
        if margins.iter().any(|margin| *margin != NONE) {
            let fill = if self.usage.reduce == "mean" { "sum" } else { self.usage.reduce };
            steps.push(ArrayStep::Pad { margins, fill });
        }
        Ok(())
    }

    /// The margins of an axis that a window goes along.
    fn margins(&self, affine: &Affine, kernel: usize) -> Result<(Size, Size), Mistake> {
        let label = &self.flat.labels[kernel];
        let message =
            || format!("how far the window `{}` reaches depends on its size", label.shown(&self.flat.text));
        affine
            .margins(self.sizes[kernel])
            .ok_or_else(|| Mistake::shape(&self.flat.text, message(), label.span, ""))
    }

    fn window(&self, axis: usize, affine: &Affine, over: usize, kernel: usize) -> ArrayStep {
        ArrayStep::Window {
            axis,
            start: affine.offset,
            over: self.sizes[over],
            kernel: self.sizes[kernel],
            stride: affine.stride,
            dilation: affine.window.map_or(1, |window| window.dilation),
        }
    }

    /// Reduces `labels` to `present`, in that order.
    fn reduce(&self, labels: &[usize], present: &[usize], steps: &mut Vec<ArrayStep>) {
        let gone: Vec<usize> = (0..labels.len()).filter(|axis| !present.contains(&labels[*axis])).collect();
        if !gone.is_empty() {
            steps.push(ArrayStep::Reduce(self.usage.reduce, gone));
        }
        let left: Vec<usize> = labels.iter().copied().filter(|label| present.contains(label)).collect();
        permute(&left, present, steps);
    }

    /// Repeats along the labels that no operand has.
    fn repeat(&self, present: &[usize], unique: &[usize], steps: &mut Vec<ArrayStep>) {
        if present.len() == unique.len() {
            return;
        }
        let full = self.sizes_of(unique);
        let narrow =
            unique.iter().map(|label| if present.contains(label) { self.sizes[*label] } else { Size::ONE });
        let narrow: Vec<Size> = narrow.collect();
        let widens = narrow != full;
        steps.push(ArrayStep::Reshape(narrow));
        if widens {
            steps.push(ArrayStep::Broadcast(full));
        }
    }

    fn needs_sum(&self, result: &[Axis]) -> Result<(), Mistake> {
        if self.usage.reduce == "sum" {
            return Ok(());
        }
        let span =
            result.iter().find(|axis| self.leaves_gaps(axis)).map_or_else(Default::default, |axis| axis.span);
        let message = "the result has elements that nothing writes";
        Err(Mistake::spec(&self.flat.text, message, span, "only a sum has a value for them: 0")
            .with_help("reduce first, and write the result in a second step with `bl.einsum`"))
    }

    fn leaves_gaps(&self, axis: &Axis) -> bool {
        match &axis.form {
            AxisForm::Fixed(index) => *index > 0,
            AxisForm::Affine(..) | AxisForm::Concat(_) => true,
            AxisForm::Label(_) | AxisForm::Group(_) => false,
        }
    }

    /// Writes an array whose axes are `unique` to the axes of the result.
    fn write(
        &self,
        result: &[Axis],
        phase: &Phase,
        mut have: Vec<usize>,
        order: &[usize],
        steps: &mut Vec<ArrayStep>,
    ) -> Result<(), Mistake> {
        if order.len() > have.len()
            || result.iter().any(|axis| !matches!(axis.form, AxisForm::Concat(_)) && self.leaves_gaps(axis))
        {
            self.needs_sum(result)?;
        }
        for (at, label) in order.iter().enumerate().skip(1) {
            if order[..at].contains(label) {
                let axis = have.iter().position(|other| other == label).unwrap_or(0);
                steps.push(ArrayStep::Embed(axis));
                have.push(*label);
            }
        }
        permute(&have, order, steps);
        let whole = phase.order(result);
        if whole != order {
            steps.push(ArrayStep::Reshape(self.sizes_of(&whole)));
        }
        self.fold_windows(result, phase, steps)?;
        self.compose(result, phase, steps);
        Ok(())
    }

    fn fold_windows(
        &self,
        result: &[Axis],
        phase: &Phase,
        steps: &mut Vec<ArrayStep>,
    ) -> Result<(), Mistake> {
        let mut at: usize = result.iter().map(|axis| phase.labels(axis).len()).sum();
        let mut picks = Vec::new();
        let mut margins = Vec::new();
        for axis in result.iter().rev() {
            let count = phase.labels(axis).len();
            at -= count;
            let AxisForm::Affine(affine, over, Some(kernel)) = &axis.form else {
                picks.extend(vec![Pick::All; count]);
                margins.extend(vec![NONE; count]);
                continue;
            };
            let dilation = affine.window.map_or(1, |window| window.dilation);
            steps.push(ArrayStep::Fold { axis: at, stride: affine.stride, dilation });
            let left = self.margins(affine, *kernel)?.0;
            let (over, kernel) = (self.sizes[*over], self.sizes[*kernel]);
            let size = affine.size(over, Some(kernel));
            let full = Affine {
                offset: 0,
                window: affine
                    .window
                    .map(|window| broadloom_core::Window { padding: Padding::Valid, ..window }),
                ..*affine
            };
            let full = full.size(over, Some(kernel));
            // Position 0 of the folded windows is at `offset - left` of the axis.
            let or_zero = |size: Size| self.given.conditions.or_zero(size);
            let (before, cut) = (or_zero(-left + affine.offset), or_zero(left - affine.offset));
            let after = or_zero(size + cut - before - full);
            margins.push((before, after));
            picks.push(if before + full + after == size {
                Pick::All
            } else {
                Pick::Range(cut, cut + size, 1)
            });
        }
        margins.reverse();
        picks.reverse();
        if margins.iter().any(|margin| *margin != NONE) {
            steps.push(ArrayStep::Pad { margins, fill: "sum" });
        }
        if picks.iter().any(|pick| *pick != Pick::All) {
            steps.push(ArrayStep::Index(picks));
        }
        Ok(())
    }

    /// Puts composed axes together, and writes indices and strides.
    fn compose(&self, result: &[Axis], phase: &Phase, steps: &mut Vec<ArrayStep>) {
        let mut spread = Spread::default();
        for axis in result {
            match &axis.form {
                AxisForm::Fixed(index) => spread.push(&[], (*index, 0), Size::from(*index) + 1, 0),
                AxisForm::Affine(affine, over, None) => {
                    let (size, offset, stride) = (self.sizes[*over], affine.offset, affine.stride);
                    let (before, after, front) = match offset < stride {
                        true => (offset, stride - 1 - offset, 0),
                        false => (stride - 1, 0, offset + 1 - stride),
                    };
                    spread.push(&[size], (before, after), size * stride, front);
                }
                AxisForm::Group(parts) => {
                    spread.push_plain(&self.sizes_of(parts));
                }
                _ => spread.push_plain(&[self.size(axis, Some(phase))]),
            }
        }
        spread.steps(steps);
    }

    fn sizes_of(&self, labels: &[usize]) -> Vec<Size> {
        labels.iter().map(|label| self.sizes[*label]).collect()
    }

    /// The size of an axis of a result in a phase.
    fn size(&self, axis: &Axis, phase: Option<&Phase>) -> Size {
        match (&axis.form, phase) {
            (AxisForm::Fixed(index), _) => Size::from(*index) + 1,
            (AxisForm::Concat(parts), Some(phase)) => {
                parts.iter().find(|part| phase.runs(**part)).map_or(Size::ZERO, |part| self.sizes[*part])
            }
            (AxisForm::Affine(affine, over, kernel), _) => {
                affine.size(self.sizes[*over], kernel.map(|kernel| self.sizes[kernel]))
            }
            (form, _) => form.labels().iter().map(|label| self.sizes[*label]).product(),
        }
    }
}
