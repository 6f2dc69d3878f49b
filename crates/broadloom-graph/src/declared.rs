//! Declared shapes: read, as rows of the solver, and with what is known of the numbers that a leaf gets.

use std::sync::Arc;

use broadloom_core::order::{Atom, Basis};
use broadloom_core::{Constraint, DimTerm, Numerator, Role, RowVar};
use broadloom_spec::{DeclAxis, Kind, Row, RowVariable, ShapeDecl, parse_shape};

use crate::Graph;
use crate::declaration::{BufferFacts, Named, StatedNames};
use crate::error::{Error, ErrorKind};
use crate::notation::DeclaredShape;
use crate::size_expr::SizeSum;
use crate::step::{Aspect, RowRef, Rows, place};
use crate::symbols::read;

/// A shape with expressions for sizes.
#[derive(Clone, Copy, Debug)]
pub struct ComputedShape<'a> {
    /// The shape, with a name for each expression. A shape that is [built](broadloom_spec::ShapeBuilder::expression) has the
    /// expressions in its text, which messages quote.
    pub shape: DeclaredShape<'a>,
    /// The names that stand for expressions.
    pub sizes: &'a [(&'a str, &'a SizeSum)],
}

impl<'a> From<&'a str> for ComputedShape<'a> {
    fn from(shape: &'a str) -> ComputedShape<'a> {
        ComputedShape { shape: shape.into(), sizes: &[] }
    }
}

/// A declared shape that has been read, with the text that messages quote.
pub(crate) struct ReadShape<'s> {
    pub decl: Arc<ShapeDecl>,
    pub text: &'s str,
    /// True if the text has expressions where the declaration has names.
    pub is_computed: bool,
}

impl ReadShape<'_> {
    /// The declaration as data, if its places are those of the text.
    pub fn placed(&self) -> Option<Arc<ShapeDecl>> {
        (!self.is_computed).then(|| self.decl.clone())
    }
}

