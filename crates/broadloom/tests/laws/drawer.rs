//! Random graphs. Each tensor has an intended shape, and most operations fit it; many shapes are
//! left to be inferred.
use broadloom_testing::Dice;

use crate::laws::said::{Call, Said};

/// Batch, input and output sizes.
type Shape = [Vec<u64>; 3];

struct Drawer<'a> {
    dice: &'a mut Dice,
    said: Vec<Said>,
    shapes: Vec<Shape>,
    sizes: Vec<u64>,
}

/// Draws a graph.
pub fn draw(dice: &mut Dice) -> Vec<Said> {
    let sizes = (0..3).map(|_| 2 + dice.below(5) as u64).collect();
    let mut drawer = Drawer { dice, said: Vec::new(), shapes: Vec::new(), sizes };
    for _ in 0..1 + drawer.dice.below(2) {
        drawer.data();
    }
    for _ in 0..2 + drawer.dice.below(7) {
        drawer.operation();
    }
    drawer.said
}

fn row(sizes: &[u64]) -> String {
    sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

fn text(shape: &Shape) -> String {
    let [batch, input, output] = shape.each_ref().map(|sizes| row(sizes));
    let arrow = if input.is_empty() { String::new() } else { format!("{input} -> ") };
    format!("{batch} | {arrow}{output}")
}

fn joined(a: &[u64], b: &[u64]) -> Option<Vec<u64>> {
    let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    long.ends_with(short).then(|| long.to_vec())
}

fn broadcast(a: &Shape, b: &Shape) -> Option<Shape> {
    Some([joined(&a[0], &b[0])?, joined(&a[1], &b[1])?, joined(&a[2], &b[2])?])
}

impl Drawer<'_> {
    fn push(&mut self, call: Call, reads: &[usize], shape: Shape) -> usize {
        let id = self.said.len();
        self.said.push(Said { id, home: id, call, reads: reads.to_vec(), name: None });
        self.shapes.push(shape);
        id
    }

    fn size(&mut self) -> u64 {
        *self.dice.one(&self.sizes)
    }

    fn data(&mut self) -> usize {
        let batch: Vec<u64> = (0..self.dice.below(3)).map(|_| self.size()).collect();
        let input = if self.dice.percent(20) { vec![self.size()] } else { vec![] };
        let output = (0..self.dice.below(3)).map(|_| self.size()).collect();
        let shape = [batch, input, output];
        let state = self.dice.percent(10);
        let stated = text(&shape);
        self.push(if state { Call::State(Some(stated)) } else { Call::Data(stated) }, &[], shape)
    }

    /// A parameter that is used like a tensor of some shape.
    fn param(&mut self, shape: &Shape) -> usize {
        let mut meant = shape.clone();
        meant[0].clear();
        let call = match self.dice.below(10) {
            0..6 => Call::Param(None),
            6 => Call::Param(Some(text(&meant))),
            7 if !meant[2].is_empty() => {
                meant = [vec![], vec![], vec![meant[2][meant[2].len() - 1]]];
                Call::Param(Some(if self.dice.percent(50) { "c".to_owned() } else { text(&meant) }))
            }
            8 => Call::State(None),
            9 => Call::Constant,
            _ => Call::Param(None),
        };
        self.push(call, &[], meant)
    }

    fn any(&mut self) -> usize {
        let back = self.dice.below(self.said.len());
        if self.dice.percent(50) { self.said.len() - 1 - back / 2 } else { back }
    }

    fn operation(&mut self) {
        let a = self.any();
        let shape = self.shapes[a].clone();
        match self.dice.below(20) {
            0..3 => {
                let function = self.dice.pick(&["relu", "square", "exp"]);
                self.push(Call::Unary(function), &[a], shape);
            }
            3..10 => self.binary(a, &shape),
            10..14 => self.compose(a, &shape),
            14 => {
                let [batch, input, output] = shape;
                self.push(Call::Transpose, &[a], [batch, output, input]);
            }
            15 => {
                self.data();
            }
            _ => self.einsum(a, shape),
        }
    }

    fn binary(&mut self, a: usize, shape: &Shape) {
        let fitting: Vec<usize> =
            (0..self.said.len()).filter(|b| broadcast(shape, &self.shapes[*b]).is_some()).collect();
        let b = match self.dice.below(20) {
            0..9 => self.param(shape),
            9..14 if !fitting.is_empty() => *self.dice.one(&fitting),
            14 => self.push(Call::Number, &[], Shape::default()),
            _ => self.any(),
        };
        let both = broadcast(shape, &self.shapes[b]).unwrap_or_else(|| shape.clone());
        let function = self.dice.pick(&["add", "add", "mul", "max", "sub"]);
        let reads = if self.dice.percent(50) { [a, b] } else { [b, a] };
        self.push(Call::Binary(function), &reads, both);
    }

    fn compose(&mut self, x: usize, shape: &Shape) {
        let fits = |w: &usize| !self.shapes[*w][1].is_empty() && self.shapes[*w][1] == shape[2];
        let fitting: Vec<usize> = (0..self.said.len()).filter(fits).collect();
        let w = if !fitting.is_empty() && self.dice.percent(50) {
            *self.dice.one(&fitting)
        } else {
            let size = self.size();
            let map = [vec![], shape[2].clone(), vec![size]];
            let stated = match self.dice.below(5) {
                0 | 1 => Some(format!("... -> {size}")),
                2 => Some(text(&map)),
                _ => None,
            };
            self.push(Call::Param(stated), &[], map)
        };
        let batch = joined(&shape[0], &self.shapes[w][0]).unwrap_or_else(|| shape[0].clone());
        let result = [batch, shape[1].clone(), self.shapes[w][2].clone()];
        self.push(Call::Compose, &[w, x], result);
    }

    /// Rows of any length, with an axis of the output before or after.
    fn einsum(&mut self, a: usize, shape: Shape) {
        let call = |specs: &[&str], result: &str| {
            Call::Einsum(specs.iter().map(|spec| (*spec).to_owned()).collect(), result.to_owned())
        };
        let [batch, input, output] = shape.clone();
        let which = if output.is_empty() { 6 + self.dice.below(2) } else { self.dice.below(8) };
        match which {
            0 => self.push(call(&["... | ... -> i, ..."], "... | ... -> i, ..."), &[a], shape),
            1 => self.push(call(&["... | ... -> ..., k"], "... | ... -> ..., k"), &[a], shape),
            2 => {
                let rest = output[..output.len() - 1].to_vec();
                self.push(call(&["... | ... -> ..., k"], "... | ... -> ..."), &[a], [batch, input, rest])
            }
            3 => {
                let meant = [vec![], vec![], vec![output[0]]];
                let w = self.param(&meant);
                self.push(call(&["... | ... -> i, ...", "i"], "... | ... -> i, ..."), &[a, w], shape)
            }
            4 => {
                let size = self.size();
                let last = output[output.len() - 1];
                let w = self.push(Call::Param(None), &[], [vec![], vec![last], vec![size]]);
                let result = [output[..output.len() - 1].to_vec(), vec![size]].concat();
                let spec = call(&["... | ... -> ..., k", "k -> o"], "... | ... -> ..., o");
                self.push(spec, &[a, w], [batch, input, result])
            }
            5 => {
                let mut turned = output[1..].to_vec();
                turned.push(output[0]);
                self.push(call(&["... | ... -> i, ..."], "... | ... -> ..., i"), &[a], [batch, input, turned])
            }
            6 => self.push(call(&["... | ... -> ..."], "... -> ..."), &[a], [vec![], input, output]),
            _ => {
                self.push(call(&["... | ... -> ...", "... | ... -> ..."], "... | ... -> ..."), &[a, a], shape)
            }
        };
    }
}
