//! Random specs for tensors that are meant to have some shapes.

use super::drawer::{Drawer, Value};
use super::function::{Item, Meant};

/// Labels that specs use.
const LABELS: [&str; 12] = ["a", "c", "d", "e", "h", "i", "j", "k", "p", "q", "s", "t"];

/// A part of a row of a spec, and what it is meant to be.
type Token = (String, Vec<Item>);

/// The names that labels and rows stand for.
#[derive(Default)]
struct Table {
    labels: Vec<(String, String)>,
}

impl Table {
    /// The label of an axis that is meant to have a size; another one if it is wanted anew.
    fn label(&mut self, size: &str, anew: bool) -> String {
        let known = self.labels.iter().find(|(own, _)| own == size).filter(|_| !anew);
        if let Some((_, label)) = known {
            return label.clone();
        }
        let taken = |label: &&&str| self.labels.iter().all(|(_, own)| own != **label);
        let plain = LABELS.iter().find(|label| **label == size).filter(taken);
        let label = plain.or_else(|| LABELS.iter().find(taken)).map_or("z", |label| label);
        self.labels.push((size.to_owned(), label.to_owned()));
        label.to_owned()
    }
}

fn text(rows: &[Vec<Token>; 3]) -> String {
    let [batch, input, output] =
        rows.each_ref().map(|row| row.iter().map(|(token, _)| token.as_str()).collect::<Vec<_>>().join(", "));
    let batch = if batch.is_empty() { batch } else { format!("{batch} | ") };
    let input = if input.is_empty() { input } else { format!("{input} -> ") };
    format!("{batch}{input}{output}").trim().to_owned()
}

