//! Random programs like those that people write: some data, some layers and sums, a loss at the
//! end. Each tensor has an intended shape, and most operations fit it; some do not, and many shapes
//! are left to be inferred.

use broadloom_testing::Dice;

use super::program::{Expr, Form, Kind, Program, Statement};
use super::shape::Shape;

/// Functions that a program may define, with their number of arguments.
const FUNCTIONS: &[(&str, usize, &str)] = &[
    ("twice", 1, "def twice(x) = x + x"),
    ("gate", 2, "def gate(a, b) = sigmoid(a) * b"),
    ("centred", 1, "def centred(x) = x - mean(x)"),
    ("share", 1, "def share(x) = x / sum(\"... | v\", x)"),
    ("scaled", 1, "def scaled(x) = {scale} * x"),
    ("mapped", 1, "def mapped(x) = {map} @ x"),
    ("running", 1, "def running(x) = scan(max, {start}, x)"),
];

/// A layer that a program may define.
const DENSE: &str = "def dense(size)(x) = {w} @ x + {b : size}";

/// A program in the making.
pub struct Drawer<'a> {
    dice: &'a mut Dice,
    program: Program,
    /// Tensors that have names.
    tensors: Vec<(String, Shape)>,
    /// Parameters of the current statement: they can be used by name afterwards.
    made: Vec<(String, Shape)>,
    /// The sizes of this program.
    batch: String,
    sizes: Vec<String>,
    count: usize,
}

/// Draws a program.
pub fn draw(dice: &mut Dice) -> Program {
    let pool = ["2", "3", "4", "5", "6", "8"];
    let mut sizes: Vec<String> = (0..3).map(|_| dice.pick(&pool).to_owned()).collect();
    let mut batch = dice.pick(&pool).to_owned();
    let mut drawer = Drawer {
        dice,
        program: Program::default(),
        tensors: Vec::new(),
        made: Vec::new(),
        batch: batch.clone(),
        sizes: sizes.clone(),
        count: 0,
    };
    if drawer.dice.percent(20) {
        drawer.define("n", "dim n in 1..64 = 4".to_owned(), &[]);
        batch = "n".to_owned();
        if drawer.dice.percent(30) {
            sizes[0] = "n".to_owned();
        }
        (drawer.batch, drawer.sizes) = (batch, sizes);
    }
    drawer.whole();
    drawer.program
}

