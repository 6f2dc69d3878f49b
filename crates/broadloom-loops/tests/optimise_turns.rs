//! Work of all turns at once: what leaves a repeat, and that the numbers are the same, on random turns.

use crate::support;

use broadloom_loops::optimise::{Distributed, PassOptions, distribute, optimise};
use broadloom_loops::{
    Binary, Buffer, BufferId, Cell, Dtype, Index, LoopSum, LoopVar, Nest, Program, Repeat, Scalar, Segment,
    Statement, Storage, Unary,
};
use broadloom_testing::{Dice, setting};
use expect_test::expect;
use support::{Sample, difference, kept, nests, run};

/// The symbols of a program: the turn, the segment, and the place of the turn in it.
const TURN: u32 = 0;
const SEGMENT: u32 = 1;
const PLACE: u32 = 2;
const ROWS: u64 = 3;
const WIDTH: u64 = 4;

/// Turns that are made nest by nest.
struct Make {
    dice: Dice,
    program: Program,
    turns: u64,
    length: Option<u64>,
}

/// The buffers of turns that were written in them so far, each of `ROWS × WIDTH` numbers.
type Known = Vec<BufferId>;

impl Make {
    fn new(seed: u64) -> Make {
        let mut dice = Dice::new(seed);
        let turns = 1 + dice.below(7) as u64;
        let length = (dice.below(3) > 0).then(|| 1 + dice.below(4) as u64);
        let symbols = ["turn", "segment", "place"].map(String::from).to_vec();
        Make { dice, program: Program { symbols, ..Program::default() }, turns, length }
    }

    fn buffer(&mut self, name: &str, sizes: &[u64], storage: Storage) -> BufferId {
        let sizes = sizes.iter().map(|size| (*size).into()).collect();
        let (name, dtype, margins) = (name.to_string(), Dtype::F64, Vec::new());
        self.program.add_buffer(Buffer { name, dtype, sizes, margins, fill: 0.0, storage })
    }

    fn local(&mut self) -> BufferId {
        let name = format!("p{}", self.program.buffers.len());
        self.buffer(&name, &[ROWS, WIDTH], Storage::Local)
    }

    fn vars<const N: usize>(&mut self) -> [LoopVar; N] {
        std::array::from_fn(|at| self.program.add_var(["b", "o", "i"][at]))
    }

    fn push(&mut self, statement: Statement) {
        let comment = format!("nest {}", self.program.nests.len());
        self.program.nests.push(Nest { comment, body: vec![statement] });
    }

    fn fill(&mut self, buffer: BufferId, value: f64) {
        self.push(Statement::Fill { buffer, value });
    }

    /// `to = value` for all rows and columns; either side may be at a symbol.
    fn each(
        &mut self,
        (to, at): (BufferId, Option<u32>),
        accumulate: Option<Binary>,
        value: impl Fn(&dyn Fn(BufferId, Option<u32>) -> Scalar) -> Scalar,
    ) {
        let [b, o] = self.vars();
        let cell = |buffer, at: Option<u32>| cell(buffer, at, &[b, o]);
        let value = value(&|buffer, at| Scalar::Load(cell(buffer, at)));
        let store = Statement::Store { cell: cell(to, at), accumulate, value };
        self.push(store.within([(b, ROWS), (o, WIDTH)].into_iter()));
    }

    /// `to += a @ w`, for rows of `a`.
    fn product(&mut self, to: BufferId, a: BufferId, w: BufferId) {
        let [b, o, i] = self.vars();
        let value = Scalar::binary(
            Binary::Mul,
            Scalar::Load(cell(w, None, &[o, i])),
            Scalar::Load(cell(a, None, &[b, i])),
        );
        let store = Statement::Store { cell: cell(to, None, &[b, o]), accumulate: Some(Binary::Add), value };
        self.push(store.within([(b, ROWS), (o, WIDTH), (i, WIDTH)].into_iter()));
    }

    /// `to += a ⊗ c`, summed over rows.
    fn outer(&mut self, to: BufferId, a: BufferId, c: BufferId) {
        let [b, o, i] = self.vars();
        let value = Scalar::binary(
            Binary::Mul,
            Scalar::Load(cell(a, None, &[b, o])),
            Scalar::Load(cell(c, None, &[b, i])),
        );
        let accumulate = Some(if self.dice.below(4) == 0 { Binary::Sub } else { Binary::Add });
        let store = Statement::Store { cell: cell(to, None, &[o, i]), accumulate, value };
        self.push(store.within([(o, WIDTH), (i, WIDTH), (b, ROWS)].into_iter()));
    }

