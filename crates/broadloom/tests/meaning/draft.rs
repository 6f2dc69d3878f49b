//! A spec under construction: labels with sizes first, then shapes, then the text and the sizes of
//! all axes.

use broadloom_testing::Dice;

use crate::meaning::array::{Form, Size};

/// An axis of a draft.
#[derive(Clone, Debug)]
pub enum Axis {
    Label(usize),
    /// An index, and the size of the axis.
    Fixed(u64, Size),
    /// A wildcard, and the size of the axis.
    Wild(Size),
    Sum {
        stride: Factor,
        over: usize,
        offset: u64,
        window: Option<Window>,
    },
    Parts(Vec<Part>),
    /// A composed axis; a gap is a number in it.
    Composed(Vec<Part>),
}

/// A stride or a dilation, by name if it has one.
#[derive(Clone, Copy, Debug)]
pub struct Factor {
    pub value: u64,
    pub name: Option<&'static str>,
}

#[derive(Clone, Debug)]
pub struct Window {
    pub dilation: Factor,
    pub kernel: usize,
    pub padded: bool,
    /// True if the text marks the window as padded or not.
    pub marked: bool,
}

#[derive(Clone, Debug)]
pub enum Part {
    Label(usize),
    Gap(u64),
    /// A wildcard, and its length.
    Wild(u64),
}

/// A row: axes before a hole, the hole, axes after it.
#[derive(Clone, Debug, Default)]
pub struct Row {
    pub lead: Vec<Axis>,
    pub hole: Option<usize>,
    pub trail: Vec<Axis>,
}

impl Row {
    pub fn axes(&self) -> impl Iterator<Item = &Axis> {
        self.lead.iter().chain(&self.trail)
    }
}

/// Batch, input and output.
pub type Shape = [Row; 3];

/// Holes 0, 1 and 2 are the plain ones, by kind; the others have names.
pub const HOLES: [&str; 5] = ["...", "...", "...", "..r..", "..q.."];

#[derive(Clone, Debug, Default)]
pub struct Draft {
    pub names: Vec<&'static str>,
    pub sizes: Vec<Size>,
    /// The axes that each hole represents.
    pub holes: [Vec<Size>; 5],
    pub operands: Vec<Shape>,
    pub results: Vec<Shape>,
}

impl Draft {
    pub fn count(&self, label: usize) -> u64 {
        self.sizes[label].count()
    }

    /// The size of an axis, by definition.
    pub fn size(&self, axis: &Axis) -> Size {
        Size::Count(match axis {
            Axis::Label(label) => return self.sizes[*label],
            Axis::Fixed(_, size) | Axis::Wild(size) => return *size,
            Axis::Sum { stride, over, offset, window: None } => {
                let count = self.count(*over);
                (stride.value * count).max(stride.value * (count - 1) + offset + 1)
            }
            Axis::Sum { stride, over, window: Some(Window { padded: true, .. }), .. } => {
                stride.value * self.count(*over)
            }
            Axis::Sum { stride, over, offset, window: Some(window) } => {
                let span = 1 + window.dilation.value * (self.count(window.kernel) - 1);
                stride.value * (self.count(*over) - 1) + span + offset
            }
            Axis::Composed(parts) => parts.iter().map(|part| self.factor(part)).product(),
            Axis::Parts(parts) => parts
                .iter()
                .map(|part| match part {
                    Part::Label(label) => self.count(*label),
                    Part::Gap(size) | Part::Wild(size) => *size,
                })
                .sum(),
        })
    }

    fn factor(&self, part: &Part) -> u64 {
        match part {
            Part::Label(label) => self.count(*label),
            Part::Gap(size) | Part::Wild(size) => *size,
        }
    }

    /// The shape of a tensor.
    pub fn form(&self, shape: &Shape) -> Form {
        Form(shape.each_ref().map(|row| {
            let hole = row.hole.map_or(&[][..], |hole| &self.holes[hole]);
            let lead = row.lead.iter().map(|axis| self.size(axis));
            lead.chain(hole.iter().copied()).chain(row.trail.iter().map(|axis| self.size(axis))).collect()
        }))
    }

    pub fn shapes(&self) -> impl Iterator<Item = &Shape> {
        self.results.iter().chain(&self.operands)
    }

    /// The labels in an axis.
    pub fn labels(axis: &Axis) -> Vec<usize> {
        match axis {
            Axis::Label(label) => vec![*label],
            Axis::Fixed(..) | Axis::Wild(_) => Vec::new(),
            Axis::Sum { over, window, .. } => {
                [*over].into_iter().chain(window.as_ref().map(|window| window.kernel)).collect()
            }
            Axis::Parts(parts) | Axis::Composed(parts) => {
                let label = |part: &Part| if let Part::Label(label) = part { Some(*label) } else { None };
                parts.iter().filter_map(label).collect()
            }
        }
    }

