//! Draws functions. Each tensor is meant to have some shape, which nothing states; most lines fit it.

use broadloom_testing::Dice;

use super::function::{File, Function, Item, Line, Meant};

/// A value in the making: its text with `$0`, `$1` for what it uses, and the shape it is meant to have.
pub(super) struct Value {
    pub text: String,
    pub uses: Vec<String>,
    pub meant: Meant,
}

/// A function in the making.
pub(super) struct Drawer<'a> {
    pub dice: &'a mut Dice,
    /// The functions before it.
    earlier: &'a [Function],
    pub tensors: Vec<(String, Meant)>,
    /// Parameters of the line in the making: later lines may use their names.
    made: Vec<(String, Meant)>,
    config: Vec<String>,
    lines: Vec<Line>,
    count: usize,
}

/// Shapes of arguments.
const SHAPES: &[[&[&str]; 3]] = &[
    [&["..b.."], &[], &["d"]],
    [&["..b.."], &[], &["..m.."]],
    [&["..b.."], &[], &["..m.."]],
    [&["..b.."], &["..i.."], &["..m.."]],
    [&["..b..", "s"], &[], &["d"]],
    [&["..b..", "s"], &[], &["..m.."]],
    [&["..b..", "t"], &[], &["d"]],
    [&["..b..", "s"], &[], &["h", "d"]],
    [&["..b.."], &[], &["y", "x", "c"]],
    [&["..b.."], &[], &["y", "x", "..c.."]],
    [&["..b.."], &[], &["t", "d"]],
    [&["..b.."], &[], &["..m..", "d"]],
    [&["s", "..b.."], &[], &["d"]],
    [&[], &["d"], &["c"]],
    [&[], &["..m.."], &["c"]],
    [&[], &["d"], &["..m.."]],
    [&[], &[], &["d"]],
    [&[], &[], &["c"]],
    [&[], &[], &["..m.."]],
    [&["..b.."], &[], &[]],
    [&[], &[], &["d", "d"]],
    [&[], &[], &["t", "d"]],
];

/// Draws a file of one to three functions.
pub fn draw(dice: &mut Dice) -> File {
    let mut functions = Vec::new();
    for at in 0..1 + dice.below(10) / 4 {
        let function = function(dice, &functions, &format!("f{at}"));
        functions.push(function);
    }
    File(functions)
}

fn function(dice: &mut Dice, earlier: &[Function], name: &str) -> Function {
    let mut config: Vec<String> = Vec::new();
    for _ in 0..dice.below(4).saturating_sub(1) {
        let size = dice.pick(&["size", "width", "heads", "n", "b"]).to_owned();
        if !config.contains(&size) {
            config.push(size);
        }
    }
    let count = 1 + [0, 0, 1, 1, 1, 2][dice.below(6)];
    let mut arguments = Vec::new();
    for name in ["x", "y", "z"].iter().take(count) {
        let same =
            arguments.last().filter(|_| dice.percent(35)).map(|(_, meant): &(String, Meant)| meant.clone());
        let meant = same.unwrap_or_else(|| Meant::of(*dice.one(SHAPES)));
        arguments.push(((*name).to_owned(), meant));
    }
    let mut drawer = Drawer {
        dice,
        earlier,
        tensors: arguments.clone(),
        made: Vec::new(),
        config,
        lines: Vec::new(),
        count: 0,
    };
    for _ in 0..1 + drawer.dice.below(6) {
        drawer.line();
    }
    drawer.together(&arguments);
    let results = drawer.results();
    let Drawer { config, lines, dice, .. } = drawer;
    let config = (!config.is_empty() || dice.percent(5)).then_some(config);
    Function { name: name.to_owned(), config, arguments, lines, results }
}

