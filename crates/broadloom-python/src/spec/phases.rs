//! The phases of a spec with concatenations: each choice of one part for each of them.

use super::mistake::Mistake;
use super::ranks::{Axis, AxisForm, Flat};

/// A choice of one part for each concatenation.
#[derive(Clone, Debug)]
pub struct Phase {
    /// For each label: true if its loop runs. Labels outside concatenations always run.
    running: Vec<bool>,
}

impl Phase {
    /// Returns true if the loop of a label runs.
    pub fn runs(&self, label: usize) -> bool {
        self.running[label]
    }

    /// Returns true if an array takes part.
    pub fn has(&self, axes: &[Axis]) -> bool {
        axes.iter().all(|axis| match &axis.form {
            AxisForm::Concat(parts) => parts.iter().any(|part| self.runs(*part)),
            form => form.labels().iter().all(|label| self.runs(*label)),
        })
    }

    /// The labels of an axis that run.
    pub fn labels(&self, axis: &Axis) -> Vec<usize> {
        match &axis.form {
            AxisForm::Concat(parts) => parts.iter().copied().filter(|part| self.runs(*part)).collect(),
            form => form.labels(),
        }
    }

    /// The labels of an array that run, axis by axis.
    pub fn order(&self, axes: &[Axis]) -> Vec<usize> {
        axes.iter().flat_map(|axis| self.labels(axis)).collect()
    }

    /// The parts of a composed axis run where an array with a concatenation has them: those of `(j k)` in `i^(j k)` do not run beside `i`.
    fn with_parts(mut self, flat: &Flat) -> Phase {
        let is_concat = |axis: &Axis| matches!(axis.form, AxisForm::Concat(_));
        let tensors = flat.operands.iter().chain(&flat.results);
        let joined: Vec<&Vec<Axis>> = tensors.filter(|axes| axes.iter().any(is_concat)).collect();
        for part in flat.composed.iter().flat_map(|(_, parts)| parts) {
            let stands = |axes: &&&Vec<Axis>| axes.iter().any(|axis| flat.parts_of(axis).contains(part));
            let runs =
                |axes: &Vec<Axis>| self.order(axes).iter().any(|label| flat.parts(*label).contains(part));
            let own: Vec<&&Vec<Axis>> = joined.iter().filter(stands).collect();
            let running = own.is_empty() || own.iter().any(|axes| runs(axes));
            self.running[*part] = running;
        }
        self
    }
}

/// All phases; one if there is no concatenation.
pub fn phases(flat: &Flat) -> Result<Vec<Phase>, Mistake> {
    let classes = classes(flat)?;
    let mut running = vec![true; flat.labels.len()];
    for label in classes.iter().flatten() {
        running[*label] = false;
    }
    let mut phases = vec![Phase { running }];
    for class in &classes {
        let firsts = (0..class.len()).filter(|at| !has_loop(flat, &class[..*at], class[*at]));
        let firsts: Vec<usize> = firsts.map(|at| class[at]).collect();
        let choose = |phase: &Phase| {
            let chosen = |first: &usize| {
                let mut phase = phase.clone();
                for label in class.iter().filter(|label| has_loop(flat, &[*first], **label)) {
                    phase.running[*label] = true;
                }
                phase
            };
            firsts.iter().map(chosen).collect::<Vec<_>>()
        };
        phases = phases.iter().flat_map(choose).collect();
        check_count(flat, phases.len())?;
    }
    let phases: Vec<Phase> = phases.into_iter().map(|phase| phase.with_parts(flat)).collect();
    check_operands(flat, &classes, &phases)?;
    Ok(phases)
}

/// Returns true if one of `labels` has the loops of `label`: it is the same, or composed of the same parts in some order.
fn has_loop(flat: &Flat, labels: &[usize], label: usize) -> bool {
    let loops = |label: usize| {
        let mut parts = flat.parts(label);
        parts.sort_unstable();
        parts
    };
    labels.iter().any(|other| loops(*other) == loops(label))
}

/// The labels that run one after another, because concatenations connect them.
fn classes(flat: &Flat) -> Result<Vec<Vec<usize>>, Mistake> {
    let mut classes: Vec<Vec<usize>> = Vec::new();
    for axis in flat.operands.iter().chain(&flat.results).flatten() {
        let AxisForm::Concat(parts) = &axis.form else { continue };
        if (1..parts.len()).any(|at| has_loop(flat, &parts[..at], parts[at])) {
            return Err(Mistake::spec(&flat.text, "a label cannot be two parts of one axis", axis.span, "")
                .with_help("write `a; b => a^b`, and pass the array twice"));
        }
        let mut class = parts.clone();
        classes.retain(|other| {
            let meets = other.iter().any(|label| has_loop(flat, parts, *label));
            if meets {
                class.extend(other.iter().filter(|label| !parts.contains(label)));
            }
            !meets
        });
        classes.push(class);
    }
    Ok(classes)
}

fn check_count(flat: &Flat, count: usize) -> Result<(), Mistake> {
    const LIMIT: usize = 4096;
    match count > LIMIT {
        true => {
            let span = flat
                .operands
                .first()
                .and_then(|axes| axes.first())
                .map_or_else(Default::default, |axis| axis.span);
            Err(Mistake::spec(
                &flat.text,
                "the spec has too many concatenations",
                span,
                format!("more than {LIMIT} pieces"),
            ))
        }
        false => Ok(()),
    }
}

/// Refuses operands that never take part, and two that would fill the same part.
fn check_operands(flat: &Flat, classes: &[Vec<usize>], phases: &[Phase]) -> Result<(), Mistake> {
    let first = |axes: &[Axis]| axes.first().map_or_else(Default::default, |axis| axis.span);
    for operand in &flat.operands {
        if !phases.iter().any(|phase| phase.has(operand)) {
            let message =
                "the parts of a concatenation run one after another, so this array never takes part";
            let span =
                operand.first().zip(operand.last()).map_or_else(Default::default, |(a, b)| a.span.to(b.span));
            return Err(Mistake::spec(&flat.text, message, span, "it has several of them").with_help(
                "`a; b => a^b` puts two arrays one after another; `(a b)` joins two axes of one",
            ));
        }
    }
    let inside: Vec<usize> = classes.iter().flatten().flat_map(|label| flat.parts(*label)).collect();
    let is_part = |label: &usize| inside.contains(label) || classes.iter().any(|class| class.contains(label));
    let has_part = |axes: &[Axis]| axes.iter().any(|axis| axis.form.labels().iter().any(is_part));
    for phase in phases {
        let mut filling = flat.operands.iter().filter(|axes| has_part(axes) && phase.has(axes));
        if let (Some(one), Some(two)) = (filling.next(), filling.next()) {
            return Err(Mistake::spec(
                &flat.text,
                "two arrays would fill the same part",
                first(two),
                "the second",
            )
            .with_place(first(one), "the first")
            .with_help("give each labels of its own; or combine them first, and concatenate the result"));
        }
    }
    Ok(())
}