    /// `to[o] += a[b, o]`, summed over rows; sometimes of its square.
    fn column(&mut self, to: BufferId, a: BufferId) {
        let [b, o] = self.vars();
        let load = || Scalar::Load(cell(a, None, &[b, o]));
        let value = match self.dice.below(4) {
            0 => Scalar::binary(Binary::Add, load(), Scalar::Number(1.0)),
            1 => Scalar::unary(Unary::Neg, load()),
            _ => load(),
        };
        let store = Statement::Store { cell: cell(to, None, &[o]), accumulate: Some(Binary::Add), value };
        self.push(store.within([(o, WIDTH), (b, ROWS)].into_iter()));
    }

    fn any(&mut self, known: &Known) -> BufferId {
        known[self.dice.below(known.len())]
    }

    /// Makes something else of what is known. Values stay small.
    fn more(&mut self, known: &mut Known, weights: [BufferId; 2]) {
        let (a, other) = (self.any(known), self.any(known));
        let w = weights[self.dice.below(2)];
        // Sometimes a buffer is written once more, after others have read it.
        let again = self.dice.below(8) == 0 && known.len() > 3;
        let to = if again { known[known.len() - 1] } else { self.local() };
        if to == a || to == other {
            return;
        }
        match self.dice.below(6) {
            0 => self.each((to, None), None, |load| load(a, None)),
            1 => {
                self.fill(to, 0.0);
                self.each((to, None), Some(Binary::Add), |load| load(a, None));
            }
            2 => self.each((to, None), None, |load| Scalar::unary(Unary::Tanh, load(a, None))),
            3 => self.each((to, None), None, |load| {
                let sum = Scalar::binary(Binary::Add, load(a, None), load(other, None));
                Scalar::binary(Binary::Mul, sum, Scalar::Number(0.5))
            }),
            _ => {
                let start = if self.dice.below(4) == 0 { 0.25 } else { 0.0 };
                self.fill(to, start);
                self.product(to, a, w);
                if self.dice.below(3) == 0 {
                    self.product(to, other, weights[0]);
                }
            }
        }
        if !again {
            known.push(to);
        }
    }

    /// Adds something to sums that outlive the turns.
    fn sum(&mut self, known: &Known, sums: &Sums, weights: [BufferId; 2]) {
        let (a, c) = (self.any(known), self.any(known));
        let matrix = sums.matrix[self.dice.below(2)];
        match self.dice.below(6) {
            0 | 1 => self.outer(matrix, a, c),
            2 => self.column(sums.vector, a),
            3 => self.each((sums.of_turns, Some(TURN)), Some(Binary::Add), |load| load(a, None)),
            4 => {
                let to = self.local();
                self.fill(to, 0.0);
                self.product(to, a, weights[1]);
                self.product(to, c, weights[0]);
                self.each((sums.of_turns, Some(TURN)), Some(Binary::Add), |load| load(to, None));
            }
            _ => self.each((sums.values, Some(TURN)), None, |load| load(a, None)),
        }
    }

    /// Repeats nests from a place on, for the turns of a segment, if there are segments.
    fn repeat(&mut self, start: usize, backwards: bool) {
        let segment =
            self.length.map(|length| Segment { number: SEGMENT, length: length.into(), place: PLACE });
        let nests = start..self.program.nests.len();
        let repeat = Repeat { nests, symbol: TURN, turns: self.turns.into(), backwards, segment };
        self.program.repeats.push(repeat);
    }

    /// Repeats nests from a place on, for all segments.
    fn segments(&mut self, start: usize, backwards: bool) {
        let Some(length) = self.length else { return };
        let nests = start..self.program.nests.len();
        let turns = self.turns.div_ceil(length).into();
        let place = self.program.repeats.partition_point(|repeat| repeat.nests.start < start);
        let repeat = Repeat { nests, symbol: SEGMENT, turns, backwards, segment: None };
        self.program.repeats.insert(place, repeat);
    }
}

/// The buffers that turns add to.
struct Sums {
    matrix: [BufferId; 2],
    vector: BufferId,
    of_turns: BufferId,
    values: BufferId,
}

