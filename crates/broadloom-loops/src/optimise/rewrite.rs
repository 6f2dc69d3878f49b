//! Changing statements and scalars: substitution for variables, for loads and for locals.

use crate::Size;
use crate::buffer::{Cell, Index, LoopSum, LoopVar};
use crate::program::Statement;
use crate::scalar::Scalar;

/// The index that replaces each loop variable.
pub type Substitution = Vec<(LoopVar, Index)>;

/// A sum with the substitution carried out. None if it would compute with a number that is looked
/// up or supplied.
fn index(sum: &LoopSum, by: &Substitution) -> Option<Index> {
    let lookup = |var: LoopVar| by.iter().find(|(known, _)| *known == var).map(|(_, index)| index);
    if let [(Size::ONE, var)] = sum.terms.as_slice()
        && sum.offset == 0
    {
        return Some(lookup(*var).cloned().unwrap_or_else(|| Index::At(sum.clone())));
    }
    let (mut offset, mut terms) = (sum.offset, Vec::new());
    for (coefficient, var) in &sum.terms {
        match lookup(*var) {
            None => terms.push((*coefficient, *var)),
            Some(Index::At(inner)) => {
                offset += *coefficient * inner.offset;
                terms.extend(inner.terms.iter().map(|(factor, var)| (*coefficient * *factor, *var)));
            }
            Some(Index::Symbol(_) | Index::Value(_)) => return None,
        }
    }
    Some(Index::At(LoopSum::new(offset, terms)))
}

/// A cell with the substitution carried out.
pub fn substitute_cell(cell: &Cell, by: &Substitution) -> Option<Cell> {
    let each = |part: &Index| match part {
        Index::At(sum) => index(sum, by),
        Index::Symbol(_) => Some(part.clone()),
        Index::Value(inner) => Some(Index::Value(Box::new(substitute_cell(inner, by)?))),
    };
    let parts: Option<Vec<Index>> = cell.index.iter().map(each).collect();
    Some(Cell { buffer: cell.buffer, index: parts? })
}

/// A scalar with the substitution carried out.
pub fn substitute(scalar: &Scalar, by: &Substitution) -> Option<Scalar> {
    Some(match scalar {
        Scalar::Load(cell) => Scalar::Load(substitute_cell(cell, by)?),
        Scalar::Position(sum) => match index(sum, by)? {
            Index::At(sum) => Scalar::Position(sum),
            Index::Symbol(symbol) => Scalar::Symbol(symbol),
            Index::Value(cell) => Scalar::Load(*cell),
        },
        Scalar::Uniform { key, stream, at } => match index(at, by)? {
            Index::At(at) => Scalar::Uniform { key: *key, stream: *stream, at },
            Index::Symbol(_) | Index::Value(_) => return None,
        },
        other => other.with_children(&mut |child| substitute(child, by))?,
    })
}

/// Replaces variables in a body. Fails only if a replacement is not a sum and would have to be
/// computed with.
pub fn substitute_body(body: &mut [Statement], by: &Substitution) -> Option<()> {
    for statement in body {
        if let Some(value) = value_mut(statement) {
            *value = substitute(value, by)?;
        }
        match statement {
            Statement::Loop(each) => substitute_body(&mut each.body, by)?,
            Statement::Store { cell, .. } | Statement::Check { cell, .. } => {
                *cell = substitute_cell(cell, by)?
            }
            Statement::Sort { keys, places, .. } => {
                *keys = substitute_cell(keys, by)?;
                *places = substitute_cell(places, by)?;
            }
            Statement::Matrix { work, .. } => *work = substitute_cell(work, by)?,
            _ => {}
        }
    }
    Some(())
}

/// Gives loop variables other numbers, those of the loops themselves included.
pub fn rename(body: &mut [Statement], names: &[(LoopVar, LoopVar)]) {
    let by: Substitution = names.iter().map(|(old, new)| (*old, Index::At(LoopSum::iterate(*new)))).collect();
    // A variable replaced by a variable always stays a sum.
    let _ = substitute_body(body, &by);
    fn loops(body: &mut [Statement], names: &[(LoopVar, LoopVar)]) {
        for statement in body {
            if let Statement::Loop(each) = statement {
                if let Some((_, new)) = names.iter().find(|(old, _)| *old == each.var) {
                    each.var = *new;
                }
                loops(&mut each.body, names);
            }
        }
    }
    loops(body, names);
}

