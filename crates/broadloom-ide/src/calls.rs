//! Calls of functions: which function calls which, for a hierarchy of calls.

use broadloom_diagnostics::{SourceId, Span};
use serde::Serialize;

use crate::names::{Binding, BindingKind};
use crate::occurrences::{Occurrence, Occurrences};

/// A function of a text with the functions that its body names.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Caller {
    /// The name of the function; None for the program outside of functions.
    pub name: Option<String>,
    /// The name where it is bound.
    #[serde(skip)]
    pub span: Span,
    /// The whole definition.
    #[serde(skip)]
    pub whole: Span,
    /// The functions that it calls, in the order of first calls.
    pub calls: Vec<Callee>,
}

/// A function that is called.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Callee {
    /// Its name.
    pub name: String,
    /// The name where it is bound.
    #[serde(skip)]
    pub definition: Span,
    /// The places of the calls.
    #[serde(skip)]
    pub places: Vec<Span>,
}

/// Every function of a text, and the program itself, with the functions of the same text that it uses.
///
/// ```
/// use broadloom_ide::calls;
///
/// let all = calls("def f(x) = x\ndef g(x) = f(x) + f(2)\nprint g(1)\n");
/// let shown: Vec<_> = all.iter().map(|each| (each.name.as_deref(), each.calls.len())).collect();
/// assert_eq!(shown, [(Some("f"), 0), (Some("g"), 1), (None, 1)]);
/// assert_eq!(all[1].calls[0].places.len(), 2);
/// ```
pub fn calls(text: &str) -> Vec<Caller> {
    let names = Occurrences::new(SourceId(0), text);
    let is_function = |binding: &&Binding| binding.kind == BindingKind::Function;
    let functions: Vec<&Binding> = names.bindings.all.iter().filter(is_function).collect();
    let mut callers: Vec<Caller> = functions
        .iter()
        .map(|function| Caller {
            name: Some(function.name.clone()),
            span: function.span,
            whole: function.whole,
            calls: Vec::new(),
        })
        .collect();
    let end = text.len() as u32;
    let whole = Span::new(SourceId(0), 0, end);
    callers.push(Caller { name: None, span: Span::empty(SourceId(0), 0), whole, calls: Vec::new() });
    for occurrence in &names.all {
        let Some(function) = names.binding(occurrence).filter(is_function) else { continue };
        if function.span != occurrence.span {
            innermost(&mut callers, occurrence).record(function, occurrence.span);
        }
    }
    callers
}

/// The function around an occurrence, or the program: the last of the list.
fn innermost<'a>(callers: &'a mut [Caller], occurrence: &Occurrence) -> &'a mut Caller {
    let contains = |caller: &Caller| {
        caller.whole.start <= occurrence.span.start && occurrence.span.end <= caller.whole.end
    };
    let around = (0..callers.len()).filter(|at| contains(&callers[*at]));
    let at = around.min_by_key(|at| callers[*at].whole.end - callers[*at].whole.start);
    &mut callers[at.unwrap_or_default()]
}

impl Caller {
    fn record(&mut self, function: &Binding, place: Span) {
        match self.calls.iter_mut().find(|callee| callee.definition == function.span) {
            Some(callee) => callee.places.push(place),
            None => self.calls.push(Callee {
                name: function.name.clone(),
                definition: function.span,
                places: vec![place],
            }),
        }
    }
}
