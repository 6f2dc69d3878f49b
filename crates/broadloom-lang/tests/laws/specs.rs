//! Random specs for a tensor with an intended shape: labels, rows of any number of axes, windows.

use super::drawer::{Drawer, strip};
use super::program::{Expr, Kind};
use super::shape::Shape;

/// Labels of batch, input and output axes.
const LABELS: [[&str; 4]; 3] = [["a", "b", "c", "d"], ["i", "j", "k", "l"], ["o", "p", "q", "r"]];

/// A row of a spec: labels with their sizes, and perhaps `...`.
#[derive(Clone, Default)]
struct Row {
    /// Labels with their sizes; `...` has the sizes that it stands for.
    axes: Vec<(String, Vec<String>)>,
}

impl Row {
    fn text(&self) -> String {
        self.axes.iter().map(|(label, _)| label.as_str()).collect::<Vec<_>>().join(", ")
    }

    fn sizes(&self) -> Vec<String> {
        self.axes.iter().flat_map(|(_, sizes)| sizes.clone()).collect()
    }
}

fn text(rows: &[Row; 3]) -> String {
    let [batch, input, output] = rows.each_ref().map(Row::text);
    let mut text = String::new();
    if !batch.is_empty() {
        text = format!("{batch} | ");
    }
    if !input.is_empty() {
        text = format!("{text}{input} -> ");
    }
    format!("{text}{output}").trim().to_owned()
}

