//! Schemes: the shapes of a function over variables.
//!
//! Propagation describes all solutions of a body over open arguments by bindings and residual bounds (Formal Core,
//! Thm. 5.6); closing then chooses among them. A scheme shows both at once, on the most general instance that the body
//! allows: every row of an argument that the body leaves open becomes one row variable, every open axis one variable of
//! its own, unless the body needs two of them to be equal. Closing then runs as it does for a program, with these
//! variables as sizes that have names. So a scheme says what an application to arguments of that form gives, parameters
//! included, and what has to hold of their sizes.
//!
//! An argument may have less than its scheme says: an axis or a row that broadcasts fits wherever it faces a larger one.
//!
//! A row variable is one axis of the instance (`scheme/instance.rs`). That loses nothing as long as the body does not look
//! inside of the row, which is tried with two axes (`scheme/wider.rs`); where it does, the row has a last axis of its own.
//!
//! ```
//! use broadloom::{Graph, StatedNames};
//! let mut g = Graph::new();
//! let (x, w) = (g.argument("x"), g.param_shaped("w", "... -> 10")?);
//! let y = g.compose(w, x)?;
//! let scheme = g.scheme(&[x], &[w, y], &StatedNames::default())?;
//! let shapes: Vec<String> = scheme.shapes.iter().map(|shape| scheme.text(shape)).collect();
//! assert_eq!(shapes, ["..b.. | ..i.. -> ..o..", "..o.. -> 10", "..b.. | ..i.. -> 10"]);
//! # Ok::<(), broadloom::Error>(())
//! ```

mod instance;
mod wider;

use broadloom_core::order::Dim;
use broadloom_core::{Closed, DimTerm, Form, Role, RowTerm, Symbol};
use broadloom_spec::Kind;
use rustc_hash::{FxHashMap, FxHashSet};

use self::instance::Instance;
use crate::Graph;
use crate::declaration::StatedNames;
use crate::error::Error;
use crate::names;
use crate::shape::{Axis, Shape, rows_text};
use crate::step::{Leaf, Tensor};
use crate::symbols::{RuntimeCheck, read};

/// The least size of a variable: one would be taken for an axis that broadcasts.
const LEAST: u64 = 2;

/// The shapes of some tensors of a body over open arguments.
#[derive(Clone, Debug)]
pub struct Scheme {
    /// The shapes that were asked for: first those of the arguments, then the others.
    pub shapes: Vec<Shape>,
    /// The conditions on sizes, such as "`..m..` is a multiple of 8".
    pub conditions: Vec<String>,
    /// The greatest sizes that conditions allow, for whoever looks for what does not fit.
    pub most: Vec<u64>,
    /// The numbers that conditions mention.
    pub numbers: Vec<u64>,
    /// The variables in shapes.
    variables: FxHashMap<Symbol, Variable>,
    computed: Vec<ComputedSize>,
}

/// A size that a stated signature computes others from: `n` in `2*n`.
#[derive(Clone, Debug)]
struct ComputedSize {
    name: Box<str>,
    /// The size in the graph of the body.
    term: DimTerm,
    /// The same in the instance.
    size: Axis,
}

/// A variable of a scheme.
#[derive(Clone, Debug)]
struct Variable {
    name: String,
    /// True if it stands for any number of axes.
    is_row: bool,
}

impl std::fmt::Display for Variable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Variable { name, is_row } = self;
        if *is_row { write!(f, "..{name}..") } else { f.write_str(name) }
    }
}

/// An axis in a shape of a scheme.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SchemeAxis {
    /// The axis as it is written.
    pub text: String,
    /// True if its size is one name: that of a variable, or of a size.
    pub is_name: bool,
    /// True if it stands for any number of axes.
    pub is_row: bool,
}

impl std::fmt::Display for SchemeAxis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl Scheme {
    /// The variable that an axis is: its number, and true if it stands for a row.
    pub fn variable(&self, axis: &Axis) -> Option<(u32, bool)> {
        let Axis::Symbolic(size, _) = axis else { return None };
        let symbol = size.form().as_symbol()?;
        self.variables.get(&symbol).map(|variable| (symbol.0, variable.is_row))
    }

    /// The size of a name that a stated signature uses in an expression, such as `n` in `2*n`.
    pub fn computed(&self, name: &str) -> Option<&Axis> {
        self.computed.iter().find(|computed| *computed.name == *name).map(|computed| &computed.size)
    }

