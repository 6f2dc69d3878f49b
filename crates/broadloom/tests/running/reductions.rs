//! Gradients of every reduction of every combination of one to four operands, with equal candidates
//! among them: in each way to run them, compared with the definition, which enumerates all
//! candidates.

use broadloom::{Accumulate, Array, Combine, Dtype, Error, Graph, Routine, Session, SpecOptions, Tensor};
use broadloom_testing::Dice;

use crate::numbers::treatments;

const SIZES: [(char, usize); 4] = [('i', 3), ('j', 4), ('k', 2), ('l', 5)];

/// Specs by their numbers of operands. Each operand is a list of labels; so is the result.
const SPECS: [&str; 13] = [
    "i j => i",
    "i j => j i",
    "i j => ",
    "i j; j => i",
    "i j; j k => i k",
    "i; j => ",
    "i j; i j => i j",
    "i; i j; j => j",
    "i j; j k; k l => i l",
    "i; j; k => j",
    "i; i j; j k; k => k",
    "i j; j; k; k l => i l",
    "i; i; i; i => ",
];

const REDUCTIONS: [Accumulate; 4] = [Accumulate::Sum, Accumulate::Product, Accumulate::Max, Accumulate::Min];

fn labels(text: &str) -> Vec<char> {
    text.chars().filter(char::is_ascii_lowercase).collect()
}

fn size(label: char) -> usize {
    SIZES.iter().find(|(known, _)| *known == label).map_or(1, |(_, size)| *size)
}

/// The offset of an element whose labels have some values.
fn offset(labels: &[char], at: &[usize; 4]) -> usize {
    let value = |label: &char| at[SIZES.iter().position(|(known, _)| known == label).unwrap_or(0)];
    labels.iter().fold(0, |offset, label| offset * size(*label) + value(label))
}

struct Case {
    spec: &'static str,
    combine: Combine,
    reduce: Accumulate,
    operands: Vec<Vec<char>>,
    result: Vec<char>,
    values: Vec<Vec<f64>>,
    /// The gradient that arrives at each element of the result.
    weights: Vec<f64>,
}

impl Case {
    fn new(spec: &'static str, combine: Combine, reduce: Accumulate, dice: &mut Dice) -> Case {
        let (left, right) = spec.split_once("=>").expect("an arrow");
        let operands: Vec<Vec<char>> = left.split(';').map(labels).collect();
        let result = labels(right);
        let count = |labels: &[char]| labels.iter().map(|label| size(*label)).product::<usize>();
        // Small whole numbers, so that candidates are often equal, and products have some zeros.
        let numbers: &[f64] = &[1.0, 2.0, 0.0, -1.0, -2.0];
        let mut drawn =
            |labels: &[char]| (0..count(labels)).map(|_| *dice.one(numbers)).collect::<Vec<f64>>();
        let values = operands.iter().map(|operand| drawn(operand)).collect();
        let weights = drawn(&result);
        Case { spec, combine, reduce, operands, result, values, weights }
    }

    /// All labels of the case with all their values.
    fn points(&self) -> Vec<[usize; 4]> {
        let used = |at: usize| self.operands.iter().flatten().any(|label| *label == SIZES[at].0);
        let mut points = vec![[0; 4]];
        for at in (0..4).filter(|at| used(*at)) {
            let each = |point: [usize; 4]| {
                (0..SIZES[at].1).map(move |value| {
                    let mut point = point;
                    point[at] = value;
                    point
                })
            };
            points = points.into_iter().flat_map(each).collect();
        }
        points
    }

    fn factor(&self, operand: usize, at: &[usize; 4]) -> f64 {
        self.values[operand][offset(&self.operands[operand], at)]
    }

    fn candidate(&self, at: &[usize; 4]) -> f64 {
        let factors = (0..self.operands.len()).map(|operand| self.factor(operand, at));
        match self.combine {
            Combine::Product => factors.product(),
            Combine::Sum => factors.sum(),
            Combine::Where => self.factor(if self.factor(0, at) != 0.0 { 1 } else { 2 }, at),
        }
    }

