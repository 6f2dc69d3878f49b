//! Scans: their values and gradients are those of the same turns written out one after another, on every backend.

use broadloom::{Array, Error, Graph, Routine, Session, Settings, SliceIndex, Tensor};
use broadloom_testing::Dice;

use crate::numbers::treatments;

const TURNS: u64 = 5;

/// The body of one turn, drawn from a seed: the next values of two carried tensors.
#[derive(Clone, Copy)]
struct Body {
    seed: u64,
}

/// The leaves of a program.
struct Leaves {
    x: Tensor,
    noise: Tensor,
    firsts: [Tensor; 2],
    params: [Tensor; 3],
}

impl Body {
    fn turn(
        self,
        g: &mut Graph,
        leaves: &Leaves,
        carried: [Tensor; 2],
        x: Tensor,
        noise: Tensor,
    ) -> Result<[Tensor; 2], Error> {
        let [w, u, b] = leaves.params;
        let mut dice = Dice::new(self.seed);
        let seen = g.compose(u, x)?;
        let seen = g.add(seen, b)?;
        // Something that no turn changes, and something that each turn makes of it.
        let fixed = g.tanh(b)?;
        let mut known = vec![carried[0], carried[1], seen, noise, fixed];
        for _ in 0..3 + dice.below(5) {
            let mut any = || known[dice.below(known.len())];
            let (a, other) = (any(), any());
            known.push(match dice.below(7) {
                0 => g.tanh(a)?,
                1 => g.mul(a, other)?,
                2 => g.add(a, other)?,
                3 => g.compose(w, a)?,
                4 => g.sigmoid(a)?,
                5 => {
                    let sum = g.einsum("... | ... => ... | 0", &[a])?;
                    g.sub(other, sum)?
                }
                _ => g.max(a, other)?,
            });
        }
        let kind = dice.below(4);
        let mut next = |g: &mut Graph| -> Result<Tensor, Error> {
            let a = known[dice.below(known.len())];
            // Whatever it is, it gets the shape of what is carried, and stays small.
            let all = g.add(a, seen)?;
            let half = g.number(0.4);
            let small = g.mul(all, half)?;
            g.tanh(small)
        };
        let one = next(g)?;
        // The two may be exchanged, or pass on what they were given.
        match kind {
            0 => Ok([one, carried[0]]),
            1 => Ok([carried[1], one]),
            2 => Ok([one, one]),
            _ => Ok([one, next(g)?]),
        }
    }
}

fn leaves(g: &mut Graph) -> Result<Leaves, Error> {
    let x = g.data("x", "5, 2 | 3")?;
    let noise = g.data("noise", "5, 2 | 4")?;
    let first = g.data("first", "4")?;
    let params = [g.param_shaped("w", "4 -> 4")?, g.param_shaped("u", "3 -> 4")?, g.param_shaped("b", "4")?];
    let zero = g.number(0.25);
    Ok(Leaves { x, noise, firsts: [first, zero], params })
}

/// The loss of all values of the first carried tensor, and of the last values of both.
fn loss(g: &mut Graph, all: &[Tensor], last: [Tensor; 2]) -> Result<Tensor, Error> {
    let mut terms = Vec::new();
    for tensor in all {
        let square = g.square(*tensor)?;
        terms.push(g.einsum("... | ... =>", &[square])?);
    }
    for tensor in last {
        terms.push(g.einsum("... | ... =>", &[tensor])?);
    }
    let mut sum = terms[0];
    for term in &terms[1..] {
        sum = g.add(sum, *term)?;
    }
    Ok(sum)
}

