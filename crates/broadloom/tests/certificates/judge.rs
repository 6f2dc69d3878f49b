//! A checker of certificates, written from the definitions (Formal Core, §1-3, and the words of
//! `verification/lean/Certificate.lean`). It knows nothing of the solver.

use super::read::{File, Value};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dim {
    Unit,
    Atom(u128, u128),
}

impl Dim {
    fn size(self) -> u128 {
        match self {
            Dim::Unit => 1,
            Dim::Atom(size, _) => size,
        }
    }

    /// Def. 1.2: they are the same, or the operand is the unit.
    fn refines(self, operand: Dim) -> bool {
        operand == Dim::Unit || self == operand
    }
}

#[derive(Clone, Debug, Default)]
struct Row {
    lead: Vec<Dim>,
    trail: Vec<Dim>,
}

impl Row {
    fn flat(&self) -> Vec<Dim> {
        [self.lead.clone(), self.trail.clone()].concat()
    }
}

/// The reason why a certificate is not a proof.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// It cannot be read.
    Text(String),
    /// A constraint does not hold: its index.
    Constraint(usize),
    /// A list is empty that must not be.
    Empty,
    /// A row does not have the stated axes.
    Shape(String),
}

type Read<T> = Result<T, Fault>;

fn odd<T>(what: &Value) -> Read<T> {
    Err(Fault::Text(format!("{what:?}")))
}

fn list(value: &Value) -> Read<&[Value]> {
    if let Value::List(values) = value { Ok(values) } else { odd(value) }
}

fn number(value: &Value) -> Read<u128> {
    if let Value::Number(number) = value { Ok(*number) } else { odd(value) }
}

/// The head of an application, and its arguments.
fn apply(value: &Value) -> Read<(&str, &[Value])> {
    if let Value::Apply(head, arguments) = value { Ok((head, arguments)) } else { odd(value) }
}

fn dim(value: &Value) -> Read<Dim> {
    match apply(value)? {
        (".unit", []) => Ok(Dim::Unit),
        (".sized", [size]) => Ok(Dim::Atom(number(size)?, 0)),
        (".atom", [size, basis]) => Ok(Dim::Atom(number(size)?, number(basis)?)),
        _ => odd(value),
    }
}

fn dims(value: &Value) -> Read<Vec<Dim>> {
    list(value)?.iter().map(dim).collect()
}

/// `none` or `(some x)`.
fn maybe(value: &Value) -> Read<Option<&Value>> {
    match apply(value)? {
        ("none", []) => Ok(None),
        ("some", [inner]) => Ok(Some(inner)),
        _ => odd(value),
    }
}

/// The values of all variables.
struct Solution {
    dims: Vec<Dim>,
    rows: Vec<Row>,
}

impl Solution {
    fn dim(&self, term: &Value) -> Read<Dim> {
        match apply(term)? {
            (".var", [var]) => Ok(self.dims.get(number(var)? as usize).copied().unwrap_or(Dim::Unit)),
            (".dim", [ground]) => dim(ground),
            _ => odd(term),
        }
    }

    fn dims(&self, terms: &Value) -> Read<Vec<Dim>> {
        list(terms)?.iter().map(|term| self.dim(term)).collect()
    }

    fn row_var(&self, var: &Value) -> Read<Row> {
        Ok(self.rows.get(number(var)? as usize).cloned().unwrap_or_default())
    }

    /// Def. 3.2: the value of the variable replaces the marker.
    fn row(&self, term: &Value) -> Read<Row> {
        let Value::Tuple(parts) = term else { return odd(term) };
        let [lead, hole, trail] = parts.as_slice() else { return odd(term) };
        let middle = maybe(hole)?.map_or(Ok(Row::default()), |var| self.row_var(var))?;
        Ok(Row {
            lead: [self.dims(lead)?, middle.lead].concat(),
            trail: [middle.trail, self.dims(trail)?].concat(),
        })
    }

    fn pieces(&self, pieces: &Value) -> Read<Vec<Dim>> {
        let mut axes = Vec::new();
        for piece in list(pieces)? {
            match apply(piece)? {
                (".dim", [term]) => axes.push(self.dim(term)?),
                (".row", [var]) => axes.extend(self.row_var(var)?.flat()),
                _ => return odd(piece),
            }
        }
        Ok(axes)
    }

    /// Returns true if a constraint holds.
    fn satisfies(&self, constraint: &Value) -> Read<bool> {
        Ok(match apply(constraint)? {
            (".dimEq", [a, b]) => self.dim(a)? == self.dim(b)?,
            (".dimLe", [res, opnd]) => self.dim(res)?.refines(self.dim(opnd)?),
            (".rowEq", [a, b]) => self.row(a)?.flat() == self.row(b)?.flat(),
            (".rowLe", [res, opnd]) => refines_once(&self.row(res)?.flat(), &self.row(opnd)?),
            (".madeOf", [res, opnds]) => {
                let opnds = list(opnds)?.iter().map(|opnd| self.row(opnd)).collect::<Read<Vec<_>>>()?;
                made_of(&self.row(res)?.flat(), &opnds)
            }
            (".affine", [axis, over, stride, offset, window]) => {
                let (Dim::Atom(size, basis), Dim::Atom(over, own)) = (self.dim(axis)?, self.dim(over)?)
                else {
                    return Ok(false);
                };
                let (stride, offset) = (number(stride)?, number(offset)?);
                basis == own && size_is(size, stride, over, offset, self.window(window)?)
            }
            (".concat", [axis, components, literal]) => {
                let (whole, parts) = (self.dim(axis)?, self.dims(components)?);
                let sum: u128 = parts.iter().map(|part| part.size()).sum();
                let bases = parts.iter().chain([&whole]).filter_map(|part| match part {
                    Dim::Atom(size, basis) if *size > 0 => Some(*basis),
                    _ => None,
                });
                let mut bases: Vec<u128> = bases.collect();
                bases.dedup();
                whole.size() == number(literal)? + sum && bases.len() <= 1
            }
            (".atLeast", [axis, least]) => self.dim(axis)?.size() >= number(least)?,
            (".atMost", [axis, most]) => self.dim(axis)?.size() <= number(most)?,
            (".count", [pieces, coeff, over, denom, divided_by]) => {
                let elements = |axes: &[Dim]| axes.iter().map(|axis| axis.size()).product::<u128>();
                let over = maybe(over)?.map_or(Ok(1), |term| self.dim(term).map(Dim::size))?;
                let divisor = number(denom)? * elements(&self.dims(divided_by)?);
                divisor * elements(&self.pieces(pieces)?) == number(coeff)? * over
            }
            (".exact", [pieces, axes]) => self.pieces(pieces)? == self.dims(axes)?,
            _ => return odd(constraint),
        })
    }

