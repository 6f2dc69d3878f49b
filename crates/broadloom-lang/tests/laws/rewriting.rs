//! Rewritings that change the text of a program, but not its meaning.

use std::collections::BTreeSet;

use broadloom_testing::Dice;

use super::answer::{Allowed, Answer};
use super::drawer::strip;
use super::program::{Expr, Form, Kind, Program, Statement};

/// A program, written in another way.
pub struct Rewritten {
    /// The program.
    pub program: Program,
    /// The permitted changes if it is refused.
    pub allowed: Allowed,
}

/// A rewriting. Returns `None` if it does not apply to the program.
pub type Rewriting = fn(&Program, &Answer, &mut Dice) -> Option<Rewritten>;

/// All rewritings, by name.
pub const ALL: &[(&str, Rewriting)] = &[
    ("swap", swap),
    ("reorder", reorder),
    ("reader", reader),
    ("name", name),
    ("inline", inline),
    ("duplicate", duplicate),
    ("state", state),
    ("state results", state_results),
    ("state ranks", state_ranks),
];

fn rewritten(program: Program) -> Option<Rewritten> {
    Some(Rewritten { program, allowed: Allowed::default() })
}

/// The same if operands or statements change places.
fn moved(program: Program) -> Option<Rewritten> {
    Some(Rewritten { program, allowed: Allowed { order: true, ..Allowed::default() } })
}

/// Exchanges the operands of commutative operations;
/// those of a spec together with their parts of the spec.
fn swap(program: &Program, _: &Answer, dice: &mut Dice) -> Option<Rewritten> {
    let mut program = program.clone();
    let all = dice.percent(40);
    let count: usize = program.statements.iter_mut().map(|statement| each_swap(statement, &mut |_| {})).sum();
    let chosen = dice.below(count.max(1));
    let mut at = 0;
    for statement in &mut program.statements {
        each_swap(statement, &mut |expr| {
            if at == chosen || (all && dice.percent(60)) {
                expr.parts.swap(0, 1);
                if let Form::Spec { operands, .. } = &mut expr.form {
                    operands.swap(0, 1);
                }
            }
            at += 1;
        });
    }
    if count > 0 { moved(program) } else { None }
}

/// Calls a function for each commutative expression in a statement, and counts them.
fn each_swap(statement: &mut Statement, visit: &mut dyn FnMut(&mut Expr)) -> usize {
    let mut count = 0;
    if let Some(value) = statement.value_mut() {
        value.walk_mut(&mut |expr| {
            let commutes = match &expr.form {
                Form::Infix(sign) => matches!(*sign, "+" | "*"),
                Form::Call(function) => matches!(function.as_str(), "max" | "min"),
                Form::Spec { .. } => true,
                _ => false,
            };
            if commutes && expr.parts.len() == 2 {
                count += 1;
                visit(expr);
            }
        });
    }
    count
}

/// Reorders statements so that each stands after those
/// that define its names. Actions stay in order.
fn reorder(program: &Program, _: &Answer, dice: &mut Dice) -> Option<Rewritten> {
    let mut waiting = program.statements.clone();
    let mut ordered: Vec<Statement> = Vec::new();
    while !waiting.is_empty() {
        let free = |at: usize| {
            let uses = waiting[at].uses();
            let before = &waiting[..at];
            let defined = before.iter().flat_map(Statement::defines).any(|name| uses.contains(&name));
            let waits = waiting[at].acts() && before.iter().any(Statement::acts);
            !(defined || waits)
        };
        let ready: Vec<usize> = (0..waiting.len()).filter(|at| free(*at)).collect();
        let at = *dice.one(&ready);
        ordered.push(waiting.remove(at));
    }
    let same = ordered.iter().zip(&program.statements).all(|(a, b)| a.text() == b.text());
    if same { None } else { moved(Program { statements: ordered }) }
}

