//! Random programs: lines are proposed, and kept if the graph accepts them.

use broadloom::{Accumulate, Combine, Dtype, Shape};
use broadloom_testing::{Dice, ShownInPanic};

use crate::programs::lines::{Line, Lines, Made, Op};
use crate::random_specs::{
    Labelled, MINE, Place, WINDOWS, combined, composed, concatenated, is_small, parted, places, rearranged,
    recent, with_gaps,
};

/// The sizes of a program, and the most elements of its tensors.
struct Scale {
    sizes: &'static [&'static str],
    largest: u64,
}

const SMALL: Scale = Scale { sizes: &["2", "3", "4", "4", "5", "6"], largest: 300 };

/// Large enough for loops that are cut into tiles.
const LARGE: Scale = Scale { sizes: &["4", "9", "16", "17", "33"], largest: 5000 };

/// The program of a seed. In short floats, products of many numbers vanish, so there are none.
pub fn draw(seed: u64, short: bool) -> Lines {
    let mut random = Dice::new(seed + 1000);
    let mut lines = Lines::default();
    let scale = if seed % 16 == 5 { LARGE } else { SMALL };
    let params = 2 + random.below(3);
    for leaf in 0..=params {
        // The first one may be the kernel of windows.
        let kernel = leaf == 0 && random.below(2) == 0;
        let shape =
            if kernel { random.pick(&["2", "3", "4"]).to_string() } else { leaf_shape(&mut random, &scale) };
        let op = if leaf < params { Op::Param(shape) } else { Op::Data(shape) };
        lines.0.push(Line { op, operands: Vec::new() });
    }
    let leaves = lines.len();
    let wanted = leaves + 5 + random.below(21);
    let mut made = lines.build(Dtype::F64).expect("leaves are well declared");
    let mut tries = 0;
    while lines.len() < wanted && tries < 400 {
        tries += 1;
        let Some(mut line) = propose(&mut random, &mut made, &lines) else { continue };
        if let (true, Op::Einsum { accumulate: accumulate @ Accumulate::Product, .. }) = (short, &mut line.op)
        {
            *accumulate = Accumulate::Max;
        }
        if fits(&mut made, &scale, &lines, &line) {
            lines.0.push(line);
        } else {
            made = lines.build(Dtype::F64).expect("it was built before");
        }
    }
    lines
}

/// Adds a line, if the graph accepts it and everything can still be run.
fn fits(made: &mut Made, scale: &Scale, lines: &Lines, line: &Line) -> bool {
    let shown = ShownInPanic(|| {
        let whole = lines.0.iter().chain([line]).cloned().collect();
        format!("the last line of this program makes the graph panic:\n{}", Lines(whole))
    });
    let added = made.add(line);
    drop(shown);
    if added.is_err() {
        return false;
    }
    let results = made.results.last().cloned().unwrap_or_default();
    results.into_iter().all(|result| {
        let small = made.graph.final_shape(result).is_ok_and(|shape| is_small(&shape, scale.largest));
        small && made.graph.projection(result).is_ok()
    })
}

fn leaf_shape(random: &mut Dice, scale: &Scale) -> String {
    let mut row = |most: usize| {
        let sizes = (0..random.below(most + 1)).map(|_| random.pick(scale.sizes));
        sizes.collect::<Vec<_>>().join(", ")
    };
    let (batch, input, output) = (row(1), row(1), row(2));
    format!("{batch} | {input} -> {output}")
}

fn einsum(random: &mut Dice, spec: String, operands: Vec<Place>, sizes: Vec<(String, u64)>) -> Line {
    use Accumulate::{Max, Min, Product, Sum};
    let accumulate = random.pick(&[Sum, Sum, Sum, Sum, Sum, Max, Max, Min, Product]);
    let combine = if accumulate != Sum && random.below(2) == 0 { Combine::Sum } else { Combine::Product };
    Line { op: Op::Einsum { spec, accumulate, combine, sizes }, operands }
}

/// A line that may be accepted.
fn propose(random: &mut Dice, made: &mut Made, lines: &Lines) -> Option<Line> {
    let places = places(&made.results);
    let mut place = || recent(random, &places, 3);
    let (a, b, c) = (place(), place(), place());
    let shape = |made: &mut Made, (line, part): Place| made.graph.final_shape(made.results[line][part]).ok();
    let (first, second) = (shape(made, a)?, shape(made, b)?);
    let labelled = Labelled::new(&first, MINE);
    let one = |op| Some(Line { op, operands: vec![a] });
    let two = |op| Some(Line { op, operands: vec![a, b] });
    match random.below(22) {
        0 | 1 => {
            one(Op::Pointwise(random.pick(&["tanh", "sin", "cos", "sigmoid", "relu", "abs", "neg", "erf"])))
        }
        2 => one(Op::Number(
            random.pick(&["+", "*", "-", "/", "max", "min", "<"]),
            random.pick(&[0.5, -0.7, 1.3]),
        )),
        3 => one(Op::Pointwise(random.pick(&["square", "sign", "floor", "stop_gradient", "exp", "tanh"]))),
        4..=6 => two(Op::Pointwise(random.pick(&["+", "-", "*", "*", "max", "min", "<", "+"]))),
        7 => Some(Line { op: Op::Pointwise("where"), operands: vec![a, b, c] }),
        // A left factor with too few inputs would be refused.
        8 | 9 if first.input().len() < second.output().len() => None,
        8 => two(Op::Compose),
        9 => Some(Line { op: Op::ComposeAccumulate, operands: vec![a, b, c] }),
        10 => one(Op::Transpose),
        11 => {
            let spec = rearranged(random, &labelled);
            Some(einsum(random, spec, vec![a], Vec::new()))
        }
        12 | 13 => {
            let spec = combined(random, &labelled, &second);
            Some(einsum(random, spec, vec![a, b], Vec::new()))
        }
        14..=16 => window(random, &labelled, lines, a),
        17 => joined(random, &first, &second, a, b),
        18 => split(random, &labelled, a),
        19 | 20 => {
            let (label, _) = labelled.axes().get(random.below(labelled.axes().len().max(1)))?.clone();
            let (spec, given) = composed(random, &labelled, &label);
            Some(einsum(random, spec, vec![a], given.into_iter().collect()))
        }
        _ => taken(random, &first, a),
    }
}

