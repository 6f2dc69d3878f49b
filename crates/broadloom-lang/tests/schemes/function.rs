//! Random functions as data: their lines can be left out and put in each other's place.

use broadloom_testing::Dice;

use super::text::declared;

/// An axis, or a row of axes, that a tensor is meant to have.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// One axis. Those of one name are meant to have one size.
    Axis(String),
    /// Any number of axes.
    Row(String),
}

/// The shape that a tensor is meant to have: batch, input, output.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Meant(pub [Vec<Item>; 3]);

/// A line of a body.
#[derive(Clone, Debug)]
pub struct Line {
    /// The name that it defines, if it is not a statement of another kind.
    pub name: Option<String>,
    /// A shape that it states.
    pub stated: Option<String>,
    /// Its expression, with `$0`, `$1` for what it uses.
    pub text: String,
    /// The names that it uses.
    pub uses: Vec<String>,
}

/// A function.
#[derive(Clone, Debug)]
pub struct Function {
    pub name: String,
    /// Its sizes, if it has a list of them.
    pub config: Option<Vec<String>>,
    pub arguments: Vec<(String, Meant)>,
    pub lines: Vec<Line>,
    /// The names of its results: several are a list.
    pub results: Vec<String>,
}

/// Functions; later ones may call earlier ones.
#[derive(Clone, Debug, Default)]
pub struct File(pub Vec<Function>);

impl Meant {
    /// A shape from three rows of names; those of rows have dots: `["..b..", "s"]`.
    pub fn of(rows: [&[&str]; 3]) -> Meant {
        let item = |name: &&str| match name.strip_prefix("..") {
            Some(row) => Item::Row(row.trim_end_matches('.').to_owned()),
            None => Item::Axis((*name).to_owned()),
        };
        Meant(rows.map(|row| row.iter().map(item).collect()))
    }

    /// A shape that it might have: sizes of its own for each name, and sometimes some mistake.
    pub fn drawn(&self, sizes: &mut dyn FnMut(&Item, &mut Dice) -> Vec<String>, dice: &mut Dice) -> String {
        let rows = self.0.each_ref().map(|row| {
            let mut axes: Vec<String> = row.iter().flat_map(|item| sizes(item, dice)).collect();
            if dice.percent(12) {
                let size = dice.pick(&["2", "3", "4", "6", "1:unit"]).to_owned();
                match dice.below(3) {
                    0 if !axes.is_empty() => drop(axes.remove(dice.below(axes.len()))),
                    1 if !axes.is_empty() => {
                        let at = dice.below(axes.len());
                        axes[at] = size;
                    }
                    _ => axes.insert(dice.below(axes.len() + 1), size),
                }
            }
            axes.join(", ")
        });
        let [batch, input, output] = rows;
        declared(&batch, &input, &output)
    }
}

impl Line {
    fn written(&self) -> String {
        let mut text = self.text.clone();
        for (at, name) in self.uses.iter().enumerate() {
            text = text.replace(&format!("${at}"), name);
        }
        match (&self.name, &self.stated) {
            (Some(name), Some(shape)) => format!("let {name} : {shape} = {text}"),
            (Some(name), None) => format!("let {name} = {text}"),
            (None, _) => text,
        }
    }
}

impl Function {
    /// Its definition.
    pub fn written(&self) -> String {
        let config = self.config.as_ref().map_or(String::new(), |sizes| format!("({})", sizes.join(", ")));
        let arguments: Vec<&str> = self.arguments.iter().map(|(name, _)| name.as_str()).collect();
        let head = format!("def {}{config}({}) =\n", self.name, arguments.join(", "));
        let lines: String = self.body().into_iter().map(|line| format!("  {line}\n")).collect();
        format!("{head}{lines}")
    }

