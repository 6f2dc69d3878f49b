//! Elements at integers and scattered elements, with their gradients, beside loops written by hand.

use broadloom::{Accumulate, Array, Error, Graph, Routine, Session, Settings, Tensor};
use broadloom_testing::Dice;

use crate::numbers::{apart, close, treatments};

/// A random problem: `x` has `n` elements of `width` numbers, `ids` as many integers as `sizes` multiply to.
struct Problem {
    n: u64,
    width: u64,
    sizes: Vec<u64>,
    ids: Vec<i64>,
    seed: u64,
}

impl Problem {
    fn draw(seed: u64) -> Problem {
        let mut random = Dice::new(seed);
        let (n, width) = (1 + random.below(6) as u64, 1 + random.below(4) as u64);
        let sizes: Vec<u64> = (0..1 + random.below(2)).map(|_| 1 + random.below(5) as u64).collect();
        let ids = (0..sizes.iter().product()).map(|_| random.below(n as usize) as i64).collect();
        Problem { n, width, sizes, ids, seed }
    }

    /// As many numbers, none near another.
    fn numbers(&self, count: u64, offset: u64) -> Vec<f64> {
        apart(&mut Dice::new(self.seed * 31 + offset), count as usize)
    }

    fn batch(&self) -> String {
        self.sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
    }
}

/// The result of an operation with weights, and the gradient of their product with respect to `x`.
fn run(
    problem: &Problem,
    shape: &str,
    values: (&[u64], &[f64]),
    weights: &[f64],
    settings: Settings,
    operation: impl Fn(&mut Graph, Tensor, Tensor) -> Result<Tensor, Error>,
) -> Result<[Vec<f64>; 2], Error> {
    let mut g = Graph::new();
    let x = g.param_shaped("x", shape)?;
    g.set_precision(x, broadloom::Dtype::F64)?;
    let ids = Array::from_slice(&problem.sizes, &problem.ids)?;
    let ids = g.array("ids", "... |", ids)?;
    let result = operation(&mut g, x, ids)?;
    let sizes: Vec<u64> = crate::numbers::memory(&g.final_shape(result)?);
    let weights = g.array("weights", "... | ..., _", Array::from_slice(&sizes, weights)?)?;
    let product = g.mul(result, weights)?;
    let loss = g.einsum("... | ... =>", &[product])?;
    let gradient = g.gradient(x)?;
    let mut routine = Routine::new("both");
    routine.backward(&mut g, loss)?.keep(result).keep(gradient);
    let mut session = Session::with(g, settings)?;
    session.set(x, &Array::from_slice(values.0, values.1)?)?;
    session.run(&routine)?;
    Ok([session.get(result)?.to_f64s(), session.get(gradient)?.to_f64s()])
}

fn judge(way: &str, seed: u64, found: [Vec<f64>; 2], expected: [Vec<f64>; 2]) {
    for (what, (found, expected)) in ["value", "gradient"].iter().zip(found.iter().zip(&expected)) {
        assert_eq!(found.len(), expected.len(), "{way}, seed {seed}: {what}");
        for (at, (a, b)) in found.iter().zip(expected).enumerate() {
            assert!(close(*a, *b, 1e-9), "{way}, seed {seed}: {what} {at} is {a}, not {b}");
        }
    }
}

#[test]
fn elements_and_their_gradients() {
    for seed in 0..25 {
        let problem = Problem::draw(seed);
        let (n, width, count) = (problem.n, problem.width, problem.ids.len() as u64);
        let (x, weights) = (problem.numbers(n * width, 1), problem.numbers(count * width, 2));
        let (mut values, mut gradient) = (Vec::new(), vec![0.0; x.len()]);
        for (at, id) in problem.ids.iter().enumerate() {
            for j in 0..width as usize {
                let place = *id as usize * width as usize + j;
                values.push(x[place]);
                gradient[place] += weights[at * width as usize + j];
            }
        }
        for (way, settings) in treatments() {
            let shape = format!("{n} | {width}");
            let found =
                run(&problem, &shape, (&[n, width], &x), &weights, settings, |g, x, ids| g.elements(x, ids));
            judge(way, seed, found.expect("elements"), [values.clone(), gradient.clone()]);
        }
    }
}

#[test]
fn scattered_elements_and_their_gradients() {
    for seed in 0..25 {
        let problem = Problem::draw(seed);
        let (n, width, count) = (problem.n, problem.width as usize, problem.ids.len());
        let (x, weights) =
            (problem.numbers((count * width) as u64, 1), problem.numbers(n * problem.width, 2));
        for accumulate in [Accumulate::Sum, Accumulate::Max, Accumulate::Min] {
            let begin = accumulate.neutral();
            let mut values = vec![begin; n as usize * width];
            let put = |old: f64, new: f64| match accumulate {
                Accumulate::Max => old.max(new),
                Accumulate::Min => old.min(new),
                _ => old + new,
            };
            let cells =
                || {
                    problem.ids.iter().enumerate().flat_map(|(at, id)| {
                        (0..width).map(move |j| (at * width + j, *id as usize * width + j))
                    })
                };
            cells().for_each(|(from, to)| values[to] = put(values[to], x[from]));
            let mut gradient = vec![0.0; x.len()];
            for (from, to) in cells() {
                let chosen = accumulate == Accumulate::Sum || values[to] == x[from];
                gradient[from] = if chosen { weights[to] } else { 0.0 };
            }
            // An infinity times a weight would be lost in the sum; it has no gradient either way.
            if values.iter().any(|value| value.is_infinite()) {
                continue;
            }
            let mut sizes = problem.sizes.clone();
            sizes.push(problem.width);
            for (way, settings) in treatments() {
                let shape = format!("{} | {width}", problem.batch());
                let found = run(&problem, &shape, (&sizes, &x), &weights, settings, |g, x, ids| {
                    let made = g.scatter(x, ids, accumulate)?;
                    let size = g.captured(made, "n")?;
                    g.set(size, n)?;
                    Ok(made)
                });
                judge(way, seed, found.expect("scatter"), [values.clone(), gradient.clone()]);
            }
        }
    }
}
