//! Checks that shapes satisfy every constraint of a system, by the meaning of the constraints.

use super::system::{Dim, Says, Shapes, System, Term, Value};

/// The first constraint that does not hold.
pub fn violated<'a>(system: &'a System, shapes: &Shapes) -> Option<&'a Says> {
    system.says.iter().find(|says| !holds(system, shapes, says))
}

fn holds(system: &System, shapes: &Shapes, says: &Says) -> bool {
    match says {
        Says::Eq(a, b) => axes(shapes, a) == axes(shapes, b),
        Says::Le(res, opnd) => {
            let res = axes(shapes, res);
            widened(system, shapes, opnd, res.len()).is_some_and(|opnd| {
                res.iter().zip(opnd).all(|(res, opnd)| opnd == Value::Unit || opnd == *res)
            })
        }
        Says::Made(res, opnds) => {
            let res = &shapes.rows[*res];
            let opnds: Vec<Vec<Value>> =
                opnds.iter().filter_map(|opnd| widened(system, shapes, opnd, res.len())).collect();
            let claimed = |at: usize| res[at] == Value::Unit || opnds.iter().any(|opnd| opnd[at] == res[at]);
            let longest = says.terms()[1..].iter().map(|term| axes(shapes, term).len()).max().unwrap_or(0);
            res.len() <= longest && (0..res.len()).all(claimed)
        }
    }
}

fn axes(shapes: &Shapes, term: &Term) -> Vec<Value> {
    let value = |dim: &Dim| match dim {
        Dim::Unit => Value::Unit,
        Dim::Size(size) => Value::Size(*size),
        Dim::Var(var) => shapes.dims[*var],
    };
    let mut axes: Vec<Value> = term.lead.iter().map(value).collect();
    axes.extend(term.row.iter().flat_map(|row| &shapes.rows[*row]));
    axes.extend(term.trail.iter().map(value));
    axes
}

/// The axes with units inserted at the marker; none if there are too many already.
fn widened(system: &System, shapes: &Shapes, term: &Term, length: usize) -> Option<Vec<Value>> {
    let mut axes = axes(shapes, term);
    let inner = term.row.map_or(0, |row| system.rows[row].marker.min(shapes.rows[row].len()));
    let missing = length.checked_sub(axes.len())?;
    let at = term.lead.len() + inner;
    axes.splice(at..at, std::iter::repeat_n(Value::Unit, missing));
    Some(axes)
}
