//! Rewritings that change the construction of a graph, but not its meaning.
use broadloom_testing::Dice;

use crate::laws::answer::Answer;
use crate::laws::said::{Call, Said};

/// A rewriting. It returns None if there is nothing to rewrite.
pub type Rewriting = fn(&[Said], &Answer, &mut Dice) -> Option<Vec<Said>>;

/// All rewritings, by name.
pub const ALL: &[(&str, Rewriting)] = &[
    ("swap", swap),
    ("reorder", reorder),
    ("reader", reader),
    ("duplicate", duplicate),
    ("inline", inline),
    ("name", name),
    ("state", state),
];

/// The indices of a list that fit.
fn places(said: &[Said], fits: impl Fn(&Said) -> bool) -> Vec<usize> {
    (0..said.len()).filter(|at| fits(&said[*at])).collect()
}

fn fresh(said: &[Said]) -> usize {
    1 + said.iter().map(|said| said.id).max().unwrap_or(0)
}

fn swap(said: &[Said], _: &Answer, dice: &mut Dice) -> Option<Vec<Said>> {
    let commutes = |said: &Said| {
        matches!(said.call, Call::Binary("add" | "mul" | "max") | Call::Einsum(..)) && said.reads.len() == 2
    };
    let places = places(said, commutes);
    if places.is_empty() {
        return None;
    }
    let (mut said, one, all) = (said.to_vec(), *dice.one(&places), dice.percent(30));
    for at in places.into_iter().filter(|at| all || *at == one) {
        said[at].reads.swap(0, 1);
        if let Call::Einsum(specs, _) = &mut said[at].call {
            specs.swap(0, 1);
        }
    }
    Some(said)
}

fn reorder(said: &[Said], _: &Answer, dice: &mut Dice) -> Option<Vec<Said>> {
    let (mut waiting, mut ordered) = (said.to_vec(), Vec::<Said>::new());
    while !waiting.is_empty() {
        let said = |id: usize| ordered.iter().any(|earlier| earlier.id == id);
        let ready = places(&waiting, |next| next.reads.iter().all(|read| said(*read)));
        let at = *dice.one(&ready);
        ordered.push(waiting.remove(at));
    }
    Some(ordered)
}

/// Returns true if a tensor may get another reader: a parameter without readers may have any shape.
fn is_used(said: &[Said], of: &Said) -> bool {
    !of.is_leaf() || said.iter().any(|other| other.reads.contains(&of.id))
}

fn reader(said: &[Said], _: &Answer, dice: &mut Dice) -> Option<Vec<Said>> {
    let places = places(said, |one| is_used(said, one));
    if places.is_empty() {
        return None;
    }
    let (mut new, at) = (said.to_vec(), *dice.one(&places));
    let id = said[at].id;
    let (call, reads) = match dice.below(5) {
        0 | 1 => (Call::Unary("relu"), vec![id]),
        2 => (Call::Transpose, vec![id]),
        3 => (Call::Binary("add"), vec![id, id]),
        _ => (Call::Einsum(vec!["... | ... -> ...".to_owned()], "... | ... -> ...".to_owned()), vec![id]),
    };
    let place = at + 1 + dice.below(said.len() - at);
    new.insert(place, Said { id: fresh(said), home: said[at].home, call, reads, name: None });
    Some(new)
}

fn duplicate(said: &[Said], _: &Answer, dice: &mut Dice) -> Option<Vec<Said>> {
    let places = places(said, |said| !said.is_leaf());
    if places.is_empty() {
        return None;
    }
    let (mut new, at) = (said.to_vec(), *dice.one(&places));
    let copy = Said { id: fresh(said), ..said[at].clone() };
    new.insert(at + 1 + dice.below(said.len() - at), copy);
    Some(new)
}

/// Each reader of a result but one gets a copy of it, made right before the reader.
fn inline(said: &[Said], _: &Answer, dice: &mut Dice) -> Option<Vec<Said>> {
    let readers = |one: &Said| said.iter().filter(|other| other.reads.contains(&one.id)).count();
    let places = places(said, |one| !one.is_leaf() && readers(one) > 1);
    if places.is_empty() {
        return None;
    }
    let one = said[*dice.one(&places)].clone();
    let mut new: Vec<Said> = Vec::new();
    let mut first = true;
    for next in said {
        let mut next = next.clone();
        if next.reads.contains(&one.id) && !std::mem::take(&mut first) {
            let id = fresh(said).max(fresh(&new));
            new.push(Said { id, ..one.clone() });
            next.reads.iter_mut().filter(|read| **read == one.id).for_each(|read| *read = id);
        }
        new.push(next);
    }
    Some(new)
}

fn name(said: &[Said], _: &Answer, dice: &mut Dice) -> Option<Vec<Said>> {
    let mut said = said.to_vec();
    let places = places(&said, |said| !said.is_leaf());
    if places.is_empty() {
        return None;
    }
    let at = *dice.one(&places);
    said[at].name = Some("named".to_owned());
    Some(said)
}

fn state(said: &[Said], answer: &Answer, dice: &mut Dice) -> Option<Vec<Said>> {
    let places = places(said, |said| matches!(said.call, Call::Param(_) | Call::State(None)));
    if places.is_empty() || !answer.errors.is_empty() {
        return None;
    }
    let (mut said, one, all) = (said.to_vec(), *dice.one(&places), dice.percent(25));
    for at in places.into_iter().filter(|at| all || *at == one) {
        let shape = answer.shapes.get(&said[at].id)?.replace('_', "1:unit");
        let shape = if shape == "()" { "|".to_owned() } else { shape };
        said[at].call = match &said[at].call {
            Call::State(_) => Call::State(Some(shape)),
            _ => Call::Param(Some(shape)),
        };
    }
    Some(said)
}