/// The value that a statement computes, to be changed.
pub fn value_mut(statement: &mut Statement) -> Option<&mut Scalar> {
    match statement {
        Statement::Store { value, .. }
        | Statement::Declare { value, .. }
        | Statement::Update { value, .. } => Some(value),
        _ => None,
    }
}

/// Visits every statement of a body, to be changed.
pub fn each_mut(body: &mut [Statement], visit: &mut dyn FnMut(&mut Statement)) {
    for statement in body {
        visit(statement);
        if let Statement::Loop(each) = statement {
            each_mut(&mut each.body, visit);
        }
    }
}

/// Replaces loads in a scalar. `with` returns None for a load that stays; replacements are not
/// searched again. Loads in indices can only be replaced by loads. None if one of those would be
/// replaced by something else.
pub fn replace_loads(scalar: &mut Scalar, with: &mut dyn FnMut(&Cell) -> Option<Scalar>) -> Option<()> {
    if let Scalar::Load(cell) = scalar {
        replace_in_index(cell, with)?;
        if let Some(new) = with(cell) {
            *scalar = new;
        }
        return Some(());
    }
    scalar.children_mut().try_for_each(|child| replace_loads(child, with))
}

/// Replaces loads in the indices of a cell by loads.
pub fn replace_in_index(cell: &mut Cell, with: &mut dyn FnMut(&Cell) -> Option<Scalar>) -> Option<()> {
    for index in &mut cell.index {
        if let Index::Value(inner) = index {
            replace_in_index(inner, with)?;
            match with(inner) {
                None => {}
                Some(Scalar::Load(new)) => **inner = new,
                Some(_) => return None,
            }
        }
    }
    Some(())
}

/// Replaces loads everywhere in a body, in checks and in the indices of stores too.
pub fn replace_in_body(body: &mut [Statement], with: &mut dyn FnMut(&Cell) -> Option<Scalar>) -> Option<()> {
    for statement in body {
        if let Some(value) = value_mut(statement) {
            replace_loads(value, with)?;
        }
        match statement {
            Statement::Loop(each) => replace_in_body(&mut each.body, with)?,
            Statement::Store { cell, .. } => replace_in_index(cell, with)?,
            Statement::Check { cell, .. } => {
                replace_in_index(cell, with)?;
                match with(cell) {
                    None => {}
                    Some(Scalar::Load(new)) => *cell = new,
                    Some(_) => return None,
                }
            }
            // A row is sorted where it lies: what one of its cells holds does not say where the others are.
            Statement::Sort { keys: row, .. } | Statement::Matrix { work: row, .. }
                if with(row).is_some() =>
            {
                return None;
            }
            _ => {}
        }
    }
    Some(())
}

/// Visits every cell that the statement itself reads or writes, those in indices included, to be changed.
pub fn each_cell_mut(statement: &mut Statement, visit: &mut dyn FnMut(&mut Cell)) {
    fn inside(cell: &mut Cell, visit: &mut dyn FnMut(&mut Cell)) {
        for index in &mut cell.index {
            if let Index::Value(inner) = index {
                inside(inner, visit);
            }
        }
        visit(cell);
    }
    fn loads(scalar: &mut Scalar, visit: &mut dyn FnMut(&mut Cell)) {
        if let Scalar::Load(cell) = scalar {
            inside(cell, visit);
        }
        scalar.children_mut().for_each(|child| loads(child, visit));
    }
    if let Some(value) = value_mut(statement) {
        loads(value, visit);
    }
    match statement {
        Statement::Store { cell, .. }
        | Statement::Check { cell, .. }
        | Statement::Matrix { work: cell, .. } => {
            inside(cell, visit);
        }
        Statement::Sort { keys, places, .. } => {
            inside(keys, visit);
            inside(places, visit);
        }
        _ => {}
    }
}

/// The variables of all loops of a body.
pub fn loop_vars(body: &[Statement]) -> Vec<LoopVar> {
    let mut vars = Vec::new();
    for statement in body {
        statement.each(&mut |inner| {
            if let Statement::Loop(each) = inner {
                vars.push(each.var);
            }
        });
    }
    vars
}
