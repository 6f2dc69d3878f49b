//! Random programs: lines are proposed by the shapes that the program has with numbers in place of
//! its names, and added to both programs, the one with names and the one with numbers. Both have to
//! agree on each line.

use broadloom::{Accumulate, Combine, ErrorKind, Node, Shape};
use broadloom_testing::{Dice, ShownInPanic};

use crate::random_specs::{
    Labelled, MINE, Place, WINDOWS, combined, concatenated, is_small, parted, places, rearranged, recent,
    scattered, text, with_gaps,
};
use crate::symbolic::judge::{Counts, allowed};
use crate::symbolic::program::{Declared, Line, Made, Name, Op, Program, Said, Size};

/// The purpose of a program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Purpose {
    /// Large ranges, with numbers that have nothing in common.
    Shapes,
    /// Small ranges, so that all sizes can be enumerated.
    Enumeration,
    /// Small ranges, and everything can be run.
    Running,
}

/// A program, and numbers for its names at which it is valid.
pub struct Drawn {
    pub program: Program,
    pub guide: Vec<u64>,
}

/// The program of a seed, or the disagreement between the two programs.
pub fn draw(seed: u64, purpose: Purpose, counts: &mut Counts) -> Result<Drawn, String> {
    let mut random = Dice::new(seed + 77_000);
    let (names, guide) = names(&mut random, purpose);
    let mut it = Draft::new(Program { names, lines: Vec::new() }, guide, purpose);
    let leaves = 2 + random.below(3);
    for _ in 0..leaves {
        let line = leaf(&mut random, &it.program.names);
        it.offer(line, counts)?;
    }
    let wanted = it.program.lines.len() + 3 + random.below(9);
    let mut tries = 0;
    while it.program.lines.len() < wanted && tries < 60 {
        tries += 1;
        for line in propose(&mut random, &mut it) {
            if !it.offer(line, counts)? {
                break;
            }
        }
    }
    Ok(Drawn { program: it.program, guide: it.guide })
}

fn names(random: &mut Dice, purpose: Purpose) -> (Vec<Name>, Vec<u64>) {
    let all = ["batch", "seq", "width"];
    let count = 1 + random.below(3);
    // Divisible by the strides, and otherwise different.
    let guides = match purpose {
        Purpose::Shapes => [132, 156, 204],
        _ => random.pick(&[[12, 8, 10], [6, 12, 8], [8, 6, 12], [4, 6, 8]]),
    };
    let name = |at: usize| {
        let range = match purpose {
            Purpose::Shapes => {
                random.pick(&[(1, None), (2, None), (1, Some(512)), (7, Some(1000)), (1, None)])
            }
            _ => random.pick(&[(1, Some(12)), (2, Some(12)), (1, Some(12)), (3, Some(13)), (1, None)]),
        };
        let sample = if random.below(3) == 0 { None } else { Some(guides[at]) };
        let dynamic = at > 0 && random.below(10) == 0;
        let range = if dynamic { (1, None) } else { range };
        Name { name: all[at], range, sample, dynamic }
    };
    ((0..count).map(name).collect(), guides[..count].to_vec())
}

/// A program under construction, with names and with numbers.
pub struct Draft {
    program: Program,
    guide: Vec<u64>,
    purpose: Purpose,
    named: Made,
    plain: Made,
}

impl Draft {
    fn new(program: Program, guide: Vec<u64>, purpose: Purpose) -> Draft {
        let (named, plain) = (program.begin(None), program.begin(Some(&guide)));
        Draft { program, guide, purpose, named, plain }
    }

