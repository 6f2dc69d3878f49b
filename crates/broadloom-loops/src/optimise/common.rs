//! Common subexpressions: an expression that several statements of a body share is computed once.
//!
//! Scalars are numbered by value: two are the same if they are built alike from the same cells and locals and none
//! of those was written in between. A scalar that two others, or two statements, are built from, and that takes
//! more than a load, gets a local in front of the first statement that needs it. It must be needed for certain:
//! what only stands in branches of `where` is left there, because the other branch may be chosen so as not to
//! compute it. And a local must hold it: integers stay where they are, because a local is a float, and what is computed from
//! it and from 64-bit integers would be one, too.

use rustc_hash::FxHashMap;

use super::cost::Cost;
use super::rewrite::value_mut;
use super::rounding::is_wide_integer;
use crate::buffer::{BufferId, Cell, Index, Local, LoopSum};
use crate::function::{Binary, Unary};
use crate::program::{Program, Statement};
use crate::scalar::Scalar;

/// The number of loads and operations from which on a scalar is worth a local.
const WORTH: u32 = 3;

/// Names common scalars. Returns how many.
pub fn common(program: &mut Program) -> usize {
    let first = program.locals;
    let mut nests = std::mem::take(&mut program.nests);
    for nest in &mut nests {
        block(&mut nest.body, program);
    }
    program.nests = nests;
    (program.locals - first) as usize
}

/// Treats each run of statements between loops by itself.
fn block(body: &mut Vec<Statement>, program: &mut Program) {
    let mut result = Vec::with_capacity(body.len());
    let mut run: Vec<Statement> = Vec::new();
    for statement in std::mem::take(body) {
        match statement {
            Statement::Loop(mut each) => {
                result.append(&mut straight(std::mem::take(&mut run), program));
                block(&mut each.body, program);
                result.push(Statement::Loop(each));
            }
            other => run.push(other),
        }
    }
    result.append(&mut straight(run, program));
    *body = result;
}

/// A value, given by the way it is built from other values.
#[derive(Clone, PartialEq, Eq, Hash)]
enum ValueNode {
    Number(u64),
    /// With the time of the last write to any buffer involved.
    Load(Cell, u32),
    Local(Local, u32),
    Position(LoopSum),
    Symbol(u32),
    Uniform(u32, u64, LoopSum),
    Unary(Unary, u32),
    Binary(Binary, u32, u32),
    Select(u32, u32, u32),
}

#[derive(Default)]
struct Values {
    numbers: FxHashMap<ValueNode, u32>,
    /// For each value, the number of values and statements that use it, and whether it is needed
    /// for certain.
    uses: Vec<u32>,
    certain: Vec<bool>,
    /// The times at which buffers and locals were last written.
    time: u32,
    buffers: FxHashMap<BufferId, u32>,
    locals: FxHashMap<Local, u32>,
}

impl Values {
    /// The number of a scalar.
    fn number(&mut self, scalar: &Scalar, certain: bool) -> u32 {
        let mut children: [u32; 3] = [0; 3];
        for (place, child) in scalar.children().enumerate() {
            let branch = matches!(scalar, Scalar::Select(..)) && place > 0;
            children[place] = self.number(child, certain && !branch);
        }
        self.number_above(scalar, children, certain)
    }

    /// The number of a scalar whose children have theirs.
    fn number_above(&mut self, scalar: &Scalar, children: [u32; 3], certain: bool) -> u32 {
        let [a, b, c] = children;
        let node = match scalar {
            Scalar::Number(value) => ValueNode::Number(value.to_bits()),
            Scalar::Load(cell) => ValueNode::Load(cell.clone(), self.written(cell)),
            Scalar::Local(local) => ValueNode::Local(*local, self.locals.get(local).copied().unwrap_or(0)),
            Scalar::Position(sum) => ValueNode::Position(sum.clone()),
            Scalar::Symbol(symbol) => ValueNode::Symbol(*symbol),
            Scalar::Uniform { key, stream, at } => ValueNode::Uniform(*key, *stream, at.clone()),
            Scalar::Unary(function, _) => ValueNode::Unary(*function, a),
            Scalar::Binary(function, ..) => ValueNode::Binary(*function, a, b),
            Scalar::Select(..) => ValueNode::Select(a, b, c),
        };
        let next = self.uses.len() as u32;
        let number = *self.numbers.entry(node).or_insert(next);
        if number == next {
            self.uses.push(0);
            self.certain.push(false);
            for child in children.iter().take(scalar.children().count()) {
                self.uses[*child as usize] += 1;
            }
        }
        self.certain[number as usize] |= certain;
        number
    }