fn cell(buffer: BufferId, at: Option<u32>, vars: &[LoopVar]) -> Cell {
    let vars = vars.iter().map(|var| Index::At(LoopSum::iterate(*var)));
    Cell { buffer, index: at.map(Index::Symbol).into_iter().chain(vars).collect() }
}

/// A recurrence, whose turns are computed forward, and then something of them backwards from notes.
fn sample(seed: u64) -> Sample {
    let mut make = Make::new(seed);
    let of_turns = [make.turns, ROWS, WIDTH];
    let x = make.buffer("x", &of_turns, Storage::Kept);
    let weights = ["w", "v"].map(|name| make.buffer(name, &[WIDTH, WIDTH], Storage::Kept));
    let first = make.buffer("first", &[ROWS, WIDTH], Storage::Kept);
    let sums = Sums {
        matrix: ["dw", "dv"].map(|name| make.buffer(name, &[WIDTH, WIDTH], Storage::Kept)),
        vector: make.buffer("db", &[WIDTH], Storage::Kept),
        of_turns: make.buffer("dx", &of_turns, Storage::Kept),
        values: make.buffer("y", &of_turns, Storage::Kept),
    };
    let place = if make.length.is_some() { PLACE } else { TURN };
    let notes = make.buffer("notes", &[make.length.unwrap_or(make.turns), ROWS, WIDTH], Storage::Local);
    let noted = make.buffer("noted", &[make.length.unwrap_or(make.turns), ROWS, WIDTH], Storage::Local);
    let [h, element] = [make.local(), make.local()];
    make.each((h, None), None, |load| load(first, None));
    let backwards = make.dice.below(3) > 0;
    let outside = make.program.nests.len();
    // Forward, with notes.
    make.each((notes, Some(place)), None, |load| load(h, None));
    make.each((element, None), None, |load| load(x, Some(TURN)));
    let mut known = vec![element, h];
    for _ in 0..2 + make.dice.below(5) {
        make.more(&mut known, weights);
    }
    let (a, next) = (make.any(&known), make.any(&known));
    make.each((noted, Some(place)), None, |load| load(a, None));
    make.sum(&known, &sums, weights);
    make.each((h, None), None, |load| load(next, None));
    make.repeat(outside, false);
    // The same turns again, in some order.
    let second = make.program.nests.len();
    make.each((h, None), None, |load| load(notes, Some(place)));
    let [kept, element] = [make.local(), make.local()];
    make.each((kept, None), None, |load| load(noted, Some(place)));
    make.each((element, None), None, |load| load(x, Some(TURN)));
    let mut known = vec![h, kept, element];
    for _ in 0..1 + make.dice.below(6) {
        make.more(&mut known, weights);
        if make.dice.below(2) == 0 {
            make.sum(&known, &sums, weights);
        }
    }
    make.sum(&known, &sums, weights);
    make.repeat(second, backwards);
    make.segments(outside, backwards);
    let inputs = kept_inputs(&make.program, &mut make.dice);
    Sample { program: make.program, symbols: vec![0; 3], inputs, tolerance: 1e-9 }
}

fn kept_inputs(program: &Program, dice: &mut Dice) -> Vec<(BufferId, Vec<f64>)> {
    let cells = |id| program.buffer(id).shape().iter().product::<u64>();
    kept(program)
        .map(|id| (id, (0..cells(id)).map(|_| dice.below(33) as f64 / 16.0 - 1.0).collect()))
        .collect()
}

/// A program in which all buffers may be held for all turns.
fn distributed(program: &Program) -> Distributed {
    distribute(program, &|_| true)
}

/// The number of nests that left their repeats.
fn moved(before: &Program, after: &Program) -> usize {
    let inside = |program: &Program| {
        let inner = program.repeats.iter().filter(|repeat| {
            program.repeats.iter().all(|other| other == *repeat || !repeat.nests.contains(&other.nests.start))
        });
        inner.flat_map(|repeat| repeat.nests.clone()).collect::<Vec<_>>()
    };
    let outside = |program: &Program| program.nests.len() - inside(program).len();
    outside(after).saturating_sub(outside(before))
}

