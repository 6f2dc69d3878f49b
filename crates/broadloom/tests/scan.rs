//! Scans: their values and gradients are those of the same turns written out one after another, on every backend.

use std::num::NonZeroU64;

use broadloom::{Array, Backend, Dtype, Error, Graph, Routine, Session, Settings, SliceIndex, Tensor};
use broadloom_testing::{Dice, setting};

use crate::numbers::treatments;

/// The body of one turn, drawn from a seed: the next values of two carried tensors.
#[derive(Clone, Copy)]
struct Body {
    seed: u64,
    turns: u64,
    /// True if a turn may have recurrences of its own, over all elements that the scan goes through.
    nested: bool,
    /// The type of all numbers.
    dtype: Dtype,
}

/// The form of a program.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Form {
    /// All turns are written out.
    WrittenOut,
    /// A scan, whose length may have a name, and which may say how often it is noted what is carried.
    Scan { named: bool, every: Option<u64> },
}

/// A scan as it is written most often.
const SCAN: Form = Form::Scan { named: false, every: None };

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
        [x, noise]: [Tensor; 2],
        form: Form,
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
            known.push(match dice.below(if self.nested { 9 } else { 7 }) {
                0 => g.tanh(a)?,
                1 => g.mul(a, other)?,
                2 => g.add(a, other)?,
                3 => g.compose(w, a)?,
                4 => g.sigmoid(a)?,
                5 => {
                    let sum = g.einsum("... | ... => ... | 0", &[a])?;
                    g.sub(other, sum)?
                }
                6 => g.max(a, other)?,
                _ => self.recurrence(g, leaves, a, form, dice.below(4) == 0)?,
            });
        }
        let kind = dice.below(6);
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
            // Every turn carries on the same.
            3 => Ok([fixed, one]),
            4 => Ok([one, g.compose(w, fixed)?]),
            _ => Ok([one, next(g)?]),
        }
    }
}

impl Body {
    /// A recurrence inside of a turn, which depends on something of it: the sum of what it makes, and what it makes last. It
    /// may make the same in all of its turns.
    fn recurrence(
        self,
        g: &mut Graph,
        leaves: &Leaves,
        of_turn: Tensor,
        form: Form,
        is_fixed: bool,
    ) -> Result<Tensor, Error> {
        let step = |g: &mut Graph, x: Tensor, s: Tensor| {
            if is_fixed {
                return g.tanh(of_turn);
            }
            let seen = g.compose(leaves.params[1], x)?;
            let both = g.mul(s, of_turn)?;
            let sum = g.add(seen, both)?;
            g.tanh(sum)
        };
        if let Form::Scan { every, .. } = form {
            let mut scan = g.begin_scan(&[("s", leaves.firsts[0])], &[leaves.x])?;
            every.and_then(NonZeroU64::new).into_iter().for_each(|turns| scan.checkpoint_every(turns));
            let (x, s) = (scan.elements[0], scan.carried[0]);
            let next = step(g, x, s)?;
            let made = g.end_scan(scan, &[next], &[next])?;
            let sum = g.einsum("t, ... | ... => ... | ...", &[made.collected[0]])?;
            return g.add(sum, made.last[0]);
        }
        let (mut s, mut sum) = (leaves.firsts[0], None);
        for turn in 0..self.turns {
            let x = g.slice(leaves.x, SliceIndex::At(turn))?;
            s = step(g, x, s)?;
            sum = Some(match sum {
                Some(sum) => g.add(sum, s)?,
                None => s,
            });
        }
        g.add(sum.unwrap_or(s), s)
    }
}

