//! A small system as a program makes one, and how it is written down.
//!
//! Every row has a declared marker. Dimensions are the unit, a size, or a variable.

use std::fmt;

use broadloom_core::Role;

/// A dimension as it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dim {
    /// The unit.
    Unit,
    /// An atom of the default basis.
    Size(u64),
    /// A dimension variable.
    Var(usize),
}

/// `lead · row · trail`; closed, with its marker between the flanks, if there is no row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Term {
    /// The axes before the hole.
    pub lead: Vec<Dim>,
    /// The row variable in the hole.
    pub row: Option<usize>,
    /// The axes after the hole.
    pub trail: Vec<Dim>,
}

/// A constraint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Says {
    /// The first row refines the second.
    Le(Term, Term),
    /// The rows have the same axes.
    Eq(Term, Term),
    /// The row is made of these.
    Made(usize, Vec<Term>),
}

/// A row variable: whose it is, and how many axes stand before its marker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// The kind of tensor that it belongs to.
    pub role: Role,
    /// The declared marker.
    pub marker: usize,
}

/// Variables and constraints.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct System {
    /// The row variables.
    pub rows: Vec<Row>,
    /// The roles of the dimension variables.
    pub dims: Vec<Role>,
    /// The constraints.
    pub says: Vec<Says>,
}

/// The value of a dimension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value {
    /// The unit.
    Unit,
    /// A size.
    Size(u64),
}

/// A value for every variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shapes {
    /// The axes of every row variable.
    pub rows: Vec<Vec<Value>>,
    /// The value of every dimension variable.
    pub dims: Vec<Value>,
}

impl Term {
    /// A bare row variable.
    pub fn var(row: usize) -> Term {
        Term { lead: Vec::new(), row: Some(row), trail: Vec::new() }
    }

    /// A row variable between flanks.
    pub fn open(lead: &[Dim], row: usize, trail: &[Dim]) -> Term {
        Term { lead: lead.to_vec(), row: Some(row), trail: trail.to_vec() }
    }

    /// A closed row with its marker at the left edge.
    pub fn closed(axes: &[Dim]) -> Term {
        Term { lead: Vec::new(), row: None, trail: axes.to_vec() }
    }

    /// The number of axes in the flanks.
    pub fn flanks(&self) -> i32 {
        self.before() + self.after()
    }

    /// The number of axes before the hole.
    pub fn before(&self) -> i32 {
        self.lead.len() as i32
    }

    /// The number of axes after the hole.
    pub fn after(&self) -> i32 {
        self.trail.len() as i32
    }
}

impl System {
    /// A new row variable.
    pub fn row(&mut self, role: Role, marker: usize) -> usize {
        self.rows.push(Row { role, marker });
        self.rows.len() - 1
    }

    /// A new dimension variable.
    pub fn dim(&mut self, role: Role) -> usize {
        self.dims.push(role);
        self.dims.len() - 1
    }

    /// Adds `res ⊑ opnd`.
    pub fn refine(&mut self, res: Term, opnd: Term) {
        self.says.push(Says::Le(res, opnd));
    }

    /// Adds `a ≈ b`.
    pub fn equate(&mut self, a: Term, b: Term) {
        self.says.push(Says::Eq(a, b));
    }

    /// Says that a row is exactly what these broadcast to.
    pub fn sum(&mut self, res: usize, opnds: &[Term]) {
        for opnd in opnds {
            self.refine(Term::var(res), opnd.clone());
        }
        self.says.push(Says::Made(res, opnds.to_vec()));
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dim::Unit => f.write_str("_"),
            Dim::Size(size) => write!(f, "{size}"),
            Dim::Var(var) => write!(f, "d{var}"),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Unit => f.write_str("_"),
            Value::Size(size) => write!(f, "{size}"),
        }
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = self.lead.iter().map(Dim::to_string).collect();
        match self.row {
            Some(row) => parts.push(format!("..r{row}..")),
            None if self.lead.is_empty() => {}
            None => parts.push("<>".into()),
        }
        parts.extend(self.trail.iter().map(Dim::to_string));
        write!(f, "[{}]", parts.join(", "))
    }
}

impl fmt::Display for Says {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Says::Le(res, opnd) => write!(f, "{res} <= {opnd}"),
            Says::Eq(a, b) => write!(f, "{a} ~ {b}"),
            Says::Made(res, opnds) => {
                let opnds: Vec<String> = opnds.iter().map(Term::to_string).collect();
                write!(f, "r{res} made of {}", opnds.join(" and "))
            }
        }
    }
}

impl fmt::Display for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mentioned =
            |at: usize| self.says.iter().any(|says| says.terms().iter().any(|t| t.row == Some(at)));
        for (at, row) in self.rows.iter().enumerate().filter(|(at, _)| mentioned(*at)) {
            let role = format!("{:?}", row.role).to_lowercase();
            writeln!(f, "  {role} r{at}, marker {}", row.marker)?;
        }
        for (at, role) in self.dims.iter().enumerate().filter(|(_, role)| **role != Role::Interior) {
            writeln!(f, "  {} d{at}", format!("{role:?}").to_lowercase())?;
        }
        self.says.iter().try_for_each(|says| writeln!(f, "  {says}"))
    }
}

impl Says {
    /// The terms that occur.
    pub fn terms(&self) -> Vec<Term> {
        match self {
            Says::Le(a, b) | Says::Eq(a, b) => vec![a.clone(), b.clone()],
            Says::Made(res, opnds) => std::iter::once(Term::var(*res)).chain(opnds.iter().cloned()).collect(),
        }
    }
}

impl fmt::Display for Shapes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, row) in self.rows.iter().enumerate() {
            let axes: Vec<String> = row.iter().map(Value::to_string).collect();
            write!(f, "r{at}=[{}] ", axes.join(", "))?;
        }
        self.dims.iter().enumerate().try_for_each(|(at, dim)| write!(f, "d{at}={dim} "))
    }
}
