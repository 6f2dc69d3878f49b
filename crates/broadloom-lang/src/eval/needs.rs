//! The arguments that a body has to know before it can be walked aside, each with the kind of value that it has to be.
//!
//! An argument of a body that is walked aside is an open size or an open tensor. Where the body uses one as a text, a list, a
//! function or a number, the walk cannot go on, and the signature says what is missing: "the list `sizes`". The value itself
//! tells which argument it is, through however many functions it was handed.

use broadloom::{Captured, Tensor};
use broadloom_diagnostics::Span;

use super::{Eval, Evaluated, Frame, Reported};
use crate::codes;
use crate::syntax::ast::{Argument, Binary, ExprId, ExprKind, Name};
use crate::value::{Scope, Value};

/// The arguments of a walk that are open, and what the body has to know of them.
#[derive(Default)]
pub(super) struct Needs {
    sizes: Vec<(Name, Captured)>,
    tensors: Vec<(Name, Tensor)>,
    found: Vec<(Name, NeedKind)>,
    /// True while the sides of a choice are looked at that is not decided.
    looks_further: bool,
}

/// A kind of value that a body cannot do without.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NeedKind {
    Number,
    Text,
    List,
    Function,
}

impl NeedKind {
    const fn words(self) -> [&'static str; 2] {
        match self {
            NeedKind::Number => ["the number", "the numbers"],
            NeedKind::Text => ["the text", "the texts"],
            NeedKind::List => ["the list", "the lists"],
            NeedKind::Function => ["the function", "the functions"],
        }
    }
}

impl Needs {
    /// Adds an argument that is an open size.
    pub fn add_size(&mut self, name: Name, size: Captured) {
        self.sizes.push((name, size));
    }

    /// Adds an argument that is an open tensor.
    pub fn add_tensor(&mut self, name: Name, tensor: Tensor) {
        self.tensors.push((name, tensor));
    }

    /// The number of arguments that the body has to know.
    pub fn count(&self) -> usize {
        self.found.len()
    }

    /// The arguments that a value is made of, as far as it tells.
    fn arguments(&self, value: &Value) -> Vec<Name> {
        match value {
            Value::Size(size) => {
                let captured = size.captured();
                let own = self.sizes.iter().filter(|(_, own)| captured.contains(own));
                own.map(|(name, _)| *name).collect()
            }
            Value::Tensor(tensor) => {
                let own = self.tensors.iter().filter(|(_, own)| own == tensor);
                own.map(|(name, _)| *name).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Notes that a value has to be known, if it is an open argument of a body that is walked aside.
pub(super) fn note(eval: &mut Eval<'_>, value: &Value, kind: NeedKind) {
    let Some(needs) = eval.aside.as_mut().map(|aside| &mut aside.needs) else { return };
    for name in needs.arguments(value) {
        if !needs.found.iter().any(|(known, _)| *known == name) {
            needs.found.push((name, kind));
        }
    }
}

/// Notes that the open arguments in a condition have to be numbers, which it is a tensor without.
pub(super) fn note_condition(eval: &mut Eval<'_>, condition: ExprId) {
    let Some(open) = eval.aside.as_ref().map(|aside| aside.needs.tensors.clone()) else { return };
    let (file, within) = (eval.frame.file.clone(), eval.span_of(condition));
    for (_, expr) in file.exprs_within(within) {
        if let ExprKind::Name(name) = expr.kind
            && let Some(value @ Value::Tensor(tensor)) = eval.frame.scope.find(name)
            && open.iter().any(|(_, own)| *own == tensor)
        {
            note(eval, &value, NeedKind::Number);
        }
    }
}

/// Refuses to compare an open argument with a text: that it is one is all that is known of it.
pub(super) fn refuse_texts(
    eval: &mut Eval<'_>,
    sign: Binary,
    operands: [(&Value, Span); 2],
) -> Evaluated<()> {
    if eval.aside.is_none() || !matches!(sign, Binary::Equal | Binary::NotEqual) {
        return Ok(());
    }
    let [(a, at_a), (b, at_b)] = operands;
    let (open, at) = match (a, b) {
        (Value::Text(_), open) => (open, at_b),
        (open, Value::Text(_)) => (open, at_a),
        _ => return Ok(()),
    };
    let is_open = eval.aside.as_ref().is_some_and(|aside| !aside.needs.arguments(open).is_empty());
    if !is_open {
        return Ok(());
    }
    note(eval, open, NeedKind::Text);
    eval.wrong(codes::KIND, "this text is not known here", at, "it is known where the function is applied")
}

/// Looks at the ways of a choice that an open argument decides, to find what else the body has to know. What is wrong in one
/// is not: it may not be taken.
pub(super) fn look_further<W>(eval: &mut Eval<'_>, ways: impl IntoIterator<Item = W>)
where
    W: FnOnce(&mut Eval<'_>) -> Evaluated<Value>,
{
    let waits = eval.aside.as_ref().is_some_and(|aside| {
        aside.unknown.is_none() && !aside.needs.found.is_empty() && !aside.needs.looks_further
    });
    if !waits {
        return;
    }
    let (before, errors) = (eval.diagnostics.len(), eval.errors);
    set_further(eval, true);
    for way in ways {
        let scope = Scope::new(Some(eval.frame.scope.clone()));
        let frame = Frame { scope, ..eval.frame.clone() };
        let (Ok(_) | Err(Reported)) = eval.within(frame, way);
    }
    set_further(eval, false);
    eval.diagnostics.truncate(before);
    eval.errors = errors;
}

fn set_further(eval: &mut Eval<'_>, looks_further: bool) {
    if let Some(aside) = &mut eval.aside {
        aside.needs.looks_further = looks_further;
    }
}

/// The arguments that are missing, in words and in their order: "the text `axis` and the numbers `before`, `after`". Nothing
/// if none is known to be.
pub(super) fn text<'a>(
    eval: &Eval<'_>,
    needs: &Needs,
    arguments: impl Iterator<Item = &'a Argument>,
) -> Option<String> {
    let kind = |argument: &Argument| {
        let found = needs.found.iter().find(|(name, _)| *name == argument.name.name);
        found.map(|(name, kind)| (*kind, format!("`{}`", eval.text(*name))))
    };
    let mut groups: Vec<(NeedKind, Vec<String>)> = Vec::new();
    for (kind, name) in arguments.filter_map(kind) {
        match groups.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, names)) => names.push(name),
            None => groups.push((kind, vec![name])),
        }
    }
    let group = |(kind, names): (NeedKind, Vec<String>)| {
        let [one, several] = kind.words();
        format!("{} {}", if names.len() == 1 { one } else { several }, names.join(", "))
    };
    let mut groups: Vec<String> = groups.into_iter().map(group).collect();
    let last = groups.pop()?;
    Some(match groups.is_empty() {
        true => last,
        false => format!("{} and {last}", groups.join(", ")),
    })
}