/// A window, a stride or an offset along one axis, with or without a kernel.
fn window(random: &mut Dice, labelled: &Labelled, lines: &Lines, a: Place) -> Option<Line> {
    let axes = labelled.axes();
    let (label, size) = axes.get(random.below(axes.len().max(1)))?.clone();
    if size < 3 {
        return None;
    }
    let result = labelled.with(&label, "o");
    let plain = random.pick(&["2*o", "2*o+1", "3*o+2", "o+1", "o+2"]);
    let backwards = random.pick(&["2*o", "2*o+1", "3*o+1"]);
    let window = random.pick(&WINDOWS);
    let kernel = lines.0.iter().position(
        |line| matches!(&line.op, Op::Param(shape) if shape.parse::<u64>().is_ok_and(|taps| taps < 5)),
    );
    match (random.below(6), kernel) {
        (0, _) => {
            Some(einsum(random, format!("{} => {result}", labelled.with(&label, plain)), vec![a], Vec::new()))
        }
        (1, _) => Some(einsum(
            random,
            format!("{} => {}", labelled.with(&label, "o"), labelled.with(&label, backwards)),
            vec![a],
            Vec::new(),
        )),
        (2 | 3, Some(kernel)) => {
            let spec = format!("{}; k => {result}", labelled.with(&label, window));
            let mut line = einsum(random, spec, vec![a, (kernel, 0)], Vec::new());
            // Beyond the ends of an axis the kernel has to be combined with the neutral value of
            // its accumulation; anything else is refused.
            if let (true, Op::Einsum { accumulate, combine, .. }) = (window.contains('='), &mut line.op) {
                *combine = match *accumulate {
                    Accumulate::Max | Accumulate::Min => Combine::Sum,
                    Accumulate::Sum | Accumulate::Product => Combine::Product,
                };
                if *accumulate == Accumulate::Product {
                    *accumulate = Accumulate::Sum;
                }
            }
            Some(line)
        }
        _ => {
            let spec = format!("{} => {result}", labelled.with(&label, window));
            let taps = 2 + random.below(2) as u64;
            Some(einsum(random, spec, vec![a], vec![("k".into(), taps)]))
        }
    }
}

/// Two tensors concatenated along an axis, or one with gaps.
fn joined(random: &mut Dice, first: &Shape, second: &Shape, a: Place, b: Place) -> Option<Line> {
    let (mine, other) = (Labelled::new(first, MINE), Labelled::new(second, MINE));
    let axes = mine.axes();
    let sum =
        |spec| Op::Einsum { spec, accumulate: Accumulate::Sum, combine: Combine::Product, sizes: Vec::new() };
    let (label, _) = axes.get(random.below(axes.len().max(1)))?;
    if random.below(3) == 0 {
        return Some(Line { op: sum(with_gaps(random, &mine, label)), operands: vec![a] });
    }
    let fits = mine.has_ranks_of(&other);
    fits.then(|| Line { op: sum(concatenated(&mine, &other, label)), operands: vec![a, b] })
}

/// An axis split into parts, or a part of it.
fn split(random: &mut Dice, labelled: &Labelled, a: Place) -> Option<Line> {
    let axes = labelled.axes();
    let (label, size) = axes.get(random.below(axes.len().max(1)))?.clone();
    if size < 2 {
        return None;
    }
    if random.below(3) == 0 {
        let spec = format!("{} => {}", labelled.with(&label, "1^o"), labelled.with(&label, "o"));
        return Some(einsum(random, spec, vec![a], Vec::new()));
    }
    let sizes = vec![("o".into(), 1 + random.below(size as usize - 1) as u64)];
    Some(Line { op: Op::Split { spec: parted(labelled, &label), sizes }, operands: vec![a] })
}

/// A slice of the batch, or rows of a table.
fn taken(random: &mut Dice, shape: &Shape, a: Place) -> Option<Line> {
    let op = match (shape.batch(), shape.input()) {
        ([batch, ..], _) if random.below(2) == 0 => Op::Slice(random.below(batch.size() as usize) as u64),
        ([batch, ..], _) => Op::SliceRun(random.below(batch.size() as usize) as u64),
        ([], [input]) => {
            Op::Gather((0..2 + random.below(4)).map(|_| random.below(input.size() as usize) as i64).collect())
        }
        _ => return None,
    };
    Some(Line { op, operands: vec![a] })
}