    /// The axes of a shape, with the names of the variables: batch, input and output.
    pub fn axes(&self, shape: &Shape) -> [Vec<SchemeAxis>; 3] {
        let axis = |axis: &Axis| {
            let is_row = self.variable(axis).is_some_and(|(_, is_row)| is_row);
            let (text, is_name) = match axis {
                Axis::Symbolic(size, basis) => {
                    let name = |symbol: Symbol| match self.variables.get(&symbol) {
                        Some(variable) => variable.to_string(),
                        None => size.name(symbol).unwrap_or("?").to_string(),
                    };
                    let basis = basis.as_ref().map_or(String::new(), |basis| format!(":{basis}"));
                    (format!("{}{basis}", size.form().show(name)), size.form().as_symbol().is_some())
                }
                other => (other.to_string(), false),
            };
            SchemeAxis { text, is_name, is_row }
        };
        Kind::ALL.map(|kind| shape.row(kind).iter().map(axis).collect())
    }

    /// True of an axis that is the same whatever the variables stand for: a number, or named sizes of the program.
    pub fn is_fixed(&self, axis: &Axis) -> bool {
        match axis {
            Axis::Unit | Axis::Sized(..) => true,
            Axis::Symbolic(size, _) => {
                size.form().symbols().iter().all(|symbol| !self.variables.contains_key(symbol))
            }
        }
    }

    /// A shape as it is written, with the names of the variables.
    pub fn text(&self, shape: &Shape) -> String {
        let [batch, input, output] = self.axes(shape).map(|row| crate::shape::list(&row));
        rows_text(&batch, &input, &output)
    }
}

impl Graph {
    /// An argument of a function whose [scheme](Graph::scheme) is asked for: nothing is known of its shape.
    pub fn argument(&mut self, name: &str) -> Tensor {
        self.undeclared(Some(name), Leaf::Data, [Some(Role::Leaf); 3])
    }

    /// The shapes of arguments and of other tensors over variables: see the example in the documentation of
    /// [`Scheme`]'s module. Changes nothing. A body that contradicts itself has no scheme.
    ///
    /// The names of a [stated](Graph::state_shape) signature are kept.
    pub fn scheme(
        &self,
        arguments: &[Tensor],
        others: &[Tensor],
        stated: &StatedNames,
    ) -> Result<Scheme, Error> {
        most_general(self, (arguments, others), stated)?.scheme(self.symbols.len())
    }
}

/// The most general instance of a body.
pub(crate) fn most_general(
    graph: &Graph,
    (arguments, others): (&[Tensor], &[Tensor]),
    stated: &StatedNames,
) -> Result<SchemeInstance, Error> {
    let mut choices = Choices::default();
    let mut round = 0;
    loop {
        let made = instance::instance(graph, (arguments, others), stated, &choices)?;
        let row = made.instance.rows.iter().find(|row| !wider::holds_wider(graph, &made, row)).copied();
        round += 1;
        match row.filter(|_| round < MOST_ROUNDS) {
            Some(row) => choices.narrow(row),
            None => return Ok(made),
        }
    }
}

/// Rows are made narrower at most so often.
const MOST_ROUNDS: usize = 12;

/// A row variable, and the row that it was made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct RowVariable {
    symbol: Symbol,
    tensor: Tensor,
    kind: Kind,
}

/// Rows of which the body looks at single axes, though it does not say so in a spec.
#[derive(Clone, Default)]
struct Choices {
    /// The last axis is one by itself.
    last: FxHashSet<(Tensor, Kind)>,
    /// There is no other axis than those that are known, or than the last.
    only: FxHashSet<(Tensor, Kind)>,
}

impl Choices {
    fn narrow(&mut self, row: RowVariable) {
        let key = (row.tensor, row.kind);
        if !self.last.insert(key) {
            self.only.insert(key);
        }
    }
}

/// An instance, and the shapes in it.
pub(crate) struct SchemeInstance {
    instance: Instance,
    asked: Vec<Tensor>,
    shapes: Vec<Shape>,
    /// The rows of arguments, and of parameters, that the user of the function decides.
    given: Vec<(Tensor, Kind, Shape)>,
    computed: Vec<ComputedSize>,
    /// The sizes that a signature has names for and that only the user of the function decides.
    opened: Vec<ComputedSize>,
}

impl SchemeInstance {
    /// The program that the instance is, where every tensor that was asked for has a name, and the names of its variables.
    pub(crate) fn program(mut self) -> Result<(Graph, FxHashMap<Symbol, String>), Error> {
        let variables = self.instance.variables(&self.shapes)?;
        let mut graph = self.instance.graph;
        let mut names = (2..).map(|number| format!("result{number}"));
        let mut next = Some("result".to_string());
        for tensor in self.asked {
            if names::name_of(&graph, tensor).is_none()
                && let Some(name) = next.take().or_else(|| names.next())
            {
                graph.name(tensor, &name);
            }
        }
        let names = variables.into_iter().map(|(symbol, variable)| (symbol, variable.to_string()));
        Ok((graph, names.collect()))
    }