    /// Adds a line if the program is valid with it; both programs have to agree on that.
    fn offer(&mut self, line: Line, counts: &mut Counts) -> Result<bool, String> {
        let shown = ShownInPanic(|| {
            let mut program = self.program.clone();
            program.lines.push(line.clone());
            format!("the last line of this program makes a graph panic:\n{program}")
        });
        let named = self.named.add(&line).and_then(|()| self.named.graph.final_shapes());
        let plain = self.plain.add(&line).and_then(|()| self.plain.graph.final_shapes());
        drop(shown);
        let complaint = |what: &str| {
            let mut program = self.program.clone();
            program.lines.push(line.clone());
            format!("at its last line, and numbers {:?}, {what}\n{program}", self.guide)
        };
        let kept = match (named, plain) {
            (Ok(_), Ok(_)) => self.is_suitable(),
            (Err(named), Ok(_)) if named.kind() == ErrorKind::GaveUp => {
                counts.gave_up += 1;
                false
            }
            (Err(_), Ok(_)) if self.is_refused_at_large(&line) => {
                counts.for_some_sizes += 1;
                false
            }
            (Err(named), Ok(_)) => {
                return Err(complaint(&format!("names are refused and numbers are not: {named}")));
            }
            (Ok(_), Err(plain)) => {
                let pairs = self.program.pairs(&self.guide);
                if allowed(&self.program, &mut self.named.graph, &pairs) != Ok(false) {
                    return Err(complaint(&format!("numbers are refused and names are not: {plain}")));
                }
                counts.left_to_checks += 1;
                false
            }
            (Err(_), Err(_)) => {
                counts.refused += 1;
                false
            }
        };
        if kept {
            self.program.lines.push(line);
        } else {
            self.named = self.program.build(None).expect("it was built before");
            self.plain = self.program.build(Some(&self.guide)).expect("it was built before");
        }
        Ok(kept)
    }

    /// Returns true if a line is refused at numbers that are large and have little in common: then
    /// its validity depends on them.
    fn is_refused_at_large(&self, line: &Line) -> bool {
        let large = &[12 * 101, 12 * 109, 12 * 113][..self.guide.len()];
        let built = self.program.build(Some(large));
        built.and_then(|mut made| made.add(line).and_then(|()| made.graph.final_shapes())).is_err()
    }

    /// Returns true if the added results can be run, or need not be.
    fn is_suitable(&mut self) -> bool {
        let results = self.plain.results.last().cloned().unwrap_or_default();
        self.purpose != Purpose::Running
            || results.into_iter().all(|result| {
                let small = self.plain.graph.final_shape(result).is_ok_and(|shape| is_small(&shape, 2000));
                let is_leaf = matches!(self.plain.graph.node(result), Some(Node::Leaf { .. }));
                small && (is_leaf || self.plain.graph.projection(result).is_ok())
            })
    }

    fn shape(&mut self, (line, part): Place) -> Option<Shape> {
        self.plain.graph.final_shape(self.plain.results[line][part]).ok()
    }
}

fn size(random: &mut Dice, names: &[Name]) -> Size {
    match random.below(6) {
        0..4 => Size::Named(random.below(names.len())),
        4 => Size::Number(random.pick(&[2, 3, 4, 5])),
        _ => Size::Number(random.pick(&[1, 2, 6])),
    }
}

fn leaf(random: &mut Dice, names: &[Name]) -> Line {
    let mut row = |least: usize, most: usize| -> Vec<Size> {
        let count = least + random.below(most - least + 1);
        (0..count).map(|_| size(random, names)).collect()
    };
    let (batch, input, output) = (row(0, 2), row(0, 1), row(0, 2));
    let shape = Declared([batch, input, output]);
    let op = match random.below(12) {
        0 => Op::Range(Declared([Vec::new(), Vec::new(), vec![size(random, names)]])),
        1 => Op::Constant(random.pick(&[0.5, 1.5])),
        2 => Op::ParamShaped(Declared([Vec::new(), vec![size(random, names)], vec![size(random, names)]])),
        _ => Op::Data(shape),
    };
    Line { op, operands: Vec::new() }
}

fn einsum(random: &mut Dice, spec: String, operands: Vec<Place>, said: Vec<Said>) -> Vec<Line> {
    use Accumulate::{Max, Min, Sum};
    let accumulate = random.pick(&[Sum, Sum, Sum, Sum, Max, Min]);
    vec![Line { op: Op::Einsum { spec, accumulate, combine: Combine::Product, said }, operands }]
}

fn sum(spec: impl Into<String>, operands: Vec<Place>) -> Vec<Line> {
    let op = Op::Einsum {
        spec: spec.into(),
        accumulate: Accumulate::Sum,
        combine: Combine::Product,
        said: Vec::new(),
    };
    vec![Line { op, operands }]
}

