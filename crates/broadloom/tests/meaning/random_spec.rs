//! Random specs: labels that repeat, are missing or are new, indices, wildcards, holes, composed axes, strides and windows.

use broadloom_testing::Dice;

use crate::meaning::array::Size;
use crate::meaning::case::{Case, Operation, Source};
use crate::meaning::draft::{Axis, Draft, Factor, Part, Row, Shape, Window};
use crate::meaning::notation::Use;
use crate::meaning::random_broadcast::MOST_POINTS;

const LETTERS: [&str; 5] = ["a", "b", "c", "i", "j"];
const WORDS: [&str; 5] = ["oh", "kw", "x1", "time", "pq_d"];

/// The features of a random spec.
#[derive(Clone, Copy)]
pub struct Taste {
    /// True if there are strides and windows.
    pub affine: bool,
    /// True if results may have padded axes.
    pub padded_results: bool,
    /// The most axes of a row, apart from holes.
    pub axes: usize,
}

/// A random operation by a spec.
pub fn einsum(random: &mut Dice, taste: Taste) -> Case {
    loop {
        let mut draft = labels(random, taste);
        let marked = random.percent(80);
        let padded = random.percent(50);
        let mut makes = Makes { random, taste, marked, padded };
        let arity = 1 + makes.random.below(3);
        draft.operands = (0..arity).map(|_| makes.shape(&draft, false)).collect();
        let results = if marked && makes.random.percent(8) { 2 } else { 1 };
        // A hole that only a result has is empty, and a label that only a result has is a unit
        // unless its size is set.
        for (hole, axes) in draft.holes.iter_mut().enumerate() {
            let rows = draft.operands.iter().flatten();
            if !rows.clone().any(|row| row.hole == Some(hole)) {
                axes.clear();
            }
        }
        draft.results = (0..results).map(|_| makes.shape(&draft, true)).collect();
        if let Some(case) = finish(makes.random, draft, marked, padded) {
            return case;
        }
    }
}

/// Labels and holes with sizes.
fn labels(random: &mut Dice, taste: Taste) -> Draft {
    let count = 1 + random.below(5);
    let names = if random.percent(70) { LETTERS } else { WORDS };
    let size = |random: &mut Dice, unit: usize| match random.below(100) {
        roll if roll < unit => Size::Unit,
        _ => Size::Count(1 + random.below(4) as u64),
    };
    let unit = if taste.affine { 0 } else { 6 };
    let sizes = (0..count).map(|_| size(random, unit)).collect();
    let holes = [(); 5].map(|()| {
        let rank = random.below(3);
        (0..rank).map(|_| size(random, 8)).collect()
    });
    Draft { names: names[..count].to_vec(), sizes, holes, operands: Vec::new(), results: Vec::new() }
}

struct Makes<'a> {
    random: &'a mut Dice,
    taste: Taste,
    /// True if windows state their padding, and the default if they do not.
    marked: bool,
    padded: bool,
}

impl Makes<'_> {
    fn shape(&mut self, draft: &Draft, result: bool) -> Shape {
        let mut taken: Vec<usize> = Vec::new();
        let rich = [30, 30, 90];
        [0, 1, 2].map(|kind| {
            let mut row = Row::default();
            if !self.random.percent(rich[kind]) {
                return row;
            }
            row.trail = self.axes(draft, result);
            if self.random.percent(30) {
                let named = 3 + self.random.below(2);
                let hole = if self.random.percent(50) { kind } else { named };
                // A hole that is in one tensor twice is a diagonal of holes.
                if !taken.contains(&hole) || self.random.percent(30) {
                    taken.push(hole);
                    row.hole = Some(hole);
                    let split = self.random.below(row.trail.len() + 1);
                    row.lead = row.trail.drain(..split).collect();
                }
            }
            row
        })
    }

    fn axes(&mut self, draft: &Draft, result: bool) -> Vec<Axis> {
        let count = self.random.below(self.taste.axes + 1);
        (0..count).map(|_| self.axis(draft, result)).collect()
    }

    fn axis(&mut self, draft: &Draft, result: bool) -> Axis {
        let label = self.random.below(draft.sizes.len());
        if self.taste.affine && self.random.percent(45) {
            return self.sum(draft, label, result);
        }
        match self.random.below(100) {
            0..10 => {
                let at = self.random.below(4) as u64;
                let size = match (result, at) {
                    (true, 0) => Size::Unit,
                    (true, _) => Size::Count(at + 1),
                    (false, 0) if self.random.percent(15) => Size::Unit,
                    (false, _) => Size::Count(at + 1 + self.random.below(2) as u64),
                };
                Axis::Fixed(at, size)
            }
            10..17 if result => Axis::Wild(Size::Unit),
            10..17 if self.random.percent(15) => Axis::Wild(Size::Unit),
            10..17 => Axis::Wild(Size::Count(1 + self.random.below(3) as u64)),
            17..32 => self.composed(draft),
            _ => Axis::Label(label),
        }
    }

    fn composed(&mut self, draft: &Draft) -> Axis {
        let count = self.random.below(4);
        let part = |_| match self.random.percent(75) {
            true => Part::Label(self.random.below(draft.sizes.len())),
            false => Part::Gap(1 + self.random.below(3) as u64),
        };
        let parts: Vec<Part> = (0..count).map(part).collect();
        // A single label in parentheses is that label.
        if let [Part::Label(label)] = parts[..] { Axis::Label(label) } else { Axis::Composed(parts) }
    }

    fn sum(&mut self, draft: &Draft, over: usize, result: bool) -> Axis {
        let mut factor = |most: usize, name: &'static str| {
            // A name has only one value, to keep it simple.
            if !self.marked && self.random.percent(50) {
                return Factor { value: 2, name: Some(name) };
            }
            Factor { value: 1 + self.random.below(most) as u64, name: None }
        };
        let (stride, dilation) = (factor(3, "s"), factor(2, "d"));
        let kernel = self.random.below(draft.sizes.len());
        let windowed = kernel != over && self.random.percent(60);
        let padded = if self.marked { self.random.percent(50) } else { self.padded };
        let windowed = windowed && !(result && padded && !self.taste.padded_results);
        let window = windowed.then_some(Window { dilation, kernel, padded, marked: self.marked });
        let offset = if self.random.percent(35) { 1 + self.random.below(3) as u64 } else { 0 };
        let nothing = stride.name.is_none() && stride.value == 1 && offset == 0 && window.is_none();
        if nothing { Axis::Label(over) } else { Axis::Sum { stride, over, offset, window } }
    }
}