    /// The time at which a buffer that a cell depends on was last written.
    fn written(&self, cell: &Cell) -> u32 {
        let own = self.buffers.get(&cell.buffer).copied().unwrap_or(0);
        let inner = cell.index.iter().map(|index| match index {
            Index::Value(inner) => self.written(inner),
            _ => 0,
        });
        inner.fold(own, u32::max)
    }

    /// Records the buffer or the local that a statement writes.
    fn pass(&mut self, statement: &Statement) {
        self.time += 1;
        if let Some(buffer) = statement.written() {
            self.buffers.insert(buffer, self.time);
        }
        if let Statement::Declare { local, .. } | Statement::Update { local, .. } = statement {
            self.locals.insert(*local, self.time);
        }
    }
}

fn straight(run: Vec<Statement>, program: &mut Program) -> Vec<Statement> {
    let mut values = Values::default();
    for statement in &run {
        if let Some(value) = statement.value() {
            let number = values.number(value, true);
            values.uses[number as usize] += 1;
        }
        values.pass(statement);
    }
    // Once more, with what is known now: the numbers come out the same.
    let mut naming =
        Naming { values: Values::default(), known: values, names: FxHashMap::default(), program };
    let mut result = Vec::with_capacity(run.len());
    for mut statement in run {
        let before = statement.clone();
        if let Some(value) = value_mut(&mut statement) {
            *value = naming.rewrite(value, &mut result).value;
        }
        naming.values.pass(&before);
        result.push(statement);
    }
    result
}

struct Naming<'a> {
    /// Numbers the scalars again, statement by statement.
    values: Values,
    /// The values as the first pass counted them.
    known: Values,
    names: FxHashMap<u32, Local>,
    program: &'a mut Program,
}

/// A scalar in which common parts are replaced by locals.
struct Named {
    value: Scalar,
    /// The number of the scalar before the replacement.
    number: u32,
    /// Its cost before the replacement.
    cost: Cost,
}

impl Naming<'_> {
    /// The scalar with locals for its common parts; parts that have no local yet are declared. Each
    /// part is visited once: its number and its cost follow from those of its children.
    fn rewrite(&mut self, scalar: &Scalar, declared: &mut Vec<Statement>) -> Named {
        let (mut children, mut place) = ([0; 3], 0);
        let mut cost = Cost::without_children(scalar);
        let value = scalar.with_children(&mut |child| {
            let child = self.rewrite(child, declared);
            children[place] = child.number;
            place += 1;
            cost += child.cost;
            Some(child.value)
        });
        let value = value.unwrap_or_else(|| scalar.clone());
        let number = self.values.number_above(scalar, children, true);
        if let Some(local) = self.names.get(&number) {
            return Named { value: Scalar::Local(*local), number, cost };
        }
        let several = self.known.uses[number as usize] > 1 && self.known.certain[number as usize];
        let is_whole =
            scalar.is_whole(&self.program.buffers) == Some(true) || is_wide_integer(self.program, scalar);
        if several && cost.total() >= WORTH && cost.work > 0 && !is_whole {
            let local = Local(self.program.locals);
            self.program.locals += 1;
            declared.push(Statement::Declare { local, value });
            self.names.insert(number, local);
            return Named { value: Scalar::Local(local), number, cost };
        }
        Named { value, number, cost }
    }
}