impl Graph {
    /// Reads a declared shape. Programs repeat a few, so each is parsed and kept once.
    pub(crate) fn read_shape<'s>(&mut self, shape: DeclaredShape<'s>) -> Result<ReadShape<'s>, Error> {
        let (text, is_computed) = match shape {
            DeclaredShape::Text(text) => (text.trim(), false),
            DeclaredShape::Tree(shape) => (shape.text(), shape.is_computed()),
        };
        // The names for expressions are not in the text.
        if let Some(known) = self.read_shapes.get(text).filter(|_| !is_computed) {
            return Ok(ReadShape { decl: known.clone(), text, is_computed });
        }
        let decl = match shape {
            DeclaredShape::Text(_) => parse_shape(text).map(Arc::new),
            DeclaredShape::Tree(shape) => shape.decl().cloned().map_err(Clone::clone),
        };
        let decl = decl.map_err(|error| Error::notation(text, &error))?;
        check_units(&decl)?;
        if !is_computed {
            self.read_shapes.insert(text.into(), decl.clone());
        }
        Ok(ReadShape { decl, text, is_computed })
    }

    /// The rows of a declaration; names that are shared with others are taken from there.
    pub(crate) fn declared_rows(
        &mut self,
        decl: &ShapeDecl,
        role: Role,
        mut shared: Option<&mut StatedNames>,
    ) -> Rows {
        let mut named: Vec<DimTerm> = Vec::with_capacity(decl.names.axes.len());
        for (_, name) in decl.names.axes.iter() {
            // The name of a declared size is that size; another name is one to be inferred, here.
            let known = shared.as_ref().and_then(|shared| stated(&shared.axes, &name.text));
            let term = match (read::symbol_at(self, &name.text), known) {
                (Some(at), _) => self.symbols[at].var.into(),
                (None, Some(known)) => self.stated[known as usize].1,
                (None, None) => self.solver.dim_var(role).into(),
            };
            if let Some(shared) = shared.as_mut().filter(|_| known.is_none()) {
                shared.axes.push((name.text.clone(), self.stated.len() as u32));
                self.stated.push((name.text.clone(), term));
            }
            named.push(term);
        }
        self.labels.extend_from_slice(&named);
        let mut holes: Vec<RowVar> = Vec::with_capacity(decl.names.rows.len());
        for (_, name) in decl.names.rows.iter() {
            let known = shared.as_ref().and_then(|shared| stated(&shared.rows, &name.text));
            let row = known.unwrap_or_else(|| self.fresh_row(role, 0));
            if let Some(shared) = shared.as_mut().filter(|_| known.is_none()) {
                shared.rows.push((name.text.clone(), row));
            }
            holes.push(row);
        }
        Kind::ALL.map(|kind| {
            decl.shape
                .row(kind)
                .map_or(RowRef::EMPTY, |row| self.declared_row(decl, row, role, &named, &holes))
        })
    }

    /// The names of a declaration and what they stand for, to be captured; none if everything is a number.
    pub(crate) fn declared_names(
        &mut self,
        decl: &Arc<ShapeDecl>,
        rows: Rows,
        first_label: usize,
    ) -> Option<Box<Named>> {
        let hole = |kind: Kind| decl.shape.row(kind)?.hole().map(|hole| hole.variable);
        if decl.names.axes.is_empty() && Kind::ALL.into_iter().all(|kind| hole(kind).is_none()) {
            return None;
        }
        let first_row = self.spec_rows.len();
        let inner = |kind: Kind| rows[place(kind)].hole.map_or(RowRef::EMPTY, RowRef::var);
        let plain = Kind::ALL.map(|kind| hole(kind) == Some(RowVariable::Ellipsis));
        for (kind, plain) in Kind::ALL.into_iter().zip(plain) {
            self.spec_rows.push(if plain { inner(kind) } else { RowRef::EMPTY });
        }
        for (id, _) in decl.names.rows.iter() {
            let kind = Kind::ALL.into_iter().find(|kind| hole(*kind) == Some(RowVariable::Named(id)));
            self.spec_rows.push(kind.map_or(RowRef::EMPTY, inner));
        }
        let (labels, rows) = (first_label as u32, first_row as u32);
        Some(Box::new(Named { decl: decl.clone(), plain, labels, rows }))
    }

    fn declared_row(
        &mut self,
        decl: &ShapeDecl,
        row: &Row<DeclAxis>,
        role: Role,
        named: &[DimTerm],
        holes: &[RowVar],
    ) -> RowRef {
        let start = self.axes.len() as u32;
        for axis in row.axes() {
            let name = axis.name.map(|name| named[name.0 as usize]);
            let size = axis.size.map(|size| match size.basis.map(|basis| decl.names.bases.text(basis)) {
                Some(UNIT) => DimTerm::UNIT,
                basis => {
                    let basis = basis.map_or(Basis::DEFAULT, |basis| self.basis(basis));
                    self.solver.atom(Atom { size: size.size.get(), basis })
                }
            });
            if let (Some(name), Some(size)) = (name, size) {
                self.constrain(Constraint::DimEq(name, size), 0, Aspect::Whole);
            }
            let term = size.or(name).unwrap_or_else(|| self.solver.dim_var(role).into());
            self.axes.push(term);
        }
        let hole = row.hole().map(|hole| match hole.variable {
            RowVariable::Ellipsis => self.fresh_row(role, 0),
            RowVariable::Named(name) => holes[name.0 as usize],
        });
        RowRef { start, lead: row.lead().len() as u16, trail: row.trail.len() as u16, hole }
    }

    /// Adds what is known of the buffer of a leaf as a constraint on its rows in memory order.
    pub(crate) fn describe_buffer(&mut self, rows: Rows, given: &BufferFacts, decl: &ShapeDecl) {
        let (pieces, rest) = self.pieces(rows);
        match given {
            BufferFacts::Nothing => {}
            BufferFacts::Axes(axes) => {
                let bases = bases(decl, axes.len());
                let axes = axes.iter().zip(bases).map(|(size, basis)| match basis {
                    Some(UNIT) if *size == 1 => DimTerm::UNIT,
                    Some(basis) if basis != UNIT => {
                        let basis = self.basis(basis);
                        self.solver.atom(Atom { size: *size, basis })
                    }
                    _ => self.solver.size(*size),
                });
                let axes: Vec<DimTerm> = axes.collect();
                self.constrain(Constraint::Exact { pieces: &pieces, axes: &axes, rest }, 0, Aspect::Whole);
            }
            BufferFacts::Rows(rows, row) => {
                let rows = read::symbol_at(self, rows).map(|at| self.symbols[at].var.into());
                let row: Vec<DimTerm> = row.iter().map(|size| self.solver.size(*size)).collect();
                let axes: Vec<DimTerm> = rows.into_iter().chain(row).collect();
                self.constrain(Constraint::Exact { pieces: &pieces, axes: &axes, rest }, 0, Aspect::Whole);
            }
            BufferFacts::Count(count) => {
                let numerator = Numerator::literal(*count);
                self.constrain(
                    Constraint::Count { pieces: &pieces, numerator, divided_by: &[], rest },
                    0,
                    Aspect::Whole,
                );
            }
        }
    }

    /// The number of a named basis.
    pub(crate) fn basis(&mut self, name: &str) -> Basis {
        if name == "default" {
            return Basis::DEFAULT;
        }
        let known = self.bases.iter().position(|basis| &**basis == name);
        let index = known.unwrap_or_else(|| {
            self.bases.push(name.into());
            self.bases.len() - 1
        });
        Basis(index as u32 + 1)
    }
}

