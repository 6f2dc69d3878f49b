//! The shape that the drawer intends for a tensor. The language may infer another one; the intended
//! shape only makes most programs sensible.

/// Three rows of sizes, as they are written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shape {
    /// Batch axes.
    pub batch: Vec<String>,
    /// Input axes.
    pub input: Vec<String>,
    /// Output axes.
    pub output: Vec<String>,
}

impl Shape {
    /// A shape with output axes only.
    pub fn vector(output: &[String]) -> Shape {
        Shape { output: output.to_vec(), ..Shape::default() }
    }

    /// A shape as it is declared.
    pub fn text(&self) -> String {
        let (batch, input) = (self.batch.join(", "), self.input.join(", "));
        let mut text = String::new();
        if !batch.is_empty() || (input.is_empty() && self.output.is_empty()) {
            text = format!("{batch} |");
        }
        if !input.is_empty() {
            text = format!("{text} {input} ->");
        }
        format!("{text} {}", self.output.join(", ")).trim().to_owned()
    }

    /// The shape that two shapes broadcast to, if they do.
    pub fn joined(&self, other: &Shape) -> Option<Shape> {
        Some(Shape {
            batch: joined(&self.batch, &other.batch)?,
            input: joined(&self.input, &other.input)?,
            output: joined(&self.output, &other.output)?,
        })
    }

    /// The shape that two shapes broadcast to, or the first one if they do not.
    pub fn joined_or_self(&self, other: &Shape) -> Shape {
        self.joined(other).unwrap_or_else(|| self.clone())
    }
}

/// Broadcasts two rows, from the last axis backwards.
fn joined(a: &[String], b: &[String]) -> Option<Vec<String>> {
    let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    let agree = long.iter().rev().zip(short.iter().rev()).all(|(a, b)| a == b);
    agree.then(|| long.to_vec())
}