/// The program with a scan, or with all turns written out: its loss.
fn program(body: Body, scanned: bool) -> Result<(Graph, Leaves, Tensor), Error> {
    let mut g = Graph::new();
    let leaves = leaves(&mut g)?;
    let loss = if scanned {
        let names = [("h", leaves.firsts[0]), ("k", leaves.firsts[1])];
        let scan = g.begin_scan(&names, &[leaves.x, leaves.noise])?;
        let carried = [scan.carried[0], scan.carried[1]];
        let (x, noise) = (scan.elements[0], scan.elements[1]);
        let next = body.turn(&mut g, &leaves, carried, x, noise)?;
        let results = g.end_scan(scan, &next, &next[..1])?;
        loss(&mut g, &results.collected, [results.last[0], results.last[1]])?
    } else {
        // What is carried has its shape from the first turn on.
        let zeros = g.array("zeros", "2 | 4", Array::new(&[2, 4], vec![0.0f32; 8])?)?;
        let mut carried = [g.add(leaves.firsts[0], zeros)?, g.add(leaves.firsts[1], zeros)?];
        let mut all = Vec::new();
        for turn in 0..TURNS {
            let x = g.slice(leaves.x, SliceIndex::At(turn))?;
            let noise = g.slice(leaves.noise, SliceIndex::At(turn))?;
            carried = body.turn(&mut g, &leaves, carried, x, noise)?;
            all.push(carried[0]);
        }
        loss(&mut g, &all, carried)?
    };
    Ok((g, leaves, loss))
}

/// The loss and all gradients.
fn numbers(body: Body, scanned: bool, settings: Settings) -> Result<Vec<f64>, Error> {
    let (mut g, leaves, loss) = program(body, scanned)?;
    let [w, u, b] = leaves.params;
    let wanted = [leaves.x, leaves.noise, leaves.firsts[0], w, u, b];
    let gradients = wanted.map(|tensor| g.gradient(tensor)).into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut routine = Routine::new("train");
    routine.backward(&mut g, loss)?;
    for gradient in &gradients {
        routine.keep(*gradient);
    }
    let mut session = Session::with(g, settings)?;
    let values = |count: u64, by: u64| {
        (0..count).map(|at| ((at * by % 23) as f32 - 11.3 + 0.07 * at as f32) / 15.0).collect::<Vec<f32>>()
    };
    session.set(leaves.x, &Array::new(&[5, 2, 3], values(30, 7))?)?;
    session.set(leaves.noise, &Array::new(&[5, 2, 4], values(40, 5))?)?;
    session.set(leaves.firsts[0], &Array::new(&[4], values(4, 9))?)?;
    for (param, sizes) in [(w, vec![4, 4]), (u, vec![4, 3]), (b, vec![4])] {
        let count = sizes.iter().product();
        session.set(param, &Array::new(&sizes, values(count, 11))?)?;
    }
    session.run(&routine)?;
    let mut found = vec![session.item(loss)?];
    for gradient in gradients {
        found.extend(session.get(gradient)?.to_f64s());
    }
    Ok(found)
}

/// Holds the scan of a body, run in some way, against its turns written out.
fn judge(seed: u64, way: &str, settings: Settings, expected: &[f64]) {
    let found =
        numbers(Body { seed }, true, settings).unwrap_or_else(|error| panic!("{seed}, {way}: {error}"));
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        let close = (found - expected).abs() <= 2e-5 * (1.0 + expected.abs());
        assert!(close, "seed {seed}, {way}: number {at} is {found}, not {expected}");
    }
}

/// The numbers of the turns written out, by the judge of all backends.
fn written_out(seed: u64) -> Vec<f64> {
    numbers(Body { seed }, false, treatments()[0].1.clone()).expect("turns written out")
}

/// `BROADLOOM_SCANS=1000` tries more bodies.
#[test]
fn turns_written_out_give_the_same() {
    let count = std::env::var("BROADLOOM_SCANS").ok().and_then(|count| count.parse().ok()).unwrap_or(40);
    for seed in 0..count {
        let expected = written_out(seed);
        for (way, settings) in treatments() {
            judge(seed, way, settings, &expected);
        }
    }
}

mod xla {
    use broadloom::Backend;

    use super::{Graph, Session, Settings, judge, written_out};

    /// Like the other tests on XLA, it runs where `BROADLOOM_PYTHON` names a Python with JAX.
    #[test]
    fn turns_written_out_give_the_same() {
        if std::env::var_os("BROADLOOM_PYTHON").is_none() {
            eprintln!("notice: BROADLOOM_PYTHON names no Python with JAX, so nothing runs on XLA");
            return;
        }
        let settings = Settings { backend: Backend::Xla, ..Settings::default() };
        let _kept = Session::with(Graph::new(), settings.clone()).expect("a Python with JAX");
        for seed in 0..12 {
            judge(seed, "XLA", settings.clone(), &written_out(seed));
        }
    }
}