fn leaves(g: &mut Graph, turns: &str) -> Result<Leaves, Error> {
    let x = g.data("x", &format!("{turns}, 2 | 3"))?;
    let noise = g.data("noise", &format!("{turns}, 2 | 4"))?;
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
fn program(body: Body, form: Form) -> Result<(Graph, Leaves, Tensor), Error> {
    let mut g = Graph::new();
    g.set_default_precision(body.dtype);
    let named = matches!(form, Form::Scan { named: true, .. });
    if named {
        g.dim("t", 1..=100, body.turns)?;
    }
    let leaves = leaves(&mut g, &if named { "t".into() } else { body.turns.to_string() })?;
    let loss = if let Form::Scan { every, .. } = form {
        let names = [("h", leaves.firsts[0]), ("k", leaves.firsts[1])];
        let mut scan = g.begin_scan(&names, &[leaves.x, leaves.noise])?;
        every.and_then(NonZeroU64::new).into_iter().for_each(|turns| scan.checkpoint_every(turns));
        let carried = [scan.carried[0], scan.carried[1]];
        let (x, noise) = (scan.elements[0], scan.elements[1]);
        let next = body.turn(&mut g, &leaves, carried, [x, noise], form)?;
        let results = g.end_scan(scan, &next, &next[..1])?;
        loss(&mut g, &results.collected, [results.last[0], results.last[1]])?
    } else {
        // What is carried has its shape from the first turn on.
        let zeros = g.array("zeros", "2 | 4", Array::new(&[2, 4], vec![0.0f32; 8])?.convert(body.dtype))?;
        let mut carried = [g.add(leaves.firsts[0], zeros)?, g.add(leaves.firsts[1], zeros)?];
        let mut all = Vec::new();
        for turn in 0..body.turns {
            let x = g.slice(leaves.x, SliceIndex::At(turn))?;
            let noise = g.slice(leaves.noise, SliceIndex::At(turn))?;
            carried = body.turn(&mut g, &leaves, carried, [x, noise], form)?;
            all.push(carried[0]);
        }
        loss(&mut g, &all, carried)?
    };
    Ok((g, leaves, loss))
}

/// The loss and all gradients.
fn numbers(body: Body, form: Form, settings: Settings) -> Result<Vec<f64>, Error> {
    let (mut g, leaves, loss) = program(body, form)?;
    let turns = body.turns;
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
    session.set(leaves.x, &Array::new(&[turns, 2, 3], values(6 * turns, 7))?)?;
    session.set(leaves.noise, &Array::new(&[turns, 2, 4], values(8 * turns, 5))?)?;
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

/// Compares the scan of a body, run in some way, with its turns written out.
fn judge(body: Body, form: Form, way: &str, settings: Settings, expected: &[f64]) {
    let Body { seed, turns, dtype, .. } = body;
    let tolerance = match dtype {
        Dtype::F64 => 1e-10,
        Dtype::F32 => 2e-5,
        // A number of 16 bits has three digits, and is rounded in every step.
        _ => 5e-2,
    };
    let way = format!("{way}, {form:?} of {turns} turns");
    let found = numbers(body, form, settings).unwrap_or_else(|error| panic!("{seed}, {way}: {error}"));
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        let close = (found - expected).abs() <= tolerance * (1.0 + expected.abs());
        assert!(close, "seed {seed}, {way}: number {at} is {found}, not {expected}");
    }
}

/// The numbers of the turns written out, by the judge of all backends.
fn written_out(body: Body) -> Vec<f64> {
    numbers(body, Form::WrittenOut, treatments()[0].1.clone()).expect("turns written out")
}

/// `BROADLOOM_SCANS=1000` tries more bodies.
#[test]
fn turns_written_out_give_the_same() {
    let count = setting("BROADLOOM_SCANS", 40);
    for seed in 0..count {
        let body = Body { nested: false, seed, turns: 5, dtype: Dtype::F32 };
        let expected = written_out(body);
        for (way, settings) in treatments() {
            judge(body, SCAN, way, settings, &expected);
        }
    }
}

/// Sums of turns are added up in the same types, whatever the type of numbers: 16 bits are added up in 32.
#[test]
fn turns_of_other_types_give_the_same() {
    for seed in 0..setting("BROADLOOM_SCANS", 40) {
        let mut dice = Dice::new(seed);
        let dtype = if dice.below(2) == 0 { Dtype::F64 } else { Dtype::Bf16 };
        let body = Body { nested: false, seed, turns: 5, dtype };
        let expected = written_out(body);
        // Compiling takes the most time: a tenth of the programs are.
        let ways = if dice.below(10) == 0 { 3 } else { 2 };
        for (way, settings) in treatments().into_iter().take(ways) {
            let every = [None, Some(2), Some(3)][dice.below(3)];
            judge(body, Form::Scan { named: dice.below(2) == 0, every }, way, settings, &expected);
        }
    }
}

/// Scans inside of scans, over the same tensor as the outer one, and with notes of all kinds.
#[test]
fn turns_with_turns_inside_give_the_same() {
    for seed in 0..setting("BROADLOOM_SCANS", 40) {
        let mut dice = Dice::new(seed);
        let body = Body { nested: true, seed, turns: [1, 2, 5][dice.below(3)], dtype: Dtype::F32 };
        let expected = written_out(body);
        // Compiling takes the most time: a third of the programs are.
        let ways = if dice.below(3) == 0 { 3 } else { 2 };
        for (way, settings) in treatments().into_iter().take(ways) {
            let every = [None, Some(1), Some(2)][dice.below(3)];
            let form = Form::Scan { named: dice.below(2) == 0, every };
            judge(body, form, way, settings, &expected);
        }
    }
}

/// The number of turns between two notes changes nothing, also if the last segment is shorter than the others, or the only one, and whether or not
/// the number of turns has a name: gradients are those of the turns written out, and to the last bit those of a scan that notes every turn. Optimised
/// programs add up gradients segment by segment, so that they agree to the rounding of these sums.
#[test]
fn segments_give_the_same() {
    let lengths = [1, 2, 5, 6, 7];
    for seed in 0..setting("BROADLOOM_SCANS", 40) {
        let mut dice = Dice::new(seed);
        for turns in lengths {
            let body = Body { nested: false, seed, turns, dtype: Dtype::F32 };
            let expected = written_out(body);
            // Compiling takes the most time: one program of each seed is.
            let compiled = turns == lengths[dice.below(lengths.len())];
            for (way, settings) in treatments().into_iter().take(if compiled { 3 } else { 2 }) {
                let named = dice.below(2) == 0;
                let form = |every| Form::Scan { named, every };
                judge(body, form(Some(1)), way, settings.clone(), &expected);
                let all = numbers(body, form(Some(1)), settings.clone()).expect("every turn is noted");
                let every = [None, Some(2), Some(3), Some(5), Some(50)][dice.below(5)];
                let optimised = settings.optimise;
                let found = numbers(body, form(every), settings).expect("segments");
                let rounding =
                    |a: f64, b: f64| (a - b).abs() <= 16.0 * f64::from(f32::EPSILON) * (1.0 + b.abs());
                let agree = |a: f64, b: f64| a.to_bits() == b.to_bits() || (optimised && rounding(a, b));
                let same = found.iter().zip(&all).all(|(a, b)| agree(*a, *b));
                assert!(same, "{way}, seed {seed}, {:?} of {turns}: {found:?}, not {all:?}", form(every));
            }
        }
    }
}

mod xla {
    use broadloom::Backend;

    use super::{Body, Dtype, Form, Graph, Session, Settings, judge, written_out};

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
            let body = Body { nested: false, seed, turns: 5, dtype: Dtype::F32 };
            for every in [None, Some(2)] {
                let form = Form::Scan { named: false, every };
                judge(body, form, "XLA", settings.clone(), &written_out(body));
            }
        }
    }
}

