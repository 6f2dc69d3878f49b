//! A row variable that stands for one axis: whether it could stand for two.

use broadloom_core::{Constraint, DimTerm, Role, Symbol};
use broadloom_spec::Kind;
use rustc_hash::FxHashMap;

use super::{RowVariable, SchemeInstance, fresh_symbol};
use crate::shape::Axis;
use crate::step::{Aspect, RowRef, Step, Tensor, place};
use crate::symbols::read;
use crate::{Graph, final_shapes};

/// True if what holds for a row variable of one axis also holds for one of two: the body does not look inside.
pub(super) fn holds_wider(graph: &Graph, made: &SchemeInstance, row: &RowVariable) -> bool {
    let mut graph = graph.clone();
    let mut new: FxHashMap<Symbol, Vec<Symbol>> = FxHashMap::default();
    let rows = made.instance.rows.iter().map(|each| each.symbol);
    for symbol in rows.chain(made.instance.axes.iter().copied()) {
        let count = if symbol == row.symbol { 2 } else { 1 };
        new.insert(symbol, (0..count).map(|_| fresh_symbol(&mut graph)).collect());
    }
    for computed in made.computed.iter().chain(&made.opened) {
        let symbols = symbol_of(&computed.size).and_then(|own| new.get(&own)).into_iter().flatten();
        let terms: Vec<DimTerm> = symbols.filter_map(|symbol| term_of(&graph, *symbol)).collect();
        for term in terms {
            graph.constrain(Constraint::DimEq(computed.term, term), 0, Aspect::Whole);
        }
    }
    for (tensor, kind, shape) in &made.given {
        if !state_row(&mut graph, (*tensor, *kind), shape.row(*kind), &new) {
            return false;
        }
    }
    made.asked.iter().zip(&made.shapes).all(|(tensor, shape)| {
        match final_shapes::final_shape(&mut graph, *tensor) {
            Ok(wide) => Kind::ALL.into_iter().all(|kind| is_widened(shape.row(kind), wide.row(kind), &new)),
            Err(_) => false,
        }
    })
}

/// States the axes of a row, with other symbols; what is an expression is left to the body.
fn state_row(
    graph: &mut Graph,
    (tensor, kind): (Tensor, Kind),
    axes: &[Axis],
    new: &FxHashMap<Symbol, Vec<Symbol>>,
) -> bool {
    let row = graph.rows(tensor)[place(kind)];
    let mut terms: Vec<DimTerm> = Vec::new();
    for axis in axes {
        match axis {
            Axis::Unit => terms.push(DimTerm::UNIT),
            Axis::Sized(size, None) => terms.push(graph.solver.size(*size)),
            Axis::Symbolic(_, None) => match symbol_of(axis).and_then(|symbol| new.get(&symbol)) {
                Some(symbols) => terms.extend(symbols.iter().filter_map(|symbol| term_of(graph, *symbol))),
                None => terms.push(graph.solver.dim_var(Role::Interior).into()),
            },
            _ => terms.push(graph.solver.dim_var(Role::Interior).into()),
        }
    }
    let (start, trail) = (graph.axes.len() as u32, terms.len() as u16);
    graph.axes.extend(terms);
    graph.equate_rows(row, RowRef { start, lead: 0, trail, hole: None }, 0, Aspect::Row(kind));
    graph.steps.push(Step::Declared(tensor));
    graph.settled = None;
    !graph.solver.is_stuck()
}

/// The variable that is the size of an axis.
fn symbol_of(axis: &Axis) -> Option<Symbol> {
    match axis {
        Axis::Symbolic(size, _) => size.form().as_symbol(),
        _ => None,
    }
}

fn term_of(graph: &Graph, symbol: Symbol) -> Option<DimTerm> {
    read::symbol_data(graph, symbol).map(|data| data.var.into())
}

/// True if a row is another one, with the symbols that stand for its own.
fn is_widened(narrow: &[Axis], wide: &[Axis], new: &FxHashMap<Symbol, Vec<Symbol>>) -> bool {
    let mut rest = wide.iter();
    let same = narrow.iter().all(|axis| match (symbol_of(axis).and_then(|own| new.get(&own)), axis) {
        (Some(symbols), _) => symbols.iter().all(|symbol| rest.next().and_then(symbol_of) == Some(*symbol)),
        (None, Axis::Symbolic(size, _)) => {
            let needed = size.form().symbols().into_iter().filter_map(|own| new.get(&own)).flatten();
            match rest.next() {
                Some(Axis::Symbolic(found, _)) => {
                    let found = found.form().symbols();
                    { needed }.all(|symbol| found.contains(symbol))
                }
                _ => false,
            }
        }
        (None, other) => rest.next() == Some(other),
    });
    same && rest.next().is_none()
}