    /// For each label, true if some shapes use it.
    pub fn used(&self, shapes: &[Shape]) -> Vec<bool> {
        let mut used = vec![false; self.sizes.len()];
        for axis in shapes.iter().flatten().flat_map(Row::axes) {
            Draft::labels(axis).into_iter().for_each(|label| used[label] = true);
        }
        used
    }

    /// The labels whose sizes follow from the operands: directly, or from all others of their axis.
    pub fn determined(&self) -> Vec<bool> {
        let mut known = vec![false; self.sizes.len()];
        loop {
            let before = known.clone();
            for axis in self.operands.iter().flatten().flat_map(Row::axes) {
                if let Axis::Sum { over, window: Some(Window { padded: true, .. }), .. } = axis {
                    known[*over] = true;
                    continue;
                }
                let wild = |part: &Part| matches!(part, Part::Wild(_));
                if matches!(axis, Axis::Parts(parts) if parts.iter().any(wild)) {
                    continue;
                }
                let unknown: Vec<usize> =
                    Draft::labels(axis).into_iter().filter(|label| !known[*label]).collect();
                if let [label] = unknown[..] {
                    known[label] = true;
                }
            }
            if known == before {
                return known;
            }
        }
    }

    /// An upper bound on the visited points.
    pub fn points(&self) -> u64 {
        let labels: u64 = self.sizes.iter().map(|size| size.count().max(1)).product();
        let holes: u64 = self.holes.iter().flatten().map(|size| size.count()).product();
        let gap = |part: &Part| if let Part::Gap(size) = part { *size } else { 1 };
        let wild = |axis: &Axis| match axis {
            Axis::Wild(size) => size.count(),
            Axis::Composed(parts) => parts.iter().map(gap).product(),
            _ => 1,
        };
        let wilds: u64 = self.shapes().flatten().flat_map(Row::axes).map(wild).product();
        labels * holes * wilds
    }

    /// The most axes that a row has.
    pub fn rank(&self) -> usize {
        self.shapes()
            .map(|shape| self.form(shape).0.iter().map(Vec::len).max().unwrap_or(0))
            .max()
            .unwrap_or(0)
    }

    /// The text; the separators decide whether labels may be words.
    pub fn text(&self, random: &mut Dice) -> String {
        let letters = self.names.iter().all(|name| name.len() == 1);
        let plain = |axis: &Axis| {
            matches!(axis, Axis::Label(_) | Axis::Fixed(..) | Axis::Wild(_) | Axis::Composed(_))
        };
        let blanks = letters && random.percent(50) && self.shapes().flatten().flat_map(Row::axes).all(plain);
        let separator = if blanks { " " } else { ", " };
        let side = |shapes: &[Shape], random: &mut Dice| {
            let shapes: Vec<String> =
                shapes.iter().map(|shape| self.shape(shape, separator, random)).collect();
            shapes.join("; ")
        };
        let operands = side(&self.operands, random);
        format!("{operands} => {}", side(&self.results, random))
    }

    fn shape(&self, shape: &Shape, separator: &str, random: &mut Dice) -> String {
        let row = |row: &Row| {
            let lead = row.lead.iter().map(|axis| self.axis(axis));
            let hole = row.hole.map(|hole| String::from(HOLES[hole]));
            let trail = row.trail.iter().map(|axis| self.axis(axis));
            lead.chain(hole).chain(trail).collect::<Vec<_>>().join(separator)
        };
        let [batch, input, output] = shape.each_ref().map(row);
        let batch = if batch.is_empty() && random.percent(80) { batch } else { format!("{batch} | ") };
        let input = if input.is_empty() && random.percent(80) { input } else { format!("{input} -> ") };
        format!("{batch}{input}{output}")
    }

    fn axis(&self, axis: &Axis) -> String {
        let factor = |factor: &Factor| match factor {
            Factor { name: Some(name), .. } => format!("{name}*"),
            Factor { value: 1, .. } => String::new(),
            Factor { value, .. } => format!("{value}*"),
        };
        match axis {
            Axis::Label(label) => String::from(self.names[*label]),
            Axis::Fixed(at, _) => at.to_string(),
            Axis::Wild(_) => String::from("_"),
            Axis::Sum { stride, over, offset, window } => {
                let mut text = format!("{}{}", factor(stride), self.names[*over]);
                if let Some(Window { dilation, kernel, padded, marked }) = window {
                    text += match (marked, padded) {
                        (false, _) => "",
                        (true, true) => "=",
                        (true, false) => "<",
                    };
                    text += &format!("+{}{}", factor(dilation), self.names[*kernel]);
                }
                if *offset > 0 {
                    text += &format!("+{offset}");
                }
                text
            }
            Axis::Parts(parts) | Axis::Composed(parts) => {
                let part = |part: &Part| match part {
                    Part::Label(label) => String::from(self.names[*label]),
                    Part::Gap(size) => size.to_string(),
                    Part::Wild(_) => String::from("_"),
                };
                let parts: Vec<String> = parts.iter().map(part).collect();
                match axis {
                    Axis::Composed(_) => format!("({})", parts.join(" ")),
                    _ => parts.join("^"),
                }
            }
        }
    }
}