    /// The kernel's dimension, the dilation, and the treatment of the ends.
    fn window(&self, window: &Value) -> Read<Option<(Dim, u128, String)>> {
        let Some(window) = maybe(window)? else { return Ok(None) };
        let Value::Tuple(parts) = window else { return odd(window) };
        let [kernel, dilation, ends] = parts.as_slice() else { return odd(window) };
        let ends = match apply(ends)? {
            (ends @ (".padded" | ".valid" | ".dropped"), []) => ends.to_string(),
            _ => return odd(ends),
        };
        Ok(Some((self.dim(kernel)?, number(dilation)?, ends)))
    }
}

/// Remark 2.15(ii): the operand is stretched by units at its marker to the rank of the result.
fn refines_once(res: &[Dim], opnd: &Row) -> bool {
    let (lead, trail) = (opnd.lead.len(), opnd.trail.len());
    lead + trail <= res.len()
        && opnd.lead.iter().zip(res).all(|(opnd, res)| res.refines(*opnd))
        && opnd.trail.iter().zip(&res[res.len() - trail..]).all(|(opnd, res)| res.refines(*opnd))
}

/// A result has no axis and no size that none of its operands has.
fn made_of(res: &[Dim], opnds: &[Row]) -> bool {
    let length = |opnd: &Row| opnd.lead.len() + opnd.trail.len();
    let claims = |opnd: &Row, at: usize| {
        let stretched = res.len().checked_sub(length(opnd));
        let Some(units) = stretched else { return Dim::Unit };
        let middle = opnd.lead.len()..opnd.lead.len() + units;
        if middle.contains(&at) {
            Dim::Unit
        } else {
            opnd.flat()[if at < middle.start { at } else { at - units }]
        }
    };
    opnds.iter().map(length).max().unwrap_or(0) >= res.len()
        && (0..res.len())
            .all(|at| res[at] == Dim::Unit || opnds.iter().any(|opnd| claims(opnd, at) == res[at]))
}

/// The size of an affine axis: a valid window ends at the last position that it visits; other axes are as long as
/// their strides, and longer where an offset goes beyond.
fn size_is(size: u128, stride: u128, over: u128, offset: u128, window: Option<(Dim, u128, String)>) -> bool {
    match window {
        None => size == stride * over + (offset + 1).saturating_sub(stride),
        Some((Dim::Unit, ..)) => false,
        Some((Dim::Atom(..), _, ends)) if ends == ".padded" => size == stride * over,
        Some((Dim::Atom(kernel, _), dilation, ends)) => {
            over > 0 && kernel > 0 && {
                let last = stride * (over - 1) + dilation * (kernel - 1) + offset;
                size == last + 1 || ends == ".dropped" && last < size && size <= last + stride
            }
        }
    }
}

/// Checks a certificate.
pub fn judge(file: &File) -> Result<(), Fault> {
    let mut rows = Vec::new();
    for row in &file.rows {
        match row {
            Value::Tuple(flanks) if flanks.len() == 2 => {
                rows.push(Row { lead: dims(&flanks[0])?, trail: dims(&flanks[1])? });
            }
            _ => return odd(row),
        }
    }
    let solution = Solution { dims: file.dims.iter().map(dim).collect::<Read<_>>()?, rows };
    for (at, constraint) in file.constraints.iter().enumerate() {
        if !solution.satisfies(constraint)? {
            return Err(Fault::Constraint(at));
        }
    }
    let discardable = file.discardable.iter().map(number).collect::<Read<Vec<_>>>()?;
    let mut dims_of = solution.dims.iter().enumerate();
    let may_be_empty = |at: usize, dim: Dim| dim == Dim::Atom(0, 0) && discardable.contains(&(at as u128));
    let filled = dims_of.all(|(at, dim)| dim.size() > 0 || may_be_empty(at, *dim));
    if !filled || solution.rows.iter().flat_map(Row::flat).any(|axis| axis.size() == 0) {
        return Err(Fault::Empty);
    }
    for shape in &file.shapes {
        let Value::Tuple(parts) = shape else { return odd(shape) };
        let [Value::Text(name), row, axes] = parts.as_slice() else { return odd(shape) };
        if solution.row(row)?.flat() != dims(axes)? {
            return Err(Fault::Shape(name.clone()));
        }
    }
    Ok(())
}