/// Random numbers that a turn draws are others in every turn, and gradients meet the same ones again: with `y = w C`, where `C` are the sums
/// of `x n` so far, the gradient of the sum of `y²` is `2 w` times the sum of `C²`.
#[test]
fn every_turn_draws_its_own_numbers() {
    for (way, settings) in treatments() {
        for (turns, every) in [("4", None), ("4", NonZeroU64::new(3)), ("t", None)] {
            let made = walk(settings.clone(), turns, every).expect("a program that runs");
            let [y, drawn, gradient] = made;
            let what = format!("{way}, {turns} turns, noted every {every:?}");
            let sums: Vec<f64> =
                (0..12).map(|at| (0..=at / 3).map(|turn| X[turn] * drawn[3 * turn + at % 3]).sum()).collect();
            for (at, sum) in sums.iter().enumerate() {
                assert!((y[at] - W[at % 3] * sum).abs() < 1e-9, "{what}: {y:?} of {drawn:?}");
                assert!(at < 3 || (drawn[at] - drawn[at - 3]).abs() > 1e-9, "{what}: {drawn:?}");
            }
            for (place, gradient) in gradient.iter().enumerate() {
                let squares: f64 = (0..4).map(|turn| sums[3 * turn + place].powi(2)).sum();
                let wanted = 2.0 * W[place] * squares;
                assert!(
                    (gradient - wanted).abs() < 1e-9 * wanted.abs().max(1.0),
                    "{what}: {gradient}, {wanted}"
                );
            }
        }
    }
}