    /// The gradients of all operands by definition.
    fn gradients(&self) -> Vec<Vec<f64>> {
        let points = self.points();
        let mut gradients: Vec<Vec<f64>> = self.values.iter().map(|values| vec![0.0; values.len()]).collect();
        for at in &points {
            let cell = offset(&self.result, at);
            let rivals = points.iter().filter(|other| offset(&self.result, other) == cell);
            let others = rivals.clone().filter(|other| *other != at).map(|other| self.candidate(other));
            let rivals: Vec<f64> = rivals.map(|other| self.candidate(other)).collect();
            let own = self.candidate(at);
            let share = |best: f64| {
                let equals = rivals.iter().filter(|rival| **rival == best).count();
                if own == best { 1.0 / equals as f64 } else { 0.0 }
            };
            let by_candidate = match self.reduce {
                Accumulate::Sum => 1.0,
                Accumulate::Product => others.product(),
                Accumulate::Max => share(rivals.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
                Accumulate::Min => share(rivals.iter().copied().fold(f64::INFINITY, f64::min)),
            };
            for (operand, gradient) in gradients.iter_mut().enumerate() {
                let others = (0..self.operands.len()).filter(|other| *other != operand);
                let by_operand = match self.combine {
                    Combine::Product => others.map(|other| self.factor(other, at)).product(),
                    Combine::Sum => 1.0,
                    Combine::Where => f64::from(operand == if self.factor(0, at) != 0.0 { 1 } else { 2 }),
                };
                gradient[offset(&self.operands[operand], at)] +=
                    self.weights[cell] * by_candidate * by_operand;
            }
        }
        gradients
    }

    fn array(labels: &[char], values: &[f64]) -> Array {
        let sizes: Vec<u64> = labels.iter().map(|label| size(*label) as u64).collect();
        Array::from_slice(&sizes, values).expect("as many as there are")
    }

    fn shape(labels: &[char]) -> String {
        labels.iter().map(|label| size(*label).to_string()).collect::<Vec<_>>().join(", ")
    }

    /// Adds the case to a graph: its operands, and the number that is differentiated.
    fn build(&self, g: &mut Graph, number: usize) -> Result<(Vec<Tensor>, Tensor), Error> {
        let mut operands = Vec::new();
        for (at, labels) in self.operands.iter().enumerate() {
            operands.push(g.param_shaped(&format!("p{number}_{at}"), &Case::shape(labels))?);
        }
        let options =
            SpecOptions { accumulate: self.reduce, combine: self.combine, ..SpecOptions::default() };
        let made = g.einsum_with(self.spec, &operands, &options)?;
        let name = format!("weights{number}");
        let weights = g.array(&name, "...", Case::array(&self.result, &self.weights).convert(Dtype::F64))?;
        let weighted = g.mul(made, weights)?;
        Ok((operands, g.einsum("... | ... -> ... => 0", &[weighted])?))
    }
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * a.abs().max(b.abs()).max(1.0)
}

#[test]
fn gradients_of_every_reduction() -> Result<(), Error> {
    let mut dice = Dice::new(15);
    let mut cases = Vec::new();
    for spec in SPECS {
        let three = spec.matches(';').count() == 2;
        let choice = if three { &[Combine::Where][..] } else { &[] };
        for combine in [Combine::Product, Combine::Sum].iter().chain(choice).copied() {
            cases.extend(REDUCTIONS.map(|reduce| Case::new(spec, combine, reduce, &mut dice)));
        }
    }
    for (treatment, settings) in treatments() {
        let mut g = Graph::new();
        g.set_default_precision(Dtype::F64);
        let built = cases.iter().enumerate().map(|(number, case)| case.build(&mut g, number));
        let built = built.collect::<Result<Vec<_>, Error>>()?;
        let mut total = built[0].1;
        for (_, loss) in &built[1..] {
            total = g.add(total, *loss)?;
        }
        let mut gradients = Vec::new();
        for (operands, _) in &built {
            gradients
                .push(operands.iter().map(|operand| g.gradient(*operand)).collect::<Result<Vec<_>, _>>()?);
        }
        let mut routine = Routine::new("all");
        routine.backward(&mut g, total)?;
        gradients.iter().flatten().for_each(|gradient| {
            routine.keep(*gradient);
        });
        let mut session = Session::with(g, settings)?;
        for (case, (operands, _)) in cases.iter().zip(&built) {
            for ((operand, labels), values) in operands.iter().zip(&case.operands).zip(&case.values) {
                session.set(*operand, &Case::array(labels, values).convert(Dtype::F64))?;
            }
        }
        session.run(&routine)?;
        for (case, tensors) in cases.iter().zip(&gradients) {
            for (operand, (tensor, expected)) in tensors.iter().zip(case.gradients()).enumerate() {
                let found = session.get(*tensor)?.to_f64s();
                let agree = found.iter().zip(&expected).all(|(a, b)| close(*a, *b));
                let Case { spec, combine, reduce, .. } = case;
                assert!(
                    agree,
                    "{treatment}: {spec}, {combine:?}, {reduce:?}, operand {operand}: {found:?}, not {expected:?}"
                );
            }
        }
    }
    Ok(())
}
