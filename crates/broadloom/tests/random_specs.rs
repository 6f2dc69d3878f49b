//! Parts of random programs that several drawers share: operands among earlier results, and specs for operands of known shapes.
//!
//! A drawer proposes lines for a graph with numbers for all sizes, and wraps the specs of this module in operations of its own.

use broadloom::{Shape, Tensor};
use broadloom_testing::Dice;

/// Labels for the axes of an operand, and of another one.
pub const MINE: &str = "abcdefgh";
const OTHER: &str = "qrstuvwx";

/// Windows over a label `o` with a kernel along `k`.
pub const WINDOWS: [&str; 8] = ["o<+k", "o=+k", "o=+k", "2*o<+k", "2*o=+k", "o<+2*k", "o=+2*k", "3*o=+k"];

/// The most axes of a tensor that is run.
const AXES: usize = 5;

/// A result of a line: the line, and the index of the result.
pub type Place = (usize, usize);

/// The places of all results of some lines.
pub fn places(results: &[Vec<Tensor>]) -> Vec<Place> {
    let of_line = |(line, results): (usize, &Vec<Tensor>)| (0..results.len()).map(move |part| (line, part));
    results.iter().enumerate().flat_map(of_line).collect()
}

/// The latest of so many places that are drawn: recent results are taken more often, so that programs are deep.
pub fn recent(random: &mut Dice, places: &[Place], drawn: usize) -> Place {
    let back = (0..drawn).map(|_| random.below(places.len())).min().unwrap_or(0);
    places[places.len() - 1 - back]
}

/// Returns true if a tensor of a shape is small enough to be run.
pub fn is_small(shape: &Shape, elements: u64) -> bool {
    let axes = shape.batch().len() + shape.input().len() + shape.output().len();
    shape.elements() <= elements && axes <= AXES
}

/// The three rows of a shape, each axis with a label.
pub struct Labelled {
    /// Batch, input, output.
    pub rows: [Vec<(String, u64)>; 3],
}

impl Labelled {
    pub fn new(shape: &Shape, letters: &str) -> Labelled {
        let mut letters = letters.chars();
        let rows = [shape.batch(), shape.input(), shape.output()].map(|row| {
            row.iter()
                .map(|axis| (letters.next().map_or_else(String::new, String::from), axis.size()))
                .collect()
        });
        Labelled { rows }
    }

    pub fn axes(&self) -> Vec<(String, u64)> {
        self.rows.iter().flatten().cloned().collect()
    }

    pub fn text(&self) -> String {
        text(&self.rows.clone().map(|row| row.into_iter().map(|(label, _)| label).collect()))
    }

    /// The text with one axis replaced.
    pub fn with(&self, label: &str, written: &str) -> String {
        let axis = |(own, _): (String, u64)| if own == label { written.to_string() } else { own };
        text(&self.rows.clone().map(|row| row.into_iter().map(axis).collect()))
    }

    /// Returns true if another shape has as many axes in each row.
    pub fn has_ranks_of(&self, other: &Labelled) -> bool {
        self.rows.each_ref().map(Vec::len) == other.rows.each_ref().map(Vec::len)
    }
}

/// Rows in the notation of specs; the comma makes labels words.
pub fn text(rows: &[Vec<String>; 3]) -> String {
    let [batch, input, output] = rows.each_ref().map(|row| row.join(", "));
    format!("{batch} | {input} -> {output}")
}

/// Labels in random rows.
pub fn scattered(random: &mut Dice, labels: &[String]) -> String {
    let mut rows: [Vec<String>; 3] = Default::default();
    labels.iter().for_each(|label| rows[random.pick(&[0, 1, 2, 2])].push(label.clone()));
    text(&rows)
}

/// A spec of one operand: axes in other rows, some of them accumulated, and possibly a diagonal.
pub fn rearranged(random: &mut Dice, labelled: &Labelled) -> String {
    let mut axes = labelled.axes();
    let mut written = labelled.text();
    if axes.len() > 1 && axes[0].1 == axes[1].1 && random.below(3) == 0 {
        written = labelled.with(&axes[1].0, &axes[0].0);
        axes.remove(1);
    }
    random.shuffle(&mut axes);
    let labels: Vec<String> =
        axes.iter().filter(|_| random.below(3) > 0).map(|(label, _)| label.clone()).collect();
    format!("{written} => {}", scattered(random, &labels))
}

/// A spec of two operands, whose axes of equal size may be identified.
pub fn combined(random: &mut Dice, first: &Labelled, second: &Shape) -> String {
    let mut other = Labelled::new(second, OTHER);
    let mine = first.axes();
    let mut used: Vec<String> = Vec::new();
    for (label, size) in other.rows.iter_mut().flatten() {
        let same = mine.iter().find(|(mine, at)| at == size && !used.contains(mine));
        if let Some((same, _)) = same
            && random.below(4) > 0
        {
            used.push(same.clone());
            *label = same.clone();
        }
    }
    let mut all: Vec<String> = Vec::new();
    for (label, _) in mine.into_iter().chain(other.axes()) {
        if !all.contains(&label) {
            all.push(label);
        }
    }
    random.shuffle(&mut all);
    let labels: Vec<String> = all.into_iter().filter(|_| random.below(2) > 0).collect();
    format!("{}; {} => {}", first.text(), other.text(), scattered(random, &labels))
}

/// A spec that puts gaps around an axis.
pub fn with_gaps(random: &mut Dice, labelled: &Labelled, label: &str) -> String {
    let written = random.pick(&["1^o", "o^2", "2^o^1"]);
    format!("{} => {}", labelled.with(label, "o"), labelled.with(label, written))
}

/// A spec that takes an axis apart, or puts all axes of a shape together; and the size of a label that it has to be given.
pub fn composed(random: &mut Dice, labelled: &Labelled, label: &str) -> (String, Option<(String, u64)>) {
    let mut axes = labelled.axes();
    let size = axes.iter().find(|(own, _)| own == label).map_or(1, |(_, size)| *size);
    let factors: Vec<u64> = (2..=size).filter(|factor| size % factor == 0).collect();
    if factors.is_empty() || random.below(3) == 0 {
        random.shuffle(&mut axes);
        let labels: Vec<String> = axes.into_iter().map(|(label, _)| label).collect();
        let (first, last) = labels.split_at(random.below(labels.len() + 1));
        let group = |labels: &[String]| format!("({})", labels.join(" "));
        return (format!("{} => {} | {},", labelled.text(), group(first), group(last)), None);
    }
    let factor = random.pick(&factors);
    let (apart, kept) = match random.below(2) {
        0 => {
            let apart = random.pick(&["(o F)", "(F o)"]).replace('F', &factor.to_string());
            (apart, random.pick(&["o", "(o 2)", "(3 o)"]))
        }
        _ => (String::from("(o p)"), random.pick(&["o, p", "(p o)", "(p 2 o)", "p", "(o o)"])),
    };
    let given = apart.contains('p').then(|| (String::from("p"), factor));
    (format!("{} => {}", labelled.with(label, &apart), labelled.with(label, kept)), given)
}

/// A spec that concatenates two operands of equal ranks along an axis.
pub fn concatenated(mine: &Labelled, other: &Labelled, label: &str) -> String {
    format!("{}; {} => {}", mine.with(label, "o"), other.with(label, "p"), mine.with(label, "o^p"))
}

/// A spec that splits an axis into the parts `o` and `p`, two results.
pub fn parted(labelled: &Labelled, label: &str) -> String {
    let spec = |parts: &str| labelled.with(label, parts);
    format!("{} => {}; {}", spec("o^p"), spec("o"), spec("p"))
}