impl Drawer<'_> {
    /// An `einsum`, or another reduction by a spec, of one tensor or of two; the second may be a new parameter.
    pub(super) fn spec_of(&mut self, x: String, meant: &Meant, other: Option<(String, Meant)>) -> Value {
        let mut table = Table::default();
        // Rows are written as `...`, or with names.
        let named = self.dice.percent(30);
        let first = self.operand(meant, &mut table, named);
        let mut result = first.clone().map(|row| self.kept(row));
        let (mut specs, mut uses, mut operands) = (vec![text(&first)], vec![x], vec!["$0".to_owned()]);
        if let Some((y, meant)) = other {
            let second = self.operand(&meant, &mut table, named);
            self.add(&mut result, &second, &first);
            specs.push(text(&second));
            uses.push(y);
            operands.push("$1".to_owned());
        } else if self.dice.percent(55) {
            let second = self.map_for(&first, &mut result, &mut table);
            specs.push(text(&second));
            let meant =
                second.each_ref().map(|row| row.iter().flat_map(|(_, items)| items.clone()).collect());
            operands.push(self.param(&Meant(meant)).text);
        }
        self.moved(&mut result);
        if self.dice.percent(4) {
            let row = self.dice.below(3);
            result[row].push(("0".into(), vec![Item::Axis("0".into())]));
        }
        let all = specs.join("; ");
        // A row that no operand has cannot be in the result.
        for (kind, row) in result.iter_mut().enumerate() {
            row.retain(|(token, _)| token != "..." || specs.iter().any(|spec| has_dots(spec, kind)));
        }
        let function = if operands.len() > 1 {
            "einsum"
        } else {
            self.dice.pick(&["einsum", "einsum", "sum", "max", "mean"])
        };
        let meant =
            Meant(result.each_ref().map(|row| row.iter().flat_map(|(_, items)| items.clone()).collect()));
        let text = format!("{function}(\"{all} => {}\", {})", text(&result), operands.join(", "));
        Value { text, uses, meant }
    }

    /// Writes a tensor as an operand: labels for axes, `...` or `..r..` for rows.
    fn operand(&mut self, meant: &Meant, table: &mut Table, named: bool) -> [Vec<Token>; 3] {
        let rows = meant.0.clone();
        let mut kind = 0;
        rows.map(|row| {
            kind += 1;
            self.row(&row, kind - 1, table, named)
        })
    }

    fn row(&mut self, items: &[Item], kind: usize, table: &mut Table, named: bool) -> Vec<Token> {
        let is_row = |item: &Item| matches!(item, Item::Row(_));
        // One row at most: what is between two of them is a part of it, and sometimes a neighbour, too.
        let mut first = items.iter().position(is_row);
        let mut last = items.iter().rposition(is_row);
        if first.is_none() && self.dice.percent(if kind == 0 { 25 } else { 10 }) {
            let at = self.dice.below(items.len() + 1);
            (first, last) = if at < items.len() { (Some(at), Some(at)) } else { (None, None) };
        }
        let mut tokens = Vec::new();
        for (at, item) in items.iter().enumerate() {
            match (first, last) {
                (Some(from), Some(to)) if at == from => {
                    let name = match item {
                        Item::Row(name) | Item::Axis(name)
                            if named && name.chars().all(char::is_alphabetic) =>
                        {
                            format!("..{name}..")
                        }
                        _ => "...".to_owned(),
                    };
                    // Sometimes the author has one axis where there may be several.
                    let alone = self.dice.percent(8);
                    let token = match item {
                        Item::Row(name) if alone && from == to => table.label(name, false),
                        _ => name,
                    };
                    tokens.push((token, items[from..=to].to_vec()));
                }
                (Some(from), Some(to)) if at > from && at <= to => {}
                _ => {
                    let Item::Axis(size) = item else { continue };
                    let anew = self.dice.percent(12);
                    let token = if self.dice.percent(3) { "_".to_owned() } else { table.label(size, anew) };
                    tokens.push((token, vec![item.clone()]));
                }
            }
        }
        tokens
    }

    /// The part of a row that the result keeps, sometimes in another order.
    fn kept(&mut self, mut row: Vec<Token>) -> Vec<Token> {
        row.retain(|(token, _)| {
            token != "_" && self.dice.percent(if token.starts_with('.') { 90 } else { 80 })
        });
        if row.len() > 1 && self.dice.percent(20) {
            row.reverse();
        }
        // A label is in the result once.
        let mut seen = Vec::new();
        row.retain(|(token, _)| {
            let new = !seen.contains(token);
            seen.push(token.clone());
            new
        });
        row
    }

    /// Adds labels of a second operand to the result; those that both have are mostly summed.
    fn add(&mut self, result: &mut [Vec<Token>; 3], second: &[Vec<Token>; 3], first: &[Vec<Token>; 3]) {
        for kind in 0..3 {
            for token in &second[kind] {
                let shared = first.iter().flatten().any(|(own, _)| *own == token.0);
                let kept = result.iter().flatten().any(|(own, _)| *own == token.0);
                if shared && kept && !token.0.starts_with('.') && self.dice.percent(50) {
                    result.iter_mut().for_each(|row| row.retain(|(own, _)| *own != token.0));
                }
                let dots = token.0 == "..." && result[kind].iter().all(|(own, _)| own != "...");
                if (!shared || dots) && token.0 != "_" && !(kept && token.0 != "...") && self.dice.percent(80)
                {
                    result[kind].push(token.clone());
                }
            }
        }
    }

    /// A parameter that maps some labels of the first operand to a new one.
    fn map_for(
        &mut self,
        first: &[Vec<Token>; 3],
        result: &mut [Vec<Token>; 3],
        table: &mut Table,
    ) -> [Vec<Token>; 3] {
        let mut labels: Vec<Token> =
            first[2].iter().filter(|(token, _)| token != "_" && token != "...").cloned().collect();
        labels.dedup_by(|one, other| one.0 == other.0);
        let size = self.size();
        let new = (table.label(&format!("new {size}"), true), vec![Item::Axis(size)]);
        result[2].retain(|(token, _)| labels.iter().all(|(own, _)| own != token));
        result[2].push(new.clone());
        if self.dice.percent(70) {
            return [Vec::new(), labels, vec![new]];
        }
        labels.push(new);
        [Vec::new(), Vec::new(), labels]
    }

    /// An axis, or a row with a name, may change its kind.
    fn moved(&mut self, result: &mut [Vec<Token>; 3]) {
        if !self.dice.percent(18) {
            return;
        }
        let (from, to) = (self.dice.below(3), self.dice.below(3));
        if let Some(at) = result[from].iter().position(|(token, _)| token != "...") {
            let token = result[from].remove(at);
            let place = self.dice.below(result[to].len() + 1);
            result[to].insert(place, token);
        }
    }
}

/// True if an operand of a spec has `...` in a row of a kind.
fn has_dots(spec: &str, kind: usize) -> bool {
    let (batch, rest) = spec.split_once('|').unwrap_or(("", spec));
    let (input, output) = rest.split_once("->").unwrap_or(("", rest));
    [batch, input, output][kind].contains("...")
}