/// The basis of an axis that claims no size.
const UNIT: &str = "unit";

/// Refuses units of more than one element: only an axis of one element can make no claim.
fn check_units(decl: &ShapeDecl) -> Result<(), Error> {
    let is_unit = |basis| decl.names.bases.text(basis) == UNIT;
    for size in decl.shape.axes().filter_map(|axis| axis.size) {
        let elements = size.size.get();
        if size.basis.is_some_and(is_unit) && elements != 1 {
            let message = format!("`{elements}:{UNIT}` is not possible, a unit has one element");
            let help = format!(
                "write `1:{UNIT}` for an axis that broadcasts, `{elements}` for one that has {elements} elements"
            );
            return Err(Error::new(ErrorKind::Use, message).with_help(help));
        }
    }
    Ok(())
}

/// The bases that a shape declares for values with so many axes, in memory order. Values count nothing themselves. Axes of a row of any length
/// have none, and so have all between two such rows.
fn bases(decl: &ShapeDecl, count: usize) -> Vec<Option<&str>> {
    let mut written: Vec<Option<Option<&str>>> = Vec::new();
    for row in [Kind::Batch, Kind::Output, Kind::Input].into_iter().filter_map(|kind| decl.shape.row(kind)) {
        let basis = |axis: &DeclAxis| axis.size?.basis.map(|basis| decl.names.bases.text(basis));
        written.extend(row.lead().iter().map(|axis| Some(basis(axis))));
        written.extend(row.hole().map(|_| None));
        written.extend(row.trail.iter().map(|axis| Some(basis(axis))));
    }
    let mut bases = vec![None; count];
    let holes = written.iter().filter(|axis| axis.is_none()).count();
    if holes == 0 && written.len() == count || holes > 0 && written.len() - holes <= count {
        let from_start = written.iter().map_while(|axis| *axis);
        bases.iter_mut().zip(from_start).for_each(|(to, basis)| *to = basis);
        let from_end = written.iter().rev().map_while(|axis| *axis);
        bases.iter_mut().rev().zip(from_end).for_each(|(to, basis)| *to = basis);
    }
    bases
}

/// Finds the meaning of a name in a list.
fn stated<T: Copy>(list: &[(Box<str>, T)], name: &str) -> Option<T> {
    list.iter().find(|(own, _)| **own == *name).map(|(_, stands)| *stands)
}
