//! The sizes that leaves take, once every rank is known.
//!
//! Every axis of every row is a dimension. The constraints on them are applied over and over, until
//! nothing changes.

use broadloom_core::Role;

use super::groups::Round;
use super::system::{Dim, Says, Shapes, System, Term, Value};

/// The reason why there are no sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clash {
    /// Two different sizes for one dimension.
    Facts,
    /// A result claims a size that none of its operands claims.
    Made,
    /// The same, before any leaf took a size.
    MadeAtOnce,
}

/// A dimension, by its place in a table.
type Node = usize;

/// An axis of a result that is made of others, and the axes that face it.
struct MadeAxis {
    axis: Node,
    facing: Vec<Node>,
}

struct Table {
    /// Another dimension of the same class, or itself.
    same: Vec<Node>,
    value: Vec<Option<Value>>,
    /// The sizes known to lie below, of an open dimension.
    cap: Vec<Option<u64>>,
    /// True if the class has a dimension of a leaf, per round.
    leaf: Vec<[bool; 2]>,
    equal: Vec<(Node, Node)>,
    below: Vec<(Node, Node)>,
    made: Vec<MadeAxis>,
    rows: Vec<Vec<Node>>,
    dims: Vec<Node>,
}

const UNIT: Node = 0;

/// The values of all variables at these ranks.
pub fn sizes(system: &System, ranks: &[i32]) -> Result<Shapes, Clash> {
    let mut table = Table::new(system, ranks);
    table.settle().map_err(|clash| if clash == Clash::Made { Clash::MadeAtOnce } else { clash })?;
    for round in [Round::Leaves, Round::Fillers] {
        table.close_families(round)?;
    }
    // Dimensions that are left claim nothing.
    for node in 0..table.same.len() {
        if table.value(node).is_none() {
            table.give(node, Value::Unit)?;
        }
    }
    table.settle()?;
    let value = |node: &Node| table.value(*node).expect("all have values");
    for made in &table.made {
        let claimed = value(&made.axis);
        if claimed != Value::Unit && !made.facing.iter().any(|facing| value(facing) == claimed) {
            return Err(Clash::Made);
        }
    }
    Ok(Shapes {
        rows: table.rows.iter().map(|row| row.iter().map(value).collect()).collect(),
        dims: table.dims.iter().map(value).collect(),
    })
}

impl Table {
    fn new(system: &System, ranks: &[i32]) -> Table {
        let mut table = Table {
            same: Vec::new(),
            value: Vec::new(),
            cap: Vec::new(),
            leaf: Vec::new(),
            equal: Vec::new(),
            below: Vec::new(),
            made: Vec::new(),
            rows: Vec::new(),
            dims: Vec::new(),
        };
        table.node(Some(Value::Unit), Role::Interior);
        table.dims = system.dims.iter().map(|role| table.node(None, *role)).collect();
        for (row, rank) in system.rows.iter().zip(ranks) {
            let axes = (0..*rank).map(|_| table.node(None, row.role)).collect();
            table.rows.push(axes);
        }
        for says in &system.says {
            match says {
                Says::Eq(a, b) => {
                    let (a, b) = (table.axes(a), table.axes(b));
                    table.equal.extend(a.into_iter().zip(b));
                }
                Says::Le(res, opnd) => {
                    let res = table.axes(res);
                    let opnd = table.widened(system, opnd, res.len());
                    table.below.extend(res.into_iter().zip(opnd));
                }
                Says::Made(res, opnds) => {
                    let axes = table.rows[*res].clone();
                    let opnds: Vec<Vec<Node>> =
                        opnds.iter().map(|opnd| table.widened(system, opnd, axes.len())).collect();
                    for (at, axis) in axes.into_iter().enumerate() {
                        let facing = opnds.iter().map(|opnd| opnd[at]).collect();
                        table.made.push(MadeAxis { axis, facing });
                    }
                }
            }
        }
        table
    }

    fn node(&mut self, value: Option<Value>, role: Role) -> Node {
        self.same.push(self.same.len());
        self.value.push(value);
        self.cap.push(None);
        self.leaf.push([Round::Leaves.takes(role), Round::Fillers.takes(role)]);
        self.same.len() - 1
    }

    fn axes(&mut self, term: &Term) -> Vec<Node> {
        let mut axes = Vec::new();
        for dim in &term.lead {
            axes.push(self.written(*dim));
        }
        axes.extend(term.row.iter().flat_map(|row| self.rows[*row].clone()));
        for dim in &term.trail {
            axes.push(self.written(*dim));
        }
        axes
    }

    fn written(&mut self, dim: Dim) -> Node {
        match dim {
            Dim::Unit => UNIT,
            Dim::Size(size) => self.node(Some(Value::Size(size)), Role::Interior),
            Dim::Var(var) => self.dims[var],
        }
    }

    /// The axes of an operand, with units inserted at its marker.
    fn widened(&mut self, system: &System, term: &Term, length: usize) -> Vec<Node> {
        let inner = term.row.map_or(0, |row| system.rows[row].marker.min(self.rows[row].len()));
        let mut axes = self.axes(term);
        let marker = term.lead.len() + inner;
        while axes.len() < length {
            axes.insert(marker, UNIT);
        }
        axes
    }

    fn class(&self, node: Node) -> Node {
        if self.same[node] == node { node } else { self.class(self.same[node]) }
    }

    fn value(&self, node: Node) -> Option<Value> {
        self.value[self.class(node)]
    }

    fn is_unit(&self, node: Node) -> bool {
        self.value(node) == Some(Value::Unit)
    }