impl Drawer<'_> {
    /// An `einsum` of one tensor or two.
    pub(super) fn spec(&mut self, depth: usize) -> (Expr, Shape) {
        let (x, shape) = self.tensor(depth);
        if [&shape.batch, &shape.input, &shape.output].iter().any(|row| row.len() > 4) {
            return (x, shape);
        }
        let operand = [&shape.batch, &shape.input, &shape.output].map(Clone::clone);
        let operand: [Row; 3] = std::array::from_fn(|kind| self.row(&operand[kind], kind));
        let mut result: [Row; 3] = operand.clone().map(|row| self.kept(row));
        // An axis may change its kind.
        if self.dice().percent(15) {
            let (from, to) = (self.dice().below(3), self.dice().below(3));
            let moved = result[from].axes.iter().position(|(label, _)| label != "...");
            if let Some(at) = moved {
                let axis = result[from].axes.remove(at);
                result[to].axes.push(axis);
            }
        }
        let (mut specs, mut parts) = (vec![text(&operand)], vec![x]);
        if self.dice().percent(45) {
            let (spec, part) = self.second(&operand, &mut result, &shape, &parts[0]);
            specs.push(spec);
            parts.push(part);
        }
        let [batch, input, output] = result.each_ref().map(Row::sizes);
        let mut shown = text(&result);
        if self.dice().percent(5) && result[2].axes.iter().all(|(label, _)| label != "0") {
            shown = format!("{shown}, 0").trim_start_matches(", ").to_owned();
        }
        if shown.ends_with("->, 0") || shown.ends_with("|, 0") {
            shown = text(&result);
        }
        let specs: Vec<&str> = specs.iter().map(String::as_str).collect();
        (Expr::spec("einsum", &specs, Some(&shown), parts), Shape { batch, input, output })
    }

    /// Draws a row of a spec: labels, with `...` in place of some neighbours.
    fn row(&mut self, sizes: &[String], kind: usize) -> Row {
        let mut axes: Vec<(String, Vec<String>)> = sizes
            .iter()
            .zip(LABELS[kind])
            .map(|(size, label)| (label.to_owned(), vec![size.clone()]))
            .collect();
        let chance = if kind == 0 || !sizes.is_empty() { 65 } else { 25 };
        if self.dice().percent(chance) {
            let start = self.dice().below(sizes.len() + 1);
            let end = start + self.dice().below(sizes.len() - start + 1);
            let (start, end) =
                if kind == 0 && self.dice().percent(60) { (0, sizes.len()) } else { (start, end) };
            axes.splice(start..end, [("...".to_owned(), sizes[start..end].to_vec())]);
        }
        Row { axes }
    }

    /// Draws the part of a row that the result keeps, sometimes in another order.
    fn kept(&mut self, row: Row) -> Row {
        let mut axes = row.axes;
        axes.retain(|(label, _)| self.dice().percent(if label == "..." { 92 } else { 85 }));
        if axes.len() > 1 && self.dice().percent(20) {
            axes.reverse();
        }
        Row { axes }
    }

    /// Draws a second operand: a new parameter with some labels of the first, perhaps with a new
    /// label, or a tensor like the first.
    fn second(
        &mut self,
        operand: &[Row; 3],
        result: &mut [Row; 3],
        shape: &Shape,
        first: &Expr,
    ) -> (String, Expr) {
        if self.dice().percent(30) {
            // Parameters in an expression are made only once.
            let again = (strip(first) == *first).then(|| first.clone());
            if let Some(same) = self.like(shape).or(again) {
                return (text(operand), same);
            }
        }
        let mut rows: [Row; 3] = Default::default();
        let labels: Vec<(String, Vec<String>)> = operand[2].axes.clone();
        rows[2].axes = labels.into_iter().filter(|_| self.dice().percent(70)).collect();
        if self.dice().percent(50) {
            // A map: the outputs of the first operand are its inputs.
            rows.swap(1, 2);
            rows[1].axes.retain(|(label, _)| label != "...");
            let axis = ("z".to_owned(), vec![self.size()]);
            rows[2].axes.push(axis.clone());
            if self.dice().percent(90) {
                let used: Vec<&String> = rows[1].axes.iter().map(|(label, _)| label).collect();
                result[2].axes.retain(|(label, _)| !used.contains(&label));
                result[2].axes.push(axis);
            }
        }
        let meant = Shape { batch: vec![], input: rows[1].sizes(), output: rows[2].sizes() };
        let stated = self.dice().percent(25).then(|| meant.text());
        (text(&rows), self.new_param(stated, meant).0)
    }

    /// A window over the first output axis of a tensor, with its size set or inferred.
    pub(super) fn window_line(&mut self) {
        let (x, shape) = self.tensor(1);
        let Some(size) = shape.output.first().and_then(|size| size.parse::<u64>().ok()) else {
            let value = Expr::call("tanh", vec![x]);
            self.bind("h", value, shape);
            return;
        };
        let kernel = 1 + self.dice().below(3) as u64;
        let (axis, left) = match self.dice().below(6) {
            0 => ("o<+k", (size + 1).saturating_sub(kernel)),
            1 => ("o=+k", size),
            2 => ("2*o<+k", (size.saturating_sub(kernel)) / 2 + 1),
            3 => ("2*o=+k", size / 2),
            4 => ("2*o~+k", (size.saturating_sub(kernel)) / 2 + 1),
            _ => ("o<+2*k", size.saturating_sub(2 * (kernel - 1))),
        };
        let mut meant = shape.clone();
        meant.output[0] = left.max(1).to_string();
        let (lead, input) = if shape.input.is_empty() { ("... | ", "") } else { ("... | ", "... -> ") };
        let (operand, result) = (format!("{lead}{input}{axis}, ..."), format!("{lead}{input}o, ..."));
        let stated = self.dice().percent(50).then(|| kernel.to_string());
        let with_kernel = self.dice().percent(70);
        let value = if with_kernel {
            let window = self.new_param(stated, Shape::vector(&[kernel.to_string()])).0;
            Expr::spec("einsum", &[&operand, "k"], Some(&result), vec![x, window])
        } else {
            Expr::spec("max", &[&operand], Some(&result), vec![x])
        };
        let name = self.bind("h", value, meant);
        if self.dice().percent(if with_kernel { 20 } else { 75 }) {
            self.push(Kind::Set { tensor: name, label: "k".to_owned(), size: kernel.to_string() });
        }
    }
}