/// The names of tensors, with the indices of the statements that define them.
fn tensors(program: &Program) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    for (at, statement) in program.statements.iter().enumerate() {
        if !matches!(statement.kind, Kind::Text { .. }) {
            found.extend(statement.defines().into_iter().map(|name| (name, at)));
        }
    }
    found
}

/// Reads a tensor once more, with a result that is not used. A parameter that no operation reads
/// may have any shape (docs/shapes.md, "A hole in a parameter is an error"), so only tensors that
/// are read, or are results, are chosen.
fn reader(program: &Program, _: &Answer, dice: &mut Dice) -> Option<Rewritten> {
    let mut program = program.clone();
    let bare = |at: usize| match &program.statements[at].kind {
        Kind::Let { value, .. } => matches!(value.form, Form::Param { .. } | Form::Name(_)),
        Kind::Leaf { name, keyword, .. } => *keyword == "state" && program.uses_of(name) == 0,
        _ => false,
    };
    let candidates: Vec<(String, usize)> =
        tensors(&program).into_iter().filter(|(_, at)| !bare(*at)).collect();
    if candidates.is_empty() {
        return None;
    }
    let (read, at) = dice.one(&candidates).clone();
    let value = reading(Expr::name(&read), dice);
    let name = program.fresh("r");
    let home = program.statements[at].home;
    let place = at + 1 + dice.below(program.statements.len() - at);
    program.statements.insert(place, Statement { home, kind: Kind::Let { name, shape: None, value } });
    rewritten(program)
}

/// An expression that reads a tensor without constraining it.
fn reading(read: Expr, dice: &mut Dice) -> Expr {
    let number = |number| Expr::new(Form::Number(number), Vec::new());
    match dice.below(10) {
        0..3 => Expr::call("relu", vec![read]),
        3 => Expr::call("sum", vec![Expr::call("square", vec![read])]),
        4 => Expr::new(Form::Transpose, vec![read]),
        5 => Expr::new(Form::Infix("*"), vec![number("2"), read]),
        6 => Expr::new(Form::Infix("+"), vec![read.clone(), read]),
        7 => Expr::call("max", vec![read, number("0")]),
        8 => Expr::call("mean", vec![read]),
        _ => {
            let whole = "... | ... -> ...";
            Expr::spec("einsum", &[whole], Some(whole), vec![read])
        }
    }
}

/// Gives a name to a part of an expression.
fn name(program: &Program, _: &Answer, dice: &mut Dice) -> Option<Rewritten> {
    let mut program = program.clone();
    let long = |at: &usize| program.statements[*at].value().is_some_and(|value| value.len() > 1);
    let candidates: Vec<usize> = (0..program.statements.len()).filter(long).collect();
    if candidates.is_empty() {
        return None;
    }
    let at = *dice.one(&candidates);
    let name = program.fresh("t");
    let statement = &mut program.statements[at];
    let home = statement.home;
    let value = statement.value_mut()?;
    let place = 1 + dice.below(value.len() - 1);
    let part = value.at_mut(place)?;
    let part = std::mem::replace(part, Expr::name(&name));
    program.statements.insert(at, Statement { home, kind: Kind::Let { name, shape: None, value: part } });
    Some(Rewritten { program, allowed: Allowed { order: true, more: true, ..Allowed::default() } })
}

/// Returns true if every evaluation of an expression has the same shape.
/// Parameters, constants and layers in it are made again where it is
/// written again, and sizes that a spec leaves open are chosen again.
fn repeatable(value: &Expr) -> bool {
    let mut repeatable = true;
    value.walk(&mut |expr| {
        repeatable &= match &expr.form {
            Form::Param { .. } | Form::Filler(_) | Form::Layer(_) => false,
            Form::Spec { operands, result, .. } => {
                let arithmetic = |text: &String| text.contains(['<', '*', '^', '+', '~']);
                !operands.iter().any(arithmetic) && !result.as_ref().is_none_or(|text| text.contains('0'))
            }
            _ => true,
        };
    });
    repeatable
}