/// Specs for operands of any shape: of one operand, and of two.
const WILD: [&str; 16] = [
    "... | ..., i => ... | ..., 0",
    "... | 2*i => ... | i",
    "... | ..., a => ... | ..., 2^a^1",
    "b | i => i | b",
    "... | 1^a => ... | a",
    "... | ..., i => ... | ..., 3*i",
    "... | ..., 2*i+1 => ... | ..., i",
    "... | ..., a^b => ... | ..., a",
    "..b.. | i => i -> ..b..",
    "... | ..., o<+2*k => ... | ..., o, k",
    "... | ..., o=+k => ... | ..., o",
    "... | 2 => ... | 0",
    "i, ... => i, ..., i",
    "... | a^b => ... | b^a",
    "... | ..., 2*o<+k => ... | ..., k, o",
    "i, i => i",
];
const WILD_PAIRS: [&str; 7] = [
    "... | ..., a; ... | ..., b => ... | ..., a^b",
    "... | o<+k; k => ... | o",
    "... | ..., 2*o=+k; k => ... | ..., o",
    "... | ..., i; ... | ..., i => ... |",
    "... | a^b; ... | b => ... | a",
    "... | a; ... | b => ... | a^b^c",
    "... | i; ... | j => ... | i -> j",
];

/// Lines that may be accepted; a later one may read an earlier one.
fn propose(random: &mut Dice, it: &mut Draft) -> Vec<Line> {
    let places = places(&it.plain.results);
    if places.is_empty() {
        return vec![leaf(random, &it.program.names)];
    }
    let mut place = || recent(random, &places, 2);
    let (a, b, c) = (place(), place(), place());
    let (Some(first), Some(second)) = (it.shape(a), it.shape(b)) else { return Vec::new() };
    let labelled = Labelled::new(&first, MINE);
    let next = it.program.lines.len();
    let wild = it.purpose != Purpose::Running;
    let names = it.program.names.clone();
    let one = |op| vec![Line { op, operands: vec![a] }];
    let two = |op| vec![Line { op, operands: vec![a, b] }];
    match random.below(if wild { 33 } else { 27 }) {
        0 => one(Op::Pointwise(random.pick(&["tanh", "sin", "sigmoid", "relu", "abs", "neg", "square"]))),
        1 => one(Op::Number(random.pick(&["+", "*", "-", "/", "max"]), random.pick(&[0.5, -0.7, 1.3]))),
        2..=4 => two(Op::Pointwise(random.pick(&["+", "-", "*", "*", "max", "min", "<"]))),
        5 => vec![Line { op: Op::Pointwise("where"), operands: vec![a, b, c] }],
        6 => two(Op::Compose),
        7 => vec![Line { op: Op::ComposeAccumulate, operands: vec![a, b, c] }],
        8 => one(Op::Transpose),
        9 => leaf_for(random, &names, a, next),
        10 | 11 => layer(random, &names, a, next),
        12 => {
            let spec = rearranged(random, &labelled);
            einsum(random, spec, vec![a], Vec::new())
        }
        13 | 14 => {
            let spec = combined(random, &labelled, &second);
            einsum(random, spec, vec![a, b], Vec::new())
        }
        15..=17 => window(random, &labelled, a, next),
        18 | 19 => joined(random, &labelled, &second, a, b),
        20 => split(random, &labelled, a),
        21 => sliced(random, &first, a),
        22 => embedded(random, &names, &first, a, next),
        23 | 24 => mean(random, &labelled, a),
        25 => softmax(&labelled, a),
        26 => vec![leaf(random, &names)],
        27 | 28 => sum(random.pick(&WILD), vec![a]),
        29 => sum(random.pick(&WILD_PAIRS), vec![a, b]),
        30 => counted(random, &names, a, next),
        31 => captured(random, &labelled, a, next),
        _ => one(random.pick(&[Op::Convert(2, 1), Op::Convert(1, 2), Op::Convert(4, 1), Op::Square])),
    }
}

/// A leaf with little information about its shape, combined with a tensor.
fn leaf_for(random: &mut Dice, names: &[Name], a: Place, next: usize) -> Vec<Line> {
    let op = match random.below(6) {
        0 => Op::Param,
        1 => Op::Constant(0.5),
        2 => Op::ParamShaped(Declared([Vec::new(), Vec::new(), vec![Size::Open("c")]])),
        3 => Op::Data(Declared([vec![Size::Open("...")], Vec::new(), vec![size(random, names)]])),
        4 => Op::Data(Declared([vec![Size::Open("_")], Vec::new(), vec![Size::Open("n"), Size::Open("_")]])),
        _ => Op::Data(Declared([Vec::new(), Vec::new(), vec![size(random, names)]])),
    };
    let leaf = Line { op, operands: Vec::new() };
    let used = Op::Pointwise(random.pick(&["+", "*", "-"]));
    vec![leaf, Line { op: used, operands: vec![a, (next, 0)] }]
}