impl Drawer<'_> {
    fn fresh(&mut self, prefix: &str) -> String {
        self.count += 1;
        format!("{prefix}{}", self.count)
    }

    fn results(&mut self) -> Vec<String> {
        let lines: Vec<String> = self.lines.iter().filter_map(|line| line.name.clone()).collect();
        let last = lines.last().cloned().into_iter().collect::<Vec<_>>();
        if self.dice.percent(92) || lines.len() < 2 {
            return last;
        }
        [vec![self.dice.one(&lines).clone()], last].concat()
    }

    /// Arguments that nothing reads are read at the end.
    fn together(&mut self, arguments: &[(String, Meant)]) {
        for (name, meant) in arguments.iter().cloned() {
            if self.lines.iter().any(|line| line.uses.contains(&name)) || self.dice.percent(20) {
                continue;
            }
            let (last, other) = self.tensors[self.tensors.len() - 1].clone();
            let value = match self.dice.below(3) {
                0 => Value { text: "$0 * mean($1)".into(), uses: vec![last, name], meant: other },
                1 => self.spec_of(last, &other, Some((name, meant))),
                _ => Value { text: "$0 + $1".into(), uses: vec![last, name], meant: other },
            };
            self.bind(value);
        }
    }

    pub(super) fn bind(&mut self, value: Value) -> String {
        let name = self.fresh("h");
        // Rarely used: they come before the others.
        self.tensors.splice(0..0, self.made.drain(..));
        self.tensors.push((name.clone(), value.meant));
        let stated = self.dice.percent(4).then(|| {
            let size = self.size();
            self.dice.pick(&["... | ...", "... | ..., $", "... | $", "... | ... -> ..."]).replace('$', &size)
        });
        self.lines.push(Line { name: Some(name.clone()), stated, text: value.text, uses: value.uses });
        name
    }

    pub(super) fn say(&mut self, text: String, uses: Vec<String>) {
        self.lines.push(Line { name: None, stated: None, text, uses });
    }

    /// A size that is written: of the configuration, or a number.
    pub(super) fn size(&mut self) -> String {
        if !self.config.is_empty() && self.dice.percent(75) {
            return self.dice.one(&self.config).clone();
        }
        self.dice.pick(&["2", "3", "4", "8", "10", "1"]).to_owned()
    }

    /// The same as an axis of a shape: also an expression.
    fn axis(&mut self) -> String {
        let size = self.size();
        if self.dice.percent(12) {
            return self.dice.pick(&["(2 * $)", "($ + 1)", "(3 * $ - 1)", "(2 * $ + 3)"]).replace('$', &size);
        }
        size
    }

    /// A tensor that has a name; late ones are more likely.
    pub(super) fn tensor(&mut self) -> (String, Meant) {
        let back = self.dice.below(self.tensors.len());
        let back = if self.dice.percent(65) { back / 4 } else { back };
        self.tensors[self.tensors.len() - 1 - back].clone()
    }

    /// A parameter that is meant to have a shape, stated in part or not at all.
    pub(super) fn param(&mut self, meant: &Meant) -> Value {
        let meant = Meant([Vec::new(), meant.0[1].clone(), meant.0[2].clone()]);
        let name = self.fresh("p");
        let axis = self.axis();
        let is_map = !meant.0[1].is_empty();
        let stated = match self.dice.below(12) {
            0..6 => String::new(),
            6 if is_map => format!(" : ... -> {axis}"),
            7 if is_map => " : ... -> ...".to_owned(),
            8 if is_map => format!(" : {axis} -> ..."),
            6 => format!(" : {axis}"),
            7 => " : ...".to_owned(),
            8 => format!(" : ..., {axis}"),
            9 => format!(" : ... -> {axis}"),
            10 => format!(" : {axis}, ..."),
            _ => self
                .dice
                .pick(&[" : c", " : _", " : c, c", " : ..r..", " : ..r.. -> ..r..", " : 3:rgb"])
                .to_owned(),
        };
        self.made.push((name.clone(), meant.clone()));
        Value { text: format!("{{{name}{stated}}}"), uses: Vec::new(), meant }
    }

    fn line(&mut self) {
        match self.dice.below(100) {
            0..12 => self.unary(),
            12..30 => self.binary(),
            30..45 => self.compose(),
            45..49 => {
                let (x, Meant([batch, input, output])) = self.tensor();
                let text = self.dice.pick(&["$0.T", "transpose($0)"]).to_owned();
                self.bind(Value { text, uses: vec![x], meant: Meant([batch, output, input]) });
            }
            49..65 => {
                let (x, meant) = self.tensor();
                let other = self.dice.percent(55).then(|| self.tensor()).filter(|(y, _)| *y != x);
                let value = self.spec_of(x, &meant, other);
                let h = self.bind(value);
                if self.dice.percent(12) {
                    self.set(h);
                }
            }
            65..72 => self.reduction(),
            72..81 => self.window(),
            81..86 => self.joined(),
            86..95 => self.library(),
            _ => self.call(),
        }
    }

    fn unary(&mut self) {
        let (x, meant) = self.tensor();
        let size = self.size();
        let forms = [
            "relu($0)",
            "tanh($0)",
            "-$0",
            "2 * $0",
            "$0 + 1",
            "exp($0)",
            "gelu($0)",
            "$0 ** 2",
            "stop_gradient($0)",
            "where($0 > 0, $0, 0)",
            "$0 * $",
            "$0 / sqrt($)",
            "$0 + constant(1)",
        ];
        let text = self.dice.pick(&forms).replace("$0", "\0").replace('$', &size).replace('\0', "$0");
        self.bind(Value { text, uses: vec![x], meant });
    }

    fn binary(&mut self) {
        let (x, meant) = self.tensor();
        let like: Vec<(String, Meant)> =
            self.tensors.iter().filter(|(name, other)| *name != x && *other == meant).cloned().collect();
        let sign = self.dice.pick(&["+", "-", "*", "/", "max", "min", "<"]);
        let (other, mut uses) = match self.dice.below(10) {
            0..4 => (self.param(&meant).text, vec![x]),
            4..8 if !like.is_empty() => ("$1".to_owned(), vec![x, self.dice.one(&like).0.clone()]),
            _ => ("$1".to_owned(), vec![x, self.tensor().0]),
        };
        let (mut left, mut right) = ("$0".to_owned(), other);
        if self.dice.percent(40) {
            std::mem::swap(&mut left, &mut right);
        }
        let mut text = match sign {
            "max" | "min" => format!("{sign}({left}, {right})"),
            sign => format!("{left} {sign} {right}"),
        };
        if self.dice.percent(6) {
            uses.push(self.tensor().0);
            text = format!("where(${} > 0, {left}, {right})", uses.len() - 1);
        }
        self.bind(Value { text, uses, meant });
    }

    fn compose(&mut self) {
        let (x, meant) = self.tensor();
        let [batch, input, output] = meant.0.clone();
        let to = Item::Axis(self.size());
        if self.dice.percent(70) {
            let map = self.param(&Meant([Vec::new(), output.clone(), vec![to.clone()]]));
            let mut text = format!("{} @ $0", map.text);
            if self.dice.percent(40) {
                let bias = self.param(&Meant([Vec::new(), Vec::new(), vec![to.clone()]]));
                text = format!("{text} + {}", bias.text);
            }
            self.bind(Value { text, uses: vec![x], meant: Meant([batch, input, vec![to]]) });
            return;
        }
        let (y, other) = self.tensor();
        let fits = |(_, map): &&(String, Meant)| map.0[1] == output;
        let fitting: Vec<(String, Meant)> = self.tensors.iter().filter(fits).cloned().collect();
        let (y, other) = if fitting.is_empty() { (y, other) } else { self.dice.one(&fitting).clone() };
        let meant = Meant([batch, input, other.0[2].clone()]);
        self.bind(Value { text: "$0 @ $1".into(), uses: vec![y, x], meant });
    }

    fn reduction(&mut self) {
        let (x, meant) = self.tensor();
        let function = self.dice.pick(&["sum", "mean", "max", "min", "product"]);
        let unit = || vec![Item::Axis("0".into())];
        let [batch, input, output] = meant.0;
        let (text, meant) = match self.dice.below(7) {
            0 => (format!("{function}($0)"), Meant::default()),
            1 => (format!("{function}(\"... | ..d..\", $0)"), Meant([batch, input, unit()])),
            2 => (format!("{function}(\"... | ..., v\", $0)"), Meant([batch, input, output])),
            3 => (format!("{function}(\"... | v\", $0)"), Meant([batch, input, unit()])),
            4 => (format!("{function}(\"..b.. | ... => ...\", $0)"), Meant([Vec::new(), input, output])),
            5 => (format!("{function}(\"..., s | ... => ... | ...\", $0)"), Meant([batch, input, output])),
            _ => (format!("{function}(\"... | t -> ...\", $0)"), Meant([batch, unit(), output])),
        };
        let text = if self.dice.percent(25) { format!("$0 - {text}") } else { text };
        self.bind(Value { text, uses: vec![x], meant });
    }

    /// Strides and windows on the first or the last output axis.
    fn window(&mut self) {
        let (x, meant) = self.tensor();
        let [batch, input, mut output] = meant.0;
        let first = self.dice.percent(60);
        if !output.is_empty() {
            output.remove(if first { 0 } else { output.len() - 1 });
        }
        let name = Item::Axis(self.fresh("w"));
        output.insert(if first { 0 } else { output.len() }, name);
        let shapes = [
            ("2*i", "i"),
            ("2*i+1", "i"),
            ("3*i+2", "i"),
            ("i+3", "i"),
            ("i", "2*i"),
            ("i", "2*i+1"),
            ("i", "i 0"),
            ("2", ""),
            ("i", "2^i^1"),
            ("1^i", "i"),
            ("i^1", "i"),
            ("i<+k", "i"),
            ("i=+k", "i"),
            ("2*i<+k", "i"),
            ("2*i=+k", "i"),
            ("2*i~+k", "i"),
            ("3*i<+k", "i"),
            ("i<+2*k", "i"),
            ("i", "i<+k"),
            ("2*i<+j", "i, j"),
            ("i, j", "2*i<+j"),
        ];
        let (from, to) = *self.dice.one(&shapes);
        let (lead, input_row) = ("... | ", if input.is_empty() { "" } else { "... -> " });
        let rest = if output.len() > 1 || self.dice.percent(50) { "..." } else { "" };
        let row = |axes: &str| {
            let parts = if first { [axes, rest] } else { [rest, axes] };
            let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            format!("{lead}{input_row}{}", parts.join(", "))
        };
        let (operand, result) = (row(from), row(to));
        let has_window = from.contains('k') || to.contains('k');
        let (text, kernel) = if has_window && (to.contains('k') || self.dice.percent(50)) {
            let kernel = self.param(&Meant([Vec::new(), Vec::new(), vec![Item::Axis("k".into())]]));
            (format!("einsum(\"{operand}; k => {result}\", $0, {})", kernel.text), true)
        } else {
            let function = self.dice.pick(&["max", "sum", "mean", "einsum"]);
            (format!("{function}(\"{operand} => {result}\", $0)"), false)
        };
        let h = self.bind(Value { text, uses: vec![x], meant: Meant([batch, input, output]) });
        if has_window && self.dice.percent(if kernel { 60 } else { 92 }) {
            let size = self.dice.pick(&["2", "3", "1", "5"]).to_owned();
            let size = if self.dice.percent(20) { self.size() } else { size };
            self.say(format!("set $0.k = {size}"), vec![h]);
        } else if (from, to) == ("2*i<+j", "i, j") || (from, to) == ("i, j", "2*i<+j") {
            self.say("set $0.j = 2".to_owned(), vec![h]);
        }
    }

    fn joined(&mut self) {
        let (x, meant) = self.tensor();
        let like: Vec<(String, Meant)> =
            self.tensors.iter().filter(|(_, other)| *other == meant).cloned().collect();
        let y = if self.dice.percent(75) { self.dice.one(&like).0.clone() } else { self.tensor().0 };
        let forms = [
            "concat($0, $1)",
            "concat($0, $1, along = \"batch\")",
            "stack($0, $1)",
            "stack($0, $1, along = \"batch\")",
            "einsum(\"... | a, ...; ... | b, ... => ... | a^b, ...\", $0, $1)",
            "einsum(\"... | ..., a; ... | ..., b => ... | ..., a^b\", $0, $1)",
            "einsum(\"... | a; ... | b => ... | a^b\", $0, $1)",
            "einsum(\"a, ... | ..r..; b, ... | ..r.. => a^b, ... | ..r..\", $0, $1)",
        ];
        let text = self.dice.pick(&forms).to_owned();
        self.bind(Value { text, uses: vec![x, y], meant });
        if self.dice.percent(20) {
            let (x, meant) = self.tensor();
            let at = self.fresh("g");
            let part = self.dice.pick(&["a", "b"]);
            let size = self.size();
            let pair = format!("split(\"... | a^b, ... => ... | a, ...; ... | b, ...\", ${})", 0);
            self.lines.push(Line { name: Some(at.clone()), stated: None, text: pair, uses: vec![x] });
            let index = self.dice.pick(&["0", "1"]);
            let h = self.bind(Value { text: format!("$0[{index}]"), uses: vec![at.clone()], meant });
            let _ = h;
            self.say(format!("set $0[{index}].{part} = {size}"), vec![at]);
        }
    }

    fn library(&mut self) {
        let (x, meant) = self.tensor();
        let size = self.size();
        let [batch, input, _] = meant.0.clone();
        let new = || Meant([batch.clone(), input.clone(), vec![Item::Axis(size.clone())]]);
        let (text, meant) = match self.dice.below(26) {
            0..4 => (format!("linear({size})($0)"), new()),
            4 => ("linear()($0)".to_owned(), new()),
            5 => (format!("linear_without_bias({size})($0)"), new()),
            6 => (format!("mlp([{size}], {size})($0)"), new()),
            7..10 => ("layer_norm()($0)".to_owned(), meant),
            10 => ("rms_norm()($0)".to_owned(), meant),
            11 => ("attention(2)($0)".to_owned(), meant),
            12 => (format!("attention({size})($0, {})", "$1"), meant),
            13 => (format!("attention(2, {size})($0)"), meant),
            14 => (format!("conv2d({size})($0)"), meant),
            15 => (format!("conv2d({size}, stride = 2)($0)"), meant),
            16 => ("conv2d(4, padding = \"valid\")($0)".to_owned(), meant),
            17 => ("max_pool(2)($0)".to_owned(), meant),
            18 => ("avg_pool(3, padding = \"drop\")($0)".to_owned(), meant),
            19 => ("global_avg_pool($0)".to_owned(), meant),
            20 => ("softmax(\"... | v\")($0)".to_owned(), meant),
            21 => ("softmax(\"... | ..d..\")($0)".to_owned(), meant),
            22 => ("rotary()($0)".to_owned(), meant),
            23 => ("sinusoidal()($0)".to_owned(), meant),
            24 => ("argmax($0)".to_owned(), meant),
            _ => (format!("encoder_block(2, {size})($0)"), meant),
        };
        let uses = if text.contains("$1") { vec![x, self.tensor().0] } else { vec![x] };
        let text = if self.dice.percent(15) { format!("$0 + {text}") } else { text };
        self.bind(Value { text, uses, meant });
    }

    /// A call of an earlier function.
    fn call(&mut self) {
        if self.earlier.is_empty() {
            return self.unary();
        }
        let function = self.dice.one(self.earlier).clone();
        if function.results.len() != 1 {
            return self.binary();
        }
        let mut uses = Vec::new();
        for (_, meant) in &function.arguments {
            let like: Vec<String> =
                self.tensors.iter().filter(|(_, own)| own == meant).map(|(name, _)| name.clone()).collect();
            let any = self.tensor().0;
            uses.push(if like.is_empty() || self.dice.percent(15) {
                any
            } else {
                self.dice.one(&like).clone()
            });
        }
        let config = function.config.map_or(String::new(), |config| {
            let sizes: Vec<String> = config.iter().map(|_| self.size()).collect();
            format!("({})", sizes.join(", "))
        });
        let places: Vec<String> = (0..uses.len()).map(|at| format!("${at}")).collect();
        let text = format!("{}{config}({})", function.name, places.join(", "));
        let meant = self.tensor().1;
        self.bind(Value { text, uses, meant });
    }

    /// States a size of the last spec.
    fn set(&mut self, h: String) {
        let Some(line) = self.lines.last() else { return };
        let spec = line.text.split('"').nth(1).unwrap_or_default();
        let operand = spec.split("=>").next().unwrap_or_default();
        let mut labels: Vec<String> = operand
            .split(|letter: char| !letter.is_alphanumeric())
            .filter(|word| word.chars().next().is_some_and(char::is_alphabetic))
            .map(str::to_owned)
            .collect();
        labels.dedup();
        if labels.is_empty() {
            return;
        }
        let label = self.dice.one(&labels).clone();
        let size = match self.dice.below(4) {
            0 => format!("2 * $0.{}", self.dice.one(&labels)),
            1 => format!("$0.{}", self.dice.one(&labels)),
            _ => self.size(),
        };
        self.say(format!("set $0.{label} = {size}"), vec![h]);
    }
}