/// Replaces a name by its expression wherever it is used.
fn inline(program: &Program, _: &Answer, dice: &mut Dice) -> Option<Rewritten> {
    let mut program = program.clone();
    let fits = |statement: &&Statement| {
        let Kind::Let { name, value, .. } = &statement.kind else { return false };
        let named =
            |statement: &Statement| matches!(&statement.kind, Kind::Set { tensor, .. } if tensor == name);
        let params: Vec<String> = statement.defines().into_iter().filter(|made| made != name).collect();
        let uses = program.uses_of(name);
        let once = uses == 1 || (uses > 1 && repeatable(value));
        once && params.iter().all(|made| program.uses_of(made) == 0) && !program.statements.iter().any(named)
    };
    let candidates: Vec<usize> =
        (0..program.statements.len()).filter(|at| fits(&&program.statements[*at])).collect();
    if candidates.is_empty() {
        return None;
    }
    let statement = program.statements.remove(*dice.one(&candidates));
    let Kind::Let { name, value, .. } = &statement.kind else { return None };
    let mut merged = Vec::new();
    for other in &mut program.statements {
        let (used, home) = (other.uses().contains(name), other.home);
        if let Some(into) = other.value_mut().filter(|_| used) {
            into.walk_mut(&mut |expr| {
                if matches!(&expr.form, Form::Name(used) if used == name) {
                    *expr = value.clone();
                }
            });
            merged.push((home, statement.home));
        }
    }
    Some(Rewritten { program, allowed: Allowed { merged, order: true, less: true, ..Allowed::default() } })
}

/// Writes a statement once more, under another name. An unnamed layer would be another layer, with
/// parameters of its own, and so would a constant: statements that make some are not duplicated.
fn duplicate(program: &Program, _: &Answer, dice: &mut Dice) -> Option<Rewritten> {
    let mut program = program.clone();
    let makes = |value: &Expr| {
        let mut makes = false;
        value.walk(&mut |expr| {
            // A window whose size is known only from its use would not be known here.
            let window = matches!(&expr.form, Form::Spec { operands, .. }
                if operands.iter().any(|operand| operand.contains('+')));
            makes |= window || matches!(expr.form, Form::Layer(_));
        });
        makes
    };
    let fits = |statement: &Statement| match &statement.kind {
        Kind::Let { value, .. } | Kind::Assign { value, .. } => !makes(value),
        Kind::Leaf { .. } | Kind::Set { .. } => true,
        Kind::Text { .. } => false,
    };
    let candidates: Vec<usize> =
        (0..program.statements.len()).filter(|at| fits(&program.statements[*at])).collect();
    if candidates.is_empty() {
        return None;
    }
    let at = *dice.one(&candidates);
    let fresh = program.fresh("u");
    let mut copy = program.statements[at].clone();
    // Sizes that are set belong to the tensor that they are set for.
    let mut sets: Vec<Statement> = Vec::new();
    match &mut copy.kind {
        Kind::Let { name, value, .. } => {
            for statement in &program.statements {
                if let Kind::Set { tensor, label, size } = &statement.kind
                    && tensor == name
                {
                    let kind = Kind::Set { tensor: fresh.clone(), label: label.clone(), size: size.clone() };
                    sets.push(Statement { kind, ..statement.clone() });
                }
            }
            (*name, *value) = (fresh, strip(value));
        }
        Kind::Assign { value, .. } => *value = strip(value),
        Kind::Leaf { name, .. } => *name = fresh,
        _ => {}
    }
    let place = at + 1 + dice.below(program.statements.len() - at);
    program.statements.splice(place..place, [copy].into_iter().chain(sets));
    rewritten(program)
}