/// `BROADLOOM_PROGRAMS=20000` tries more.
#[test]
fn random_turns_compute_the_same() {
    let (count, mut changed) = (setting("BROADLOOM_PROGRAMS", 1000), 0);
    for seed in 0..count {
        let sample = sample(seed);
        let expected = run(&sample.program, &sample).expect("a program that runs");
        let Distributed { program, origins, of_turns } = distributed(&sample.program);
        assert_eq!(origins.len(), program.nests.len(), "seed {seed}");
        assert_eq!(of_turns.len() + sample.program.buffers.len(), program.buffers.len(), "seed {seed}");
        for (way, program) in [("", &program), (", optimised", &optimise(&program, &PassOptions::all()))] {
            let found = run(program, &sample).expect("a program that runs");
            let wrong = difference(&sample.program, &expected, &found, sample.tolerance);
            assert_eq!(wrong, None, "seed {seed}{way}:\n{}\n\nbecame\n{program}", sample.program);
        }
        changed += usize::from(moved(&sample.program, &program) > 0);
    }
    assert!(changed as u64 * 2 > count, "only {changed} of {count} programs were changed");
}

/// A recurrence that goes back through segments of two of five turns: `g = v g + u x[turn]`, and the gradient of `u`.
fn example() -> Program {
    let mut make = Make::new(0);
    (make.turns, make.length) = (5, Some(2));
    let x = make.buffer("x", &[5, ROWS, WIDTH], Storage::Kept);
    let [u, v, du] = ["u", "v", "du"].map(|name| make.buffer(name, &[WIDTH, WIDTH], Storage::Kept));
    let g = make.buffer("g", &[ROWS, WIDTH], Storage::Kept);
    let [element, q, p] = ["element", "q", "p"].map(|name| make.buffer(name, &[ROWS, WIDTH], Storage::Local));
    make.each((element, None), None, |load| load(x, Some(TURN)));
    make.fill(q, 0.0);
    make.product(q, element, u);
    make.fill(p, 0.0);
    make.product(p, g, v);
    make.each((g, None), None, |load| Scalar::binary(Binary::Add, load(p, None), load(q, None)));
    make.outer(du, p, element);
    make.repeat(0, true);
    make.segments(0, true);
    make.program
}

#[test]
fn products_and_sums_leave_their_turns() {
    let Distributed { program, origins, .. } = distributed(&example());
    expect![[r#"
        # element.turns is 0 where the last segment has no turn
        element.turns = 0 everywhere

        # p.turns is 0 where the last segment has no turn
        p.turns = 0 everywhere

        # for each segment of 3, from the last to the first:

            # for each turn in the segment of 2, from the last to the first:

                # nest 0
                for b in 0..3
                  for o in 0..4
                    element.turns[$place, b, o] = x[$turn, b, o]

            # nest 1
            q.turns = 0 everywhere

            # nest 2, of all turns
            for turn in 0..2
              for b in 0..3
                for o in 0..4
                  for i in 0..4
                    q.turns[turn, b, o] += u[o, i] * element.turns[turn, b, i]

            # for each turn in the segment of 2, from the last to the first:

                # nest 3
                p = 0 everywhere

                # nest 4
                for b in 0..3
                  for o in 0..4
                    for i in 0..4
                      p[b, o] += v[o, i] * g[b, i]

                # p.turns = p
                for i in 0..3
                  for i2 in 0..4
                    p.turns[$place, i, i2] = p[i, i2]

                # nest 5
                for b in 0..3
                  for o in 0..4
                    g[b, o] = p[b, o] + q.turns[$place, b, o]

            # nest 6, of all turns
            for o in 0..4
              for i in 0..4
                for turn in 0..2
                  for b in 0..3
                    du[o, i] += p.turns[turn, b, o] * element.turns[turn, b, i]
    "#]]
    .assert_eq(&nests(&program));
    expect![[r#"
        [
            6,
            4,
            0,
            1,
            2,
            3,
            4,
            4,
            5,
            6,
        ]
    "#]]
    .assert_debug_eq(&origins);
}

/// A buffer that a turn reads is no sum of all turns: its gradient stays where it is, and so does a product that others read before it is complete.
#[test]
fn what_a_turn_waits_for_stays() {
    let mut make = Make::new(0);
    (make.turns, make.length) = (5, None);
    let [u, du] = ["u", "du"].map(|name| make.buffer(name, &[WIDTH, WIDTH], Storage::Kept));
    let g = make.buffer("g", &[ROWS, WIDTH], Storage::Kept);
    let p = make.buffer("p", &[ROWS, WIDTH], Storage::Local);
    make.fill(p, 0.0);
    make.product(p, g, u);
    make.outer(du, p, g);
    make.product(g, p, du);
    make.repeat(0, false);
    assert_eq!(distributed(&make.program).program, make.program);
}