/// A parameter composed with a tensor.
fn layer(random: &mut Dice, names: &[Name], a: Place, next: usize) -> Vec<Line> {
    let open = || vec![Size::Open("...")];
    let output = match random.below(5) {
        0 => size(random, names),
        _ => Size::Number(random.pick(&[2, 3, 5])),
    };
    let op = match random.below(6) {
        0 => Op::Param,
        1 => Op::ParamShaped(Declared([Vec::new(), vec![Size::Open("n")], vec![Size::Open("n")]])),
        _ => Op::ParamShaped(Declared([Vec::new(), open(), vec![output]])),
    };
    vec![
        Line { op, operands: Vec::new() },
        Line { op: Op::Compose, operands: vec![(next, 0), a] },
        Line { op: Op::Pointwise(random.pick(&["relu", "tanh", "sigmoid"])), operands: vec![(next + 1, 0)] },
    ]
}

/// A window, a stride or an offset along one axis, with or without a kernel.
fn window(random: &mut Dice, labelled: &Labelled, a: Place, next: usize) -> Vec<Line> {
    let axes = labelled.axes();
    if axes.is_empty() {
        return Vec::new();
    }
    let (label, _) = random.pick(&axes);
    let result = labelled.with(&label, "o");
    let plain = random.pick(&["2*o", "2*o", "2*o+1", "3*o+2", "o+1", "o+2"]);
    let backwards = random.pick(&["2*o", "2*o+1", "3*o+1", "o+2", "2*o+3"]);
    let window = random.pick(&WINDOWS);
    let taps = 1 + random.below(3) as u64;
    match random.below(6) {
        0 => einsum(random, format!("{} => {result}", labelled.with(&label, plain)), vec![a], Vec::new()),
        1 => sum(format!("{} => {}", labelled.with(&label, "o"), labelled.with(&label, backwards)), vec![a]),
        2 | 3 => {
            let kernel = Op::ParamShaped(Declared([Vec::new(), Vec::new(), vec![Size::Number(taps)]]));
            let spec = format!("{}; k => {result}", labelled.with(&label, window));
            let mut lines = vec![Line { op: kernel, operands: Vec::new() }];
            lines.extend(sum(spec, vec![a, (next, 0)]));
            lines
        }
        _ => {
            let spec = format!("{} => {result}", labelled.with(&label, window));
            einsum(random, spec, vec![a], vec![Said::Set("k".into(), taps)])
        }
    }
}

/// Two tensors concatenated along an axis, or one with gaps.
fn joined(random: &mut Dice, mine: &Labelled, second: &Shape, a: Place, b: Place) -> Vec<Line> {
    let other = Labelled::new(second, MINE);
    let axes = mine.axes();
    if axes.is_empty() {
        return Vec::new();
    }
    let (label, _) = random.pick(&axes);
    if random.below(3) == 0 {
        return sum(with_gaps(random, mine, &label), vec![a]);
    }
    let (other, b) = if mine.has_ranks_of(&other) { (&other, b) } else { (mine, a) };
    sum(concatenated(mine, other, &label), vec![a, b])
}

/// An axis split into parts, or a part of it.
fn split(random: &mut Dice, labelled: &Labelled, a: Place) -> Vec<Line> {
    let axes = labelled.axes();
    if axes.is_empty() {
        return Vec::new();
    }
    let (label, _) = random.pick(&axes);
    let spec = |parts: &str| labelled.with(&label, parts);
    if random.below(3) == 0 {
        let spec = format!("{} => {}", spec(random.pick(&["1^o", "o^2"])), spec("o"));
        return einsum(random, spec, vec![a], Vec::new());
    }
    let said = match random.below(4) {
        0 => Vec::new(),
        1 => vec![Said::Equal("o".into(), "p".into())],
        _ => vec![Said::Set("o".into(), 1 + random.below(3) as u64)],
    };
    vec![Line { op: Op::Split { spec: parted(labelled, &label), said }, operands: vec![a] }]
}