/// Declares some shapes of results.
fn state_results(program: &Program, answer: &Answer, dice: &mut Dice) -> Option<Rewritten> {
    if !answer.errors.is_empty() {
        return None;
    }
    let mut program = program.clone();
    let (some, mut changed) = (if dice.percent(25) { 100 } else { 30 }, false);
    for statement in &mut program.statements {
        if let Kind::Let { name, shape: shape @ None, .. } = &mut statement.kind
            && dice.percent(some)
        {
            *shape = answer.shapes.get(name).and_then(|found| declared(found));
            changed |= shape.is_some();
        }
    }
    if changed { rewritten(program) } else { None }
}

/// Declares some inferred shapes. A named size that became a number is not replaced by it: it says
/// that the two are one.
fn state(program: &Program, answer: &Answer, dice: &mut Dice) -> Option<Rewritten> {
    let named = |shape: &str| shape.contains('n') && !shape.contains("unit");
    let open = |shape: &Option<String>| {
        shape.as_ref().is_none_or(|shape| shape.contains(['_', '.', 'c']) && !named(shape))
    };
    stated(program, answer, dice, (&open, &declared))
}

/// Declares inferred numbers of axes without the sizes; declared sizes stay.
fn state_ranks(program: &Program, answer: &Answer, dice: &mut Dice) -> Option<Rewritten> {
    let ranks = |shape: &str| {
        let axes = |word: &str| if matches!(word, "|" | "->") { word.to_owned() } else { "_".to_owned() };
        let words: Vec<String> = declared(shape)?.replace(',', " ").split_whitespace().map(axes).collect();
        Some(words.join(" "))
    };
    stated(program, answer, dice, (&Option::is_none, &ranks))
}

/// The declarations that may be replaced, and the replacement for a final shape.
type Statable<'a> = (&'a dyn Fn(&Option<String>) -> bool, &'a dyn Fn(&str) -> Option<String>);

fn stated(
    program: &Program,
    answer: &Answer,
    dice: &mut Dice,
    (open, write): Statable<'_>,
) -> Option<Rewritten> {
    if !answer.errors.is_empty() {
        return None;
    }
    let mut program = program.clone();
    let mut places: BTreeSet<String> = BTreeSet::new();
    for statement in &program.statements {
        if let Kind::Leaf { name, shape, .. } = &statement.kind
            && open(shape)
        {
            places.insert(name.clone());
        }
        statement.each(&mut |expr| {
            if let Form::Param { name, shape } = &expr.form
                && open(shape)
            {
                places.insert(name.clone());
            }
        });
    }
    let places: Vec<String> = places.into_iter().collect();
    if places.is_empty() {
        return None;
    }
    let (chosen, all) = (dice.one(&places).clone(), dice.percent(25));
    let mut changed = false;
    let mut say = |name: &String, shape: &mut Option<String>| {
        let found = answer.shapes.get(name).and_then(|found| write(found));
        if let Some(found) = found.filter(|_| open(shape) && (all || *name == chosen)) {
            *shape = Some(found);
            changed = true;
        }
    };
    for statement in &mut program.statements {
        if let Kind::Leaf { name, shape, .. } = &mut statement.kind {
            say(name, shape);
        }
        if let Some(value) = statement.value_mut() {
            value.walk_mut(&mut |expr| {
                if let Form::Param { name, shape } = &mut expr.form {
                    say(name, shape);
                }
            });
        }
    }
    if changed { rewritten(program) } else { None }
}

/// A final shape as a declaration: `_` is a unit, `()` a number.
fn declared(shape: &str) -> Option<String> {
    if shape == "()" {
        return Some("|".to_owned());
    }
    let word = |word: &str| match word.trim_end_matches(',') {
        "_" => word.replace('_', "1:unit"),
        axis if axis.contains(['*', '/', '+']) || (axis.contains('-') && axis != "->") => {
            format!("({axis}){}", &word[axis.len()..])
        }
        _ => word.to_owned(),
    };
    Some(shape.split(' ').map(word).collect::<Vec<_>>().join(" "))
}