    /// Sets the value of a dimension. True if that is new.
    fn give(&mut self, node: Node, value: Value) -> Result<bool, Clash> {
        let class = self.class(node);
        match self.value[class] {
            Some(known) if known == value => Ok(false),
            Some(_) => Err(Clash::Facts),
            None => {
                if let (Some(cap), Value::Size(size)) = (self.cap[class], value)
                    && cap != size
                {
                    return Err(Clash::Facts);
                }
                self.value[class] = Some(value);
                Ok(true)
            }
        }
    }

    /// Adds a size below a dimension. True if that is new.
    fn give_cap(&mut self, node: Node, size: u64) -> Result<bool, Clash> {
        let class = self.class(node);
        match (self.value[class], self.cap[class]) {
            (Some(Value::Unit), _) => Ok(false),
            (Some(Value::Size(known)), _) if known == size => Ok(false),
            (Some(Value::Size(_)), _) => Err(Clash::Facts),
            (None, Some(known)) if known == size => Ok(false),
            (None, Some(_)) => self.give(class, Value::Unit),
            (None, None) => {
                self.cap[class] = Some(size);
                Ok(true)
            }
        }
    }

    /// Merges two dimensions. True if that is new.
    fn join(&mut self, a: Node, b: Node) -> Result<bool, Clash> {
        let (a, b) = (self.class(a), self.class(b));
        if a == b {
            return Ok(false);
        }
        // The unit keeps its place.
        let (kept, gone) = if b == UNIT { (b, a) } else { (a, b) };
        self.same[gone] = kept;
        self.leaf[kept] =
            [self.leaf[kept][0] || self.leaf[gone][0], self.leaf[kept][1] || self.leaf[gone][1]];
        let cap = self.cap[kept].take();
        if let Some(value) = self.value[gone] {
            self.give(kept, value)?;
        }
        for cap in [cap, self.cap[gone]].into_iter().flatten() {
            self.give_cap(kept, cap)?;
        }
        Ok(true)
    }

    /// Takes every step that follows, until there is none.
    fn settle(&mut self) -> Result<(), Clash> {
        loop {
            let mut news = false;
            for at in 0..self.equal.len() {
                let (a, b) = self.equal[at];
                news |= self.join(a, b)?;
            }
            for at in 0..self.below.len() {
                let (res, opnd) = self.below[at];
                if let Some(value @ Value::Size(_)) = self.value(opnd) {
                    news |= self.give(res, value)?;
                }
                news |= match (self.value(res), self.cap[self.class(res)]) {
                    (Some(Value::Unit), _) => self.give(opnd, Value::Unit)?,
                    (Some(Value::Size(size)), _) | (None, Some(size)) => self.give_cap(opnd, size)?,
                    (None, None) => false,
                };
            }
            for at in 0..self.made.len() {
                news |= self.settle_made(at)?;
            }
            if !news {
                return Ok(());
            }
        }
    }

    /// An axis that faces only units is a unit. An axis of which all facing axes but one are units is that
    /// one, if it is known to lie below it, or to claim a size.
    fn settle_made(&mut self, at: usize) -> Result<bool, Clash> {
        let axis = self.made[at].axis;
        let mut facing = self.made[at].facing.iter().copied().filter(|node| !self.is_unit(*node));
        match (facing.next(), facing.next()) {
            (None, _) => match self.value(axis) {
                None => self.give(axis, Value::Unit),
                Some(Value::Unit) => Ok(false),
                Some(Value::Size(_)) => Err(Clash::Made),
            },
            (Some(only), None) => {
                let (low, high) = (self.class(axis), self.class(only));
                let lies_below =
                    self.below.iter().any(|(a, b)| (self.class(*a), self.class(*b)) == (low, high));
                let claims = matches!(self.value(axis), Some(Value::Size(_)));
                if lies_below || claims { self.join(axis, only) } else { Ok(false) }
            }
            _ => Ok(false),
        }
    }

    /// Gives every family of open leaf dimensions its cap, or the unit if there are two.
    fn close_families(&mut self, round: Round) -> Result<(), Clash> {
        loop {
            let mut news = false;
            for family in self.families(round) {
                let mut caps: Vec<u64> = family.iter().filter_map(|node| self.cap[*node]).collect();
                caps.sort_unstable();
                caps.dedup();
                let value = match caps[..] {
                    [] => continue,
                    [size] => Value::Size(size),
                    _ => Value::Unit,
                };
                for node in family {
                    news |= self.give(node, value)?;
                }
            }
            self.settle()?;
            if !news {
                return Ok(());
            }
        }
    }

    /// The families: classes of open leaf dimensions, where a common open dimension that refines two of them
    /// makes them relatives.
    fn families(&self, round: Round) -> Vec<Vec<Node>> {
        let open = |node: Node| self.class(node) == node && self.value[node].is_none();
        let which = usize::from(round == Round::Fillers);
        let mut families: Vec<Vec<Node>> = (0..self.same.len())
            .filter(|node| open(*node) && self.leaf[*node][which])
            .map(|n| vec![n])
            .collect();
        for low in (0..self.same.len()).filter(|node| open(*node)) {
            let above = self.above(low);
            let (meet, apart): (Vec<Vec<Node>>, Vec<Vec<Node>>) =
                families.into_iter().partition(|family| family.iter().any(|node| above.contains(node)));
            families = apart;
            if !meet.is_empty() {
                families.push(meet.concat());
            }
        }
        families
    }

    /// The open classes that a class refines, itself among them.
    fn above(&self, low: Node) -> Vec<Node> {
        let mut found = vec![low];
        loop {
            let step = self.below.iter().find_map(|(a, b)| {
                let (a, b) = (self.class(*a), self.class(*b));
                (found.contains(&a) && !found.contains(&b) && self.value[b].is_none()).then_some(b)
            });
            match step {
                Some(next) => found.push(next),
                None => return found,
            }
        }
    }
}