const X: [f64; 4] = [1.0, -2.0, 0.5, 3.0];
const W: [f64; 3] = [1.0, 2.0, -1.0];

/// The values of a walk with numbers that each turn draws, those numbers, and a gradient.
fn walk(settings: Settings, turns: &str, every: Option<NonZeroU64>) -> Result<[Vec<f64>; 3], Error> {
    let mut g = Graph::new();
    g.set_default_precision(Dtype::F64);
    g.dim("t", 2..=9, 4)?;
    let (x, w) = (g.data("x", &format!("{turns} |"))?, g.data("w", "3")?);
    let zero = g.number(0.0);
    let mut scan = g.begin_scan(&[("walk", zero)], &[x])?;
    every.into_iter().for_each(|turns| scan.checkpoint_every(turns));
    let drawn = g.normal("noise");
    let noise = g.in_turn(drawn)?;
    let scaled = g.mul(scan.elements[0], noise)?;
    let step = g.mul(scaled, w)?;
    let next = g.add(scan.carried[0], step)?;
    let made = g.end_scan(scan, &[next], &[next, noise])?;
    let square = g.mul(made.collected[0], made.collected[0])?;
    let loss = g.einsum("..b.. | ..o.. => |", &[square])?;
    let gradient = g.gradient(w)?;
    let kept = [made.collected[0], made.collected[1], gradient];
    let mut routine = Routine::new("walk");
    routine.forward(loss);
    routine.backward(&mut g, loss)?;
    for tensor in kept {
        routine.forward(tensor).keep(tensor);
    }
    let mut session = Session::with(g, settings)?;
    session.set(x, &Array::from_slice(&[4], &X)?)?;
    session.set(w, &Array::from_slice(&[3], &W)?)?;
    session.run(&routine)?;
    let mut get = |tensor: Tensor| session.get(tensor).map(|values| values.to_f64s());
    Ok([get(kept[0])?, get(kept[1])?, get(kept[2])?])
}

/// Notes of a scan take the memory of the root of its turns, twice, or as it was asked for; with a named number of turns at every number. The
/// planned memory is allocated.
#[test]
fn notes_take_the_root_of_the_turns() {
    // The carried tensor has 1,000 numbers of 4 bytes, and nothing else is as large.
    let notes = |turns: &str, at: u64, every: Option<u64>| -> u64 {
        let (graph, routine) = long_scan(turns, every).expect("a scan");
        let settings = Settings { backend: Backend::Native, threads: Some(1), ..Settings::default() };
        let mut session = Session::with(graph, settings).expect("a session");
        let memory = session.memory_at(&[("t", at)], std::slice::from_ref(&routine)).expect("its memory");
        let noted = |name: &str| name == "h.notes" || name == "h.checkpoints";
        memory.stored.iter().filter(|each| noted(&each.name)).map(|each| each.bytes / 4000).sum()
    };
    assert_eq!(notes("10000", 1, None), 200);
    assert_eq!(notes("10000", 1, Some(1)), 10_000);
    assert_eq!(notes("10000", 1, Some(400)), 25 + 400);
    assert_eq!(notes("10001", 1, None), 100 + 101);
    assert_eq!(notes("63", 1, None), 63);
    for (turns, expected) in [(1, 2), (2, 3), (10, 3 + 4), (100, 20), (10_000, 200)] {
        assert_eq!(notes("t", turns, None), expected, "{turns} turns");
    }
    let (graph, routine) = long_scan("1000", None).expect("a scan");
    let settings = Settings { backend: Backend::Native, threads: Some(1), ..Settings::default() };
    let mut session = Session::with(graph, settings).expect("a session");
    let planned = session.memory(std::slice::from_ref(&routine)).expect("its memory").temporaries[0].shared;
    assert!(planned < 1_000_000, "{planned}");
    let allocated = session.allocated(std::slice::from_ref(&routine)).expect("its code").expect("an arena");
    assert_eq!(allocated.arenas, planned);
}