/// Makes a case of a draft, if it is small enough.
pub fn finish(random: &mut Dice, mut draft: Draft, marked: bool, padded: bool) -> Option<Case> {
    // What arithmetic says is a size, also if it is one.
    let composed = |axis: &&Axis| matches!(axis, Axis::Composed(_));
    let counted: Vec<usize> =
        draft.shapes().flatten().flat_map(Row::axes).filter(composed).flat_map(Draft::labels).collect();
    for label in counted {
        draft.sizes[label] = Size::Count(draft.count(label));
    }
    let in_operands = draft.used(&draft.operands);
    let in_results = draft.used(&draft.results);
    let mut alone: Vec<bool> = vec![true; draft.sizes.len()];
    for axis in draft.shapes().flatten().flat_map(Row::axes) {
        if !matches!(axis, Axis::Label(_)) {
            Draft::labels(axis).into_iter().for_each(|label| alone[label] = false);
        }
    }
    let determined = draft.determined();
    let mut set = Vec::new();
    for label in 0..draft.sizes.len() {
        let used = in_operands[label] || in_results[label];
        let new = !in_operands[label] && alone[label];
        if !used || (new && random.percent(60)) {
            // Its size is not determined.
            draft.sizes[label] = Size::Unit;
        } else if !determined[label] || random.percent(10) {
            set.push(label);
        }
        if draft.sizes[label] == Size::Unit {
            if set.last() == Some(&label) && new {
                draft.sizes[label] = Size::Count(1);
            } else {
                set.retain(|other| *other != label);
            }
        }
    }
    if draft.points() > MOST_POINTS || draft.rank() > 4 {
        return None;
    }
    let sizes = set.iter().map(|label| (String::from(draft.names[*label]), draft.count(*label))).collect();
    let spec = draft.text(random);
    if draft.names.iter().any(|name| name.len() > 1) && !spec.contains([',', '+', '*', '^', '<']) {
        return None;
    }
    let sums = || draft.shapes().flatten().flat_map(Row::axes);
    let named = |name: &str| {
        sums().any(|axis| match axis {
            Axis::Sum { stride, window, .. } => {
                let dilation = window.as_ref().and_then(|window| window.dilation.name);
                stride.name == Some(name) || dilation == Some(name)
            }
            _ => false,
        })
    };
    let windows = sums().any(|axis| matches!(axis, Axis::Sum { window: Some(_), .. }));
    let coefficients = ["s", "d"].into_iter().filter(|name| named(name)).map(|name| (name, 2)).collect();
    let padding = (!marked && windows).then_some(padded);
    let usage = Use { spec, padding, coefficients, sizes };

    let mut sources: Vec<Source> = Vec::new();
    let mut forms = Vec::new();
    for shape in &draft.operands {
        let form = draft.form(shape);
        let same = forms.iter().position(|other| *other == form);
        sources.push(match same {
            Some(same) if random.percent(40) => Source::Same(same),
            _ => Source::Data(form.clone()),
        });
        forms.push(form);
    }
    let mut reader = None;
    if let Some(Axis::Fixed(at, size)) = draft.results[0][2].trail.last_mut()
        && random.percent(30)
    {
        // Another operation reads further along the axis, so that it is longer.
        reader = Some(format!("... | ... -> ..., {} => 0", *at + 2));
        *size = Size::Count(*at + 3);
    }
    let expected = Some(draft.results.iter().map(|shape| draft.form(shape)).collect());
    Some(Case { sources, operation: Operation::Einsum(usage), expected, reader })
}