    /// The scheme that it shows; `known` sizes had names before.
    pub(crate) fn scheme(mut self, known: usize) -> Result<Scheme, Error> {
        let variables = self.instance.variables(&self.shapes)?;
        let checks = self.instance.graph.runtime_checks()?;
        let mut conditions = self.instance.settled(known, &variables)?;
        let ranges = self.ranges(known, &variables, &checks)?;
        let graph = &self.instance.graph;
        let name = |symbol: Symbol| match variables.get(&symbol) {
            Some(variable) => variable.to_string(),
            None => read::symbol_data(graph, symbol).map_or("?".into(), |data| data.name.to_string()),
        };
        let (mut greatest, mut numbers) = (Vec::new(), Vec::new());
        for (symbol, (least, most)) in ranges {
            greatest.extend(most);
            numbers.extend(least.into_iter().chain(most));
            let own = name(symbol);
            conditions.extend(least.map(|least| format!("`{own}` is at least {least}")));
            conditions.extend(most.map(|most| format!("`{own}` is at most {most}")));
        }
        for check in checks.iter().map(|check| check.text(name)) {
            if !conditions.contains(&check) {
                conditions.push(check);
            }
        }
        numbers.extend(checks.iter().flat_map(RuntimeCheck::numbers));
        Ok(Scheme {
            shapes: self.shapes,
            conditions,
            most: greatest,
            numbers,
            variables,
            computed: self.computed,
        })
    }

    /// The least and the greatest size of each variable, and of the `known` sizes with names of their own, where the body
    /// restricts it. A multiple of 8 is not also said to be at least 8.
    fn ranges(
        &mut self,
        known: usize,
        variables: &FxHashMap<Symbol, Variable>,
        checks: &[RuntimeCheck],
    ) -> Result<Vec<(Symbol, Range)>, Error> {
        let symbols = &self.instance.graph.symbols[..known];
        let declared: Vec<(u64, Option<u64>)> = symbols.iter().map(|data| data.range).collect();
        let declared = |symbol: Symbol| declared.get(symbol.0 as usize).copied().unwrap_or((LEAST, None));
        let mut symbols: Vec<Symbol> = variables.keys().copied().collect();
        symbols.extend((0..known as u32).map(Symbol));
        symbols.sort_unstable();
        symbols.dedup();
        let range = |closed: &Closed<'_>, symbol: Symbol| (symbol, closed.symbol_bounds(symbol));
        let bounds =
            |closed: &Closed<'_>| symbols.iter().map(|symbol| range(closed, *symbol)).collect::<Vec<_>>();
        let (bounds, _) = self.instance.graph.closed(|closed, _| bounds(closed))?;
        let divisor = |symbol: Symbol| {
            let own = checks.iter().filter_map(RuntimeCheck::divisor).filter(|(of, _)| *of == symbol);
            own.map(|(_, divisor)| divisor).max().unwrap_or(LEAST)
        };
        let said = |(symbol, (least, most)): (Symbol, (u64, Option<u64>))| {
            let (own_least, own_most) = declared(symbol);
            let least = Some(least).filter(|least| *least > divisor(symbol).max(own_least));
            let most = most.filter(|_| most != own_most);
            // A size of its own that the body makes a number is said to be equal to it.
            let is_one = (symbol.0 as usize) < known && most.is_some() && least == most;
            (symbol, if is_one { (None, None) } else { (least, most) })
        };
        Ok(bounds.into_iter().map(said).collect())
    }
}

/// The least and the greatest size that a variable may have.
type Range = (Option<u64>, Option<u64>);

/// A size with a name that nothing has.
fn fresh_symbol(graph: &mut Graph) -> Symbol {
    let mut numbers = graph.symbols.len()..;
    let mut names = (&mut numbers).map(|number| format!("v{number}"));
    let name = names.find(|name| read::symbol_at(graph, name).is_none()).unwrap_or_default();
    let symbol = Symbol(graph.symbols.len() as u32);
    // The name is a word that nothing has, and the range is not empty.
    let made = graph.dim(&name, LEAST.., None);
    debug_assert!(made.is_ok(), "a variable can always be made");
    symbol
}

/// The symbol that a row consists of, if it is one axis and that is its size.
fn one_symbol(closed: &Closed<'_>, row: RowTerm<'_>) -> Option<Symbol> {
    let mut count = 0;
    closed.each_axis(row, |_| count += 1);
    forms(closed, row).next().and_then(|form| form.as_symbol()).filter(|_| count == 1)
}

/// The sizes of a row that are expressions.
fn forms(closed: &Closed<'_>, row: RowTerm<'_>) -> impl Iterator<Item = Form> + use<> {
    let mut found = Vec::new();
    closed.each_axis(row, |dim| {
        if let Dim::Symbolic(symbolic) = dim {
            found.push(closed.form(symbolic.form));
        }
    });
    found.into_iter()
}