/// One program runs at all numbers of turns, and in each gives the gradient of a scan of that many turns that notes all of them; also if every tensor
/// is kept and looked at.
#[test]
fn named_lengths_are_compiled_once() {
    for (way, settings) in treatments().into_iter().chain(guarded()) {
        for every in [None, Some(4)] {
            let (graph, routine) = long_scan("t", every).expect("a scan");
            let mut session = Session::with(graph, settings.clone()).expect("a session");
            for turns in [4, 1, 2, 9, 64, 67] {
                session.set_sizes(&[("t", turns)]).expect("a size in its range");
                let found = slope(&mut session, &routine, turns);
                let (graph, routine) = long_scan(&turns.to_string(), Some(1)).expect("a scan");
                let mut known = Session::with(graph, settings.clone()).expect("a session");
                assert_eq!(found, slope(&mut known, &routine, turns), "{way}, {every:?}, {turns} turns");
            }
            assert!(session.notices().is_empty(), "{way}: {:?}", session.notices());
            let open = session.program_for_all_sizes(&routine).expect("a program for all sizes");
            assert_eq!(open.at(&[67]), session.program(&routine).ok(), "{way}, {every:?}");
        }
    }
}

/// A way to run that looks at every tensor.
fn guarded() -> Option<(&'static str, Settings)> {
    let [.., (_, native)] = treatments();
    Some(("native, guarded", Settings { guard: true, ..native }))
}

/// The bits of the gradient of a long scan at some elements.
fn slope(session: &mut Session, routine: &Routine, turns: u64) -> Vec<u64> {
    let named = |session: &Session, name: &str| {
        let graph = session.graph();
        graph
            .tensors()
            .find(|tensor| graph.name_of(*tensor).is_some_and(|own| own == name))
            .expect("a tensor")
    };
    let (x, w) = (named(session, "x"), named(session, "w"));
    let elements: Vec<f32> = (0..turns).map(|turn| (turn as f32 * 0.7).sin()).collect();
    let weights: Vec<f32> = (0..1000).map(|at| 0.001 * at as f32 + 0.05).collect();
    session.set(x, &Array::new(&[turns], elements).expect("an array")).expect("values of x");
    session.set(w, &Array::new(&[1000], weights).expect("an array")).expect("values of w");
    session.run(routine).expect("a run");
    let gradient = routine.kept().last().expect("the gradient");
    session.get(*gradient).expect("its values").to_f64s().into_iter().map(f64::to_bits).collect()
}

/// The training of a parameter by the last value of a scan.
fn long_scan(turns: &str, every: Option<u64>) -> Result<(Graph, Routine), Error> {
    let mut g = Graph::new();
    g.dim("t", 1..=100_000, 4)?;
    let (x, w) = (g.data("x", &format!("{turns} |"))?, g.param_shaped("w", "1000")?);
    let zero = g.number(0.0);
    let mut scan = g.begin_scan(&[("h", zero)], &[x])?;
    every.and_then(NonZeroU64::new).into_iter().for_each(|turns| scan.checkpoint_every(turns));
    let scaled = g.mul(scan.carried[0], w)?;
    let sum = g.add(scaled, scan.elements[0])?;
    let next = g.tanh(sum)?;
    let made = g.end_scan(scan, &[next], &[])?;
    let loss = g.einsum("... => ", &[made.last[0]])?;
    let mut routine = Routine::new("train");
    routine.backward(&mut g, loss)?;
    let gradient = g.gradient(w)?;
    routine.keep(gradient);
    Ok((g, routine))
}

/// Numbers that a body draws without going through them would be the same in every turn.
#[test]
fn numbers_that_are_not_gone_through_are_refused() {
    let mut g = Graph::new();
    let (x, zero) = (g.data("x", "4 | 3").expect("a shape"), g.number(0.0));
    let scan = g.begin_scan(&[("sum", zero)], &[x]).expect("a scan");
    let noise = g.uniform("noise");
    let next = g.mul(scan.elements[0], noise).expect("a product");
    let refused = g.end_scan(scan, &[next], &[next]).err().expect("the same in every turn").to_string();
    assert!(refused.contains("the same in every turn"), "{refused}");
}