/// A slice of the batch.
fn sliced(random: &mut Dice, shape: &Shape, a: Place) -> Vec<Line> {
    if shape.batch().is_empty() {
        return Vec::new();
    }
    let at = random.pick(&[0, 0, 1, 2]);
    let op = if random.below(2) == 0 { Op::Slice(at) } else { Op::SliceRun(0) };
    vec![Line { op, operands: vec![a] }]
}

/// Rows of a table: of a parameter, or of a tensor with the form of a table.
fn embedded(random: &mut Dice, names: &[Name], shape: &Shape, a: Place, next: usize) -> Vec<Line> {
    let ids = Declared([vec![size(random, names); 1 + random.below(2)], Vec::new(), Vec::new()]);
    if shape.batch().is_empty() && shape.input().len() == 1 {
        // Indices that are valid at every size: only the first row.
        return vec![
            Line { op: Op::Ids(ids, 1), operands: Vec::new() },
            Line { op: Op::Gather, operands: vec![a, (next, 0)] },
        ];
    }
    let below = random.pick(&[3, 5]);
    let table = Declared([Vec::new(), vec![Size::Number(below)], vec![Size::Number(random.pick(&[2, 3]))]]);
    vec![
        Line { op: Op::Ids(ids, below), operands: Vec::new() },
        Line { op: Op::ParamShaped(table), operands: Vec::new() },
        Line { op: Op::Gather, operands: vec![(next + 1, 0), (next, 0)] },
    ]
}

/// The mean over some axes, by their sizes.
fn mean(random: &mut Dice, labelled: &Labelled, a: Place) -> Vec<Line> {
    let axes = labelled.axes();
    let (over, kept): (Vec<_>, Vec<_>) =
        axes.into_iter().map(|(label, _)| label).partition(|_| random.below(2) == 0);
    if over.is_empty() {
        return Vec::new();
    }
    let result = if random.below(2) == 0 {
        scattered(random, &kept)
    } else {
        let axis = |(own, _): (String, u64)| if over.contains(&own) { "0".to_string() } else { own };
        text(&labelled.rows.clone().map(|row| row.into_iter().map(axis).collect()))
    };
    vec![Line { op: Op::Mean { spec: format!("{} => {result}", labelled.text()), over }, operands: vec![a] }]
}

/// Softmax along the last output axis.
fn softmax(labelled: &Labelled, a: Place) -> Vec<Line> {
    let Some((label, _)) = labelled.rows[2].last() else { return Vec::new() };
    let spec = format!("{} => {}", labelled.text(), labelled.with(label, "0"));
    vec![Line { op: Op::Softmax(spec), operands: vec![a] }]
}

/// Data of which only the number of elements is known.
fn counted(random: &mut Dice, names: &[Name], a: Place, next: usize) -> Vec<Line> {
    let rows = random.pick(&[
        [vec![], vec![], vec![Size::Open("...")]],
        [vec![Size::Open("...")], vec![], vec![Size::Open("_")]],
        [vec![Size::Open("_")], vec![], vec![Size::Number(2)]],
    ]);
    let mut shape = Declared(rows);
    if random.below(2) == 0 {
        shape.0[0] = vec![Size::Named(random.below(names.len()))];
    }
    let leaf = Line { op: Op::Counted(shape, random.pick(&[12, 24, 132])), operands: Vec::new() };
    let used = Line { op: Op::Pointwise("+"), operands: vec![a, (next, 0)] };
    if random.below(2) == 0 { vec![leaf] } else { vec![leaf, used] }
}

/// A parameter along a new label, whose size is set by another label.
fn captured(random: &mut Dice, labelled: &Labelled, a: Place, next: usize) -> Vec<Line> {
    let axes = labelled.axes();
    if axes.is_empty() {
        return Vec::new();
    }
    let (label, _) = random.pick(&axes);
    let spec = format!("{}; {label}, h -> => {}", labelled.text(), labelled.with(&label, "h"));
    let spec = spec.replace(&format!("; {label}, h -> =>"), &format!("; | {label} -> h =>"));
    let said = match random.below(3) {
        0 => Said::Scale("h".into(), 2, label),
        1 => Said::Scale(label, 2, "h".into()),
        _ => Said::Equal("h".into(), label),
    };
    let op = Op::Einsum { spec, accumulate: Accumulate::Sum, combine: Combine::Product, said: vec![said] };
    vec![Line { op: Op::Param, operands: Vec::new() }, Line { op, operands: vec![a, (next, 0)] }]
}