impl Drawer<'_> {
    /// Draws leaves, statements, and perhaps a target at the end.
    fn whole(&mut self) {
        for _ in 0..1 + self.dice.below(3) {
            self.leaf();
        }
        for _ in 0..1 + self.dice.below(5) {
            if self.dice.percent(12) {
                self.leaf();
            }
            self.line();
        }
        if self.dice.percent(75) {
            self.target();
        }
    }

    pub(super) fn push(&mut self, kind: Kind) {
        let home = self.program.statements.len();
        self.program.statements.push(Statement { home, kind });
    }

    fn define(&mut self, name: &str, text: String, uses: &[&str]) {
        let uses = uses.iter().map(|used| (*used).to_owned()).collect();
        self.push(Kind::Text { name: name.to_owned(), text, uses });
    }

    fn fresh(&mut self, prefix: &str) -> String {
        self.count += 1;
        format!("{prefix}{}", self.count)
    }

    pub(super) fn size(&mut self) -> String {
        if self.dice.percent(4) {
            return self.dice.pick(&["1", "7", "1:unit", "3:rgb"]).to_owned();
        }
        self.dice.one(&self.sizes).clone()
    }

    /// A size that can be an argument of a call.
    fn plain_size(&mut self) -> String {
        self.dice.one(&self.sizes).clone()
    }

    fn sizes(&mut self, count: usize) -> Vec<String> {
        (0..count).map(|_| self.size()).collect()
    }

    /// A typical shape of data.
    fn data_shape(&mut self) -> Shape {
        let batch = vec![self.batch.clone()];
        match self.dice.below(12) {
            0..4 => Shape { batch, output: self.sizes(1), ..Shape::default() },
            4 => Shape { batch, ..Shape::default() },
            5 => Shape { batch: [batch, self.sizes(1)].concat(), output: self.sizes(1), ..Shape::default() },
            6 => Shape { batch, output: self.sizes(3), ..Shape::default() },
            7 => Shape { input: self.sizes(1), output: self.sizes(1), ..Shape::default() },
            8 => Shape { output: self.sizes(2), ..Shape::default() },
            9 => Shape { batch, input: self.sizes(1), output: self.sizes(1) },
            10 => Shape::vector(&[]),
            _ => Shape::vector(&self.sizes(1)),
        }
    }

    /// Draws a `data` or `state` line; sometimes a part of the shape is left to be inferred.
    fn leaf(&mut self) {
        let shape = self.data_shape();
        let state = self.dice.percent(15);
        let (keyword, prefix) = if state { ("state", "s") } else { ("data", "x") };
        let name = self.fresh(prefix);
        let mut stated = Some(shape.text());
        if state && self.dice.percent(40) {
            stated = None;
        } else if self.dice.percent(8) {
            let mut open = shape.clone();
            let row = if self.dice.percent(40) { &mut open.batch } else { &mut open.output };
            let axis = self.dice.pick(&["_", "...", "c"]).to_owned();
            if row.is_empty() || axis == "..." {
                row.insert(0, axis);
            } else {
                row[0] = axis;
            }
            stated = Some(open.text());
        }
        self.push(Kind::Leaf { keyword, name: name.clone(), shape: stated, values: None });
        self.tensors.push((name, shape));
    }

    /// Draws a line: a tensor with a name, or an assignment.
    fn line(&mut self) {
        let state = self.tensors.iter().rposition(|(name, _)| name.starts_with('s'));
        if let Some(at) = state.filter(|_| self.dice.percent(15)) {
            let (target, shape) = self.tensors[at].clone();
            let value = self.partner(&shape, 1);
            let sign = self.dice.pick(&["=", "=+", "=*", "=:+"]);
            self.push(Kind::Assign { target, sign, value: value.0 });
            self.tensors.append(&mut self.made);
            return;
        }
        if self.dice.percent(7) {
            self.window_line();
            return;
        }
        let depth = 1 + self.dice.below(3);
        let (value, shape) = self.operation(depth);
        self.bind("h", value, shape);
    }

    pub(super) fn bind(&mut self, prefix: &str, value: Expr, shape: Shape) -> String {
        let name = self.fresh(prefix);
        self.push(Kind::Let { name: name.clone(), shape: None, value });
        self.tensors.append(&mut self.made);
        self.tensors.push((name.clone(), shape));
        name
    }

    /// Draws a target for the last tensor, and a loss.
    fn target(&mut self) {
        let (last, shape) = self.tensors[self.tensors.len() - 1].clone();
        let name = self.fresh("x");
        let mut shape = if self.dice.percent(8) { self.data_shape() } else { shape };
        let classes = shape.input.is_empty() && shape.output.len() == 1 && self.dice.percent(15);
        if classes {
            // A class for each example.
            shape.output.clear();
        }
        self.push(Kind::Leaf {
            keyword: "data",
            name: name.clone(),
            shape: Some(shape.text()),
            values: None,
        });
        let (y, t) = (Expr::name(&last), Expr::name(&name));
        let value = match self.dice.below(5) {
            _ if classes => Expr::call("cross_entropy", vec![y, t]),
            0 => Expr::new(Form::Infix("-"), vec![y, t]),
            1 => Expr::new(Form::Infix("*"), vec![y, t]),
            2 => Expr::call("mae", vec![y, t]),
            _ => Expr::call("mse", vec![y, t]),
        };
        self.bind("e", value, Shape::default());
    }

    /// The source of its random choices.
    pub(super) fn dice(&mut self) -> &mut Dice {
        self.dice
    }

    /// Another tensor that is meant to have the same shape.
    pub(super) fn like(&mut self, shape: &Shape) -> Option<Expr> {
        let same: Vec<String> =
            self.tensors.iter().filter(|(_, other)| other == shape).map(|(name, _)| name.clone()).collect();
        (!same.is_empty()).then(|| Expr::name(self.dice.one::<String>(&same)))
    }

    /// Any tensor of the program.
    fn named(&mut self) -> (Expr, Shape) {
        // Late ones are more likely: programs are chains.
        let (count, back) = (self.tensors.len(), self.dice.below(self.tensors.len()));
        let at = if self.dice.percent(50) { count - 1 - back / 2 } else { back };
        let (name, shape) = self.tensors[at].clone();
        (Expr::name(&name), shape)
    }

    pub(super) fn tensor(&mut self, depth: usize) -> (Expr, Shape) {
        if depth == 0 || self.dice.percent(30) { self.named() } else { self.operation(depth - 1) }
    }

    /// An operation on tensors.
    pub(super) fn operation(&mut self, depth: usize) -> (Expr, Shape) {
        match self.dice.below(100) {
            0..14 => self.unary(depth),
            14..42 => self.binary(depth),
            42..60 => self.compose(depth),
            60..64 => {
                let (x, shape) = self.tensor(depth);
                let shape = Shape { batch: shape.batch, input: shape.output, output: shape.input };
                (Expr::new(Form::Transpose, vec![x]), shape)
            }
            64..70 => self.reduction(depth),
            70 => {
                let (x, mut shape) = self.tensor(depth);
                let index = self.dice.pick(&["0", "1", "0..2"]);
                match shape.batch.first_mut() {
                    Some(axis) if index == "0..2" => *axis = "2".to_owned(),
                    Some(_) => drop(shape.batch.remove(0)),
                    None => {}
                }
                (Expr::new(Form::Index(index), vec![x]), shape)
            }
            71..83 => self.spec(depth),
            83..87 => self.joined(depth),
            87..95 => self.library(depth),
            _ => self.defined(depth),
        }
    }

    fn unary(&mut self, depth: usize) -> (Expr, Shape) {
        let (x, shape) = self.tensor(depth);
        let functions = ["relu", "tanh", "square", "exp", "-", "gelu", "silu", "stop_gradient", "sqrt"];
        (Expr::call(self.dice.pick(&functions), vec![x]), shape)
    }

    /// Two operands that broadcast, in either order.
    fn binary(&mut self, depth: usize) -> (Expr, Shape) {
        let (x, shape) = self.tensor(depth);
        let (y, other) = self.partner(&shape, depth);
        let shape = shape.joined_or_self(&other);
        let parts = if self.dice.percent(60) { vec![x, y] } else { vec![y, x] };
        let value = match self.dice.below(12) {
            0 => Expr::call("max", parts),
            1 => Expr::call("min", parts),
            2 => {
                let zero = Expr::new(Form::Number("0"), vec![]);
                let (name, _) = self.named();
                let condition = Expr::new(Form::Infix(">"), vec![name, zero]);
                Expr::call("where", [vec![condition], parts].concat())
            }
            3..5 => Expr::new(Form::Infix("-"), parts),
            5 => Expr::new(Form::Infix("/"), parts),
            6..9 => Expr::new(Form::Infix("*"), parts),
            _ => Expr::new(Form::Infix("+"), parts),
        };
        (value, shape)
    }

    /// Draws an operand to combine with a tensor element by element.
    fn partner(&mut self, shape: &Shape, depth: usize) -> (Expr, Shape) {
        match self.dice.below(100) {
            0..35 => self.param(shape),
            35..60 => {
                let fits = |(_, other): &&(String, Shape)| shape.joined(other).is_some();
                let fitting: Vec<(String, Shape)> = self.tensors.iter().filter(fits).cloned().collect();
                if fitting.is_empty() {
                    return self.param(shape);
                }
                let (name, other) = self.dice.one(&fitting).clone();
                (Expr::name(&name), other)
            }
            60..70 => self.named(),
            70..80 => (Expr::new(Form::Number(self.dice.pick(&["0", "2", "0.5"])), vec![]), Shape::default()),
            80..87 => (
                Expr::new(Form::Filler(self.dice.pick(&["constant(0.5)", "noise()"])), vec![]),
                shape.clone(),
            ),
            _ if depth > 0 => self.tensor(depth - 1),
            _ => self.param(shape),
        }
    }

    /// Draws a parameter that is used like a tensor of some shape; mostly without a declared shape.
    fn param(&mut self, shape: &Shape) -> (Expr, Shape) {
        let mut meant = Shape { batch: Vec::new(), ..shape.clone() };
        let stated = match self.dice.below(10) {
            0..6 => None,
            6 if !meant.output.is_empty() => {
                meant = Shape::vector(&meant.output[meant.output.len() - 1..]);
                Some(if self.dice.percent(50) { "c".to_owned() } else { meant.text() })
            }
            7 if !meant.output.is_empty() => {
                let last = meant.output[meant.output.len() - 1].clone();
                Some(if meant.input.is_empty() {
                    format!("..., {last}")
                } else {
                    format!("... -> ..., {last}")
                })
            }
            8 => Some(meant.text()),
            9 if !meant.output.is_empty() => {
                let at = self.dice.below(meant.output.len());
                meant = Shape::vector(&meant.output[at..]);
                Some(meant.output.iter().map(|_| "_").collect::<Vec<_>>().join(", "))
            }
            _ => None,
        };
        self.new_param(stated, meant)
    }

    pub(super) fn new_param(&mut self, stated: Option<String>, meant: Shape) -> (Expr, Shape) {
        let name = self.fresh("w");
        self.made.push((name.clone(), meant.clone()));
        (Expr::new(Form::Param { name, shape: stated }, vec![]), meant)
    }

    /// `w @ x`: mostly with a new parameter.
    fn compose(&mut self, depth: usize) -> (Expr, Shape) {
        let (x, shape) = if self.dice.percent(6) {
            let shape = Shape { input: self.sizes(1), output: self.sizes(1), ..Shape::default() };
            self.new_param(None, shape)
        } else {
            self.tensor(depth)
        };
        let fits = |(_, other): &&(String, Shape)| !other.input.is_empty() && other.input == shape.output;
        let fitting: Vec<(String, Shape)> = self.tensors.iter().filter(fits).cloned().collect();
        let (w, map) = if !fitting.is_empty() && self.dice.percent(40) {
            let (name, map) = self.dice.one(&fitting).clone();
            (Expr::name(&name), map)
        } else {
            let count = if self.dice.percent(85) { 1 } else { 2 * self.dice.below(2) };
            let map = Shape { input: shape.output.clone(), output: self.sizes(count), ..Shape::default() };
            let stated = match self.dice.below(7) {
                0..3 => Some(format!("... -> {}", map.output.join(", "))),
                3 => Some(map.text()),
                _ => None,
            };
            self.new_param(stated, map)
        };
        let batch = Shape { batch: shape.batch.clone(), ..Shape::default() };
        let batch = batch.joined_or_self(&Shape { batch: map.batch, ..Shape::default() }).batch;
        (Expr::new(Form::Infix("@"), vec![w, x]), Shape { batch, input: shape.input, output: map.output })
    }

    fn reduction(&mut self, depth: usize) -> (Expr, Shape) {
        let (x, shape) = self.tensor(depth);
        let function = self.dice.pick(&["sum", "mean", "max", "min"]);
        let unit = || vec!["1:unit".to_owned()];
        let Shape { batch, input, output } = shape.clone();
        match self.dice.below(6) {
            0 => (Expr::call(self.dice.pick(&["sum", "mean"]), vec![x]), Shape::default()),
            1 if !output.is_empty() && input.is_empty() => {
                let mut reduced = output;
                reduced.pop();
                let result = Shape { batch, output: reduced, ..Shape::default() };
                (Expr::spec(function, &["... | ..., v"], Some("... | ..."), vec![x]), result)
            }
            2 if output.len() == 1 && input.is_empty() => {
                (Expr::spec(function, &["... | v"], None, vec![x]), Shape { output: unit(), ..shape })
            }
            3 if input.is_empty() => {
                (Expr::spec(function, &["... | ..d.."], None, vec![x]), Shape { output: unit(), ..shape })
            }
            4 => {
                let result = Shape { batch: Vec::new(), ..shape };
                let spec =
                    if input.is_empty() { ("... | ...", "...") } else { ("... | ... -> ...", "... -> ...") };
                (Expr::spec(function, &[spec.0], Some(spec.1), vec![x]), result)
            }
            _ => (Expr::call("mean", vec![x]), Shape::default()),
        }
    }

    /// Two tensors one after another, or side by side.
    fn joined(&mut self, depth: usize) -> (Expr, Shape) {
        let (x, mut shape) = self.tensor(depth);
        let same = self.like(&shape).filter(|_| self.dice.percent(80));
        let y = same.unwrap_or_else(|| self.named().0);
        let function = self.dice.pick(&["concat", "stack"]);
        let along = self.dice.pick(&["output", "output", "batch"]);
        let row = if along == "output" { &mut shape.output } else { &mut shape.batch };
        match (function, row.first().map(|size| size.parse::<u64>())) {
            ("stack", _) => row.insert(0, "2".to_owned()),
            (_, Some(Ok(size))) => row[0] = (2 * size).to_string(),
            _ => {}
        }
        (Expr::new(Form::Joined(function, along), vec![x, y]), shape)
    }

    /// A layer or a function of the library.
    fn library(&mut self, depth: usize) -> (Expr, Shape) {
        let (x, mut shape) = self.tensor(depth);
        if shape.batch.len() == 1 && shape.output.is_empty() && self.dice.percent(60) {
            let width = self.plain_size();
            shape.output = vec![width.clone()];
            return (self.layer(format!("embedding(10, {width})"), x), shape);
        }
        if shape.output.len() == 3 && self.dice.percent(60) {
            return self.image(x, shape);
        }
        let size = self.plain_size();
        let (layer, output) = match self.dice.below(13) {
            0..3 => (format!("linear({size})"), vec![size]),
            3 => ("linear()".to_owned(), vec![size]),
            4 => (format!("linear_without_bias({size})"), vec![size]),
            5 => ("layer_norm()".to_owned(), shape.output.clone()),
            6 => ("rms_norm()".to_owned(), shape.output.clone()),
            7 => (format!("mlp([4, 3], {size})"), vec![size]),
            8 => ("batch_norm()".to_owned(), shape.output.clone()),
            11 => (format!("gru({size})"), vec![size]),
            12 => (format!("lstm({size})"), vec![size]),
            9 => ("softmax(\"... | v\")".to_owned(), shape.output.clone()),
            _ => ("dropout(0.1)".to_owned(), shape.output.clone()),
        };
        shape.output = output;
        (self.layer(layer, x), shape)
    }

    /// Draws a layer for images.
    fn image(&mut self, x: Expr, mut shape: Shape) -> (Expr, Shape) {
        let halved =
            |size: &String| size.parse::<u64>().map_or(size.clone(), |size| (size / 2).max(1).to_string());
        match self.dice.below(4) {
            0 => {
                let channels = self.plain_size();
                shape.output[2] = channels.clone();
                (self.layer(format!("conv2d({channels})"), x), shape)
            }
            1 => {
                shape.output = shape.output[2..].to_vec();
                (Expr::call("global_avg_pool", vec![x]), shape)
            }
            which => {
                for at in 0..2 {
                    shape.output[at] = halved(&shape.output[at]);
                }
                let layer = if which == 2 { "max_pool(2)" } else { "avg_pool(2)" };
                (self.layer(layer.to_owned(), x), shape)
            }
        }
    }

    /// A layer, applied where it is made or bound to a name first.
    fn layer(&mut self, layer: String, x: Expr) -> Expr {
        let size = layer.split(['(', ')', ',']).any(|word| word.trim() == "n");
        if layer.starts_with("softmax") || self.dice.percent(50) {
            return Expr::new(Form::Layer(layer), vec![x]);
        }
        let name = self.fresh("l");
        let function = layer.split('(').next().unwrap_or_default().to_owned();
        let uses: &[&str] = if size { &[&function, "n"] } else { &[&function] };
        self.define(&name, format!("let {name} = {layer}"), uses);
        Expr::call(&name, vec![x])
    }

    /// A function that the program defines.
    fn defined(&mut self, depth: usize) -> (Expr, Shape) {
        let known = |drawer: &Self, function: &str| {
            drawer
                .program
                .statements
                .iter()
                .any(|statement| statement.defines().iter().any(|name| name == function))
        };
        let (x, mut shape) = self.tensor(depth);
        if self.dice.percent(35) {
            if !known(self, "dense") {
                self.define("dense", DENSE.to_owned(), &[]);
            }
            let size = self.plain_size();
            let value = self.layer(format!("dense({size})"), x);
            shape.output = vec![size];
            return (value, shape);
        }
        let (name, count, text) = *self.dice.one(FUNCTIONS);
        if !known(self, name) {
            self.define(name, text.to_owned(), &[]);
        }
        let mut parts = vec![x];
        if count == 2 {
            let (y, other) = self.partner(&shape, depth);
            shape = shape.joined_or_self(&other);
            parts.push(y);
        }
        if name == "mapped" {
            shape.output = vec![self.plain_size()];
        }
        (Expr::call(name, parts), shape)
    }
}

/// An expression with the names of its parameters in place of their braces.
pub fn strip(expr: &Expr) -> Expr {
    let mut copy = expr.clone();
    copy.walk_mut(&mut |expr| {
        if let Form::Param { name, .. } = &expr.form {
            expr.form = Form::Name(name.clone());
        }
    });
    copy
}