    /// The lines of its body; the last one is its result.
    pub fn body(&self) -> Vec<String> {
        let (last, before) = match (self.lines.split_last(), self.results.as_slice()) {
            // The last line is the result itself.
            (Some((last, before)), [result])
                if last.name.as_ref() == Some(result) && last.stated.is_none() =>
            {
                (Line { name: None, ..last.clone() }.written(), before)
            }
            (_, [result]) => (result.clone(), self.lines.as_slice()),
            (_, results) => (format!("[{}]", results.join(", ")), self.lines.as_slice()),
        };
        before.iter().map(Line::written).chain([last]).collect()
    }

    /// Puts a name in the place of another from a line on.
    fn rename(&mut self, from: usize, old: &str, new: &str) {
        for line in self.lines.iter_mut().skip(from) {
            line.uses.iter_mut().filter(|name| *name == old).for_each(|name| *name = new.to_owned());
        }
        self.results.iter_mut().filter(|name| *name == old).for_each(|name| *name = new.to_owned());
    }

    /// The functions that are one step smaller.
    fn smaller(&self) -> Vec<Function> {
        let mut found = Vec::new();
        for (at, line) in self.lines.iter().enumerate() {
            let mut less = self.clone();
            less.lines.remove(at);
            match &line.name {
                None => found.push(less),
                Some(name) => {
                    for used in &line.uses {
                        let mut less = less.clone();
                        less.rename(at, name, used);
                        found.push(less);
                    }
                }
            }
            if line.stated.is_some() {
                let mut less = self.clone();
                less.lines[at].stated = None;
                found.push(less);
            }
            // The result may be an earlier one; what comes after it is left out.
            if let Some(name) = line.name.as_ref().filter(|_| at + 1 < self.lines.len()) {
                let mut less = self.clone();
                less.lines.truncate(at + 1);
                less.results = vec![name.clone()];
                found.push(less);
            }
        }
        if self.results.len() > 1 {
            for at in 0..self.results.len() {
                let mut less = self.clone();
                less.results.remove(at);
                found.push(less);
            }
        }
        if self.arguments.len() > 1 {
            for at in 0..self.arguments.len() {
                for other in (0..self.arguments.len()).filter(|other| *other != at) {
                    let mut less = self.clone();
                    let (name, _) = less.arguments.remove(at);
                    less.rename(0, &name, &self.arguments[other].0);
                    found.push(less);
                }
            }
        }
        let used = |size: &String| self.lines.iter().any(|line| line.written().contains(size.as_str()));
        if let Some(sizes) = &self.config {
            for at in (0..sizes.len()).filter(|at| !used(&sizes[*at])) {
                let mut less = self.clone();
                less.config.iter_mut().for_each(|sizes| drop(sizes.remove(at)));
                less.config = less.config.filter(|sizes| !sizes.is_empty());
                found.push(less);
            }
        }
        found
    }
}

impl File {
    /// A function with those that it calls, and those that they call; it is the last one.
    pub fn only(&self, at: usize) -> File {
        let mut kept = vec![at];
        for earlier in (0..at).rev() {
            let call = format!("{}(", self.0[earlier].name);
            if kept.iter().any(|own| self.0[*own].body().iter().any(|line| line.contains(&call))) {
                kept.insert(0, earlier);
            }
        }
        kept.sort_unstable();
        File(kept.into_iter().map(|own| self.0[own].clone()).collect())
    }

    /// Its text.
    pub fn written(&self) -> String {
        self.0.iter().map(Function::written).collect()
    }

    /// The files that are one step smaller and still have the last function.
    pub fn smaller(&self) -> Vec<File> {
        let mut found = Vec::new();
        for at in 0..self.0.len().saturating_sub(1) {
            let mut less = self.clone();
            let gone = less.0.remove(at);
            if !less.written().contains(&format!("{}(", gone.name)) {
                found.push(less);
            }
        }
        for (at, function) in self.0.iter().enumerate() {
            let calls = format!("{}(", function.name);
            let called = self.0.iter().skip(at + 1).any(|other| other.written().contains(&calls));
            for less in function.smaller() {
                let same = less.config == function.config && less.arguments.len() == function.arguments.len();
                if same || !called {
                    let mut file = self.clone();
                    file.0[at] = less;
                    found.push(file);
                }
            }
        }
        found
    }
}
