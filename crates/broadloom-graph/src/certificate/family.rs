//! Named sizes in a certificate: ranges, conditions, and the expressions that occur in shapes.
//!
//! A certificate with a [`Family`] is one for all sizes of its names in their ranges that meet the conditions. Its
//! dimensions have numbers of expressions in the place of sizes; the words are those of `verification/lean/Forms.lean`.

use broadloom_core::order::{self, FormId};
use broadloom_core::{Closed, Form, Need, Symbol};
use rustc_hash::FxHashMap;

use super::Dim;
use crate::size::range_text;
use crate::symbols::read;
use crate::{Error, Graph, symbols};

/// The named sizes of a program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Family {
    /// The names; expressions know them by their places.
    pub names: Vec<Name>,
    /// The conditions that the program relies on.
    pub conditions: Vec<Condition>,
    /// The expressions that stand for sizes; dimensions know them by their places.
    pub forms: Vec<Form>,
    /// A size of each name that meets everything.
    pub sample: Vec<u64>,
}

/// A named size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Name {
    /// The name.
    pub name: String,
    /// The least size, and the greatest if there is one.
    pub range: (u64, Option<u64>),
}

/// `batch in 1..64`
impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} in {}", self.name, range_text(self.range))
    }
}

/// A condition on named sizes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Condition {
    /// The condition in words.
    pub text: String,
    /// The expression that it is about.
    pub form: Form,
    /// The condition on it.
    pub need: Need,
}

impl Family {
    /// An expression in words.
    pub fn show(&self, form: &Form) -> String {
        form.show(|name| self.names.get(name.0 as usize).map_or("?", |name| &name.name).to_string())
    }

    /// The range of a name.
    pub(super) fn range(&self, name: Symbol) -> (u64, Option<u64>) {
        self.names.get(name.0 as usize).map_or((0, None), |name| name.range)
    }
}

/// Collects the expressions of a closed program.
#[derive(Default)]
pub(super) struct Forms {
    known: FxHashMap<FormId, usize>,
    places: FxHashMap<Form, usize>,
    all: Vec<Form>,
}

impl Forms {
    /// A dimension; an expression by its place among them.
    pub(super) fn dim(&mut self, closed: &Closed<'_>, dim: order::Dim) -> Dim {
        let order::Dim::Symbolic(symbolic) = dim else { return super::dim(dim) };
        let form = *self.known.entry(symbolic.form).or_insert_with(|| {
            let form = closed.form(symbolic.form);
            *self.places.entry(form.clone()).or_insert_with(|| {
                self.all.push(form);
                self.all.len() - 1
            })
        });
        Dim::Form { form, basis: symbolic.basis.0 }
    }

    /// The family of these expressions. Only the names that they or the conditions mention are in it.
    pub(super) fn family(self, graph: &mut Graph) -> Result<Option<Family>, Error> {
        let checks = graph.runtime_checks()?;
        let sizes = symbols::some_sizes(graph)?;
        let forms = self.all.iter().chain(checks.iter().map(|check| check.form()));
        let mut used: Vec<Symbol> = forms.flat_map(Form::symbols).collect();
        used.sort_unstable();
        used.dedup();
        let place = |symbol: Symbol| Symbol(used.binary_search(&symbol).unwrap_or(used.len()) as u32);
        let renamed = |form: &Form| form.renamed(place);
        let name = |symbol: &Symbol| Name {
            name: read::symbol_data(graph, *symbol).map_or_else(String::new, |data| data.name.to_string()),
            range: read::symbol_range(graph, symbol.0 as usize),
        };
        let condition = |check: &crate::RuntimeCheck| {
            Some(Condition { text: check.to_string(), form: renamed(check.form())?, need: check.need() })
        };
        let made = || {
            Some(Family {
                names: used.iter().map(name).collect(),
                conditions: checks.iter().map(condition).collect::<Option<_>>()?,
                forms: self.all.iter().map(renamed).collect::<Option<_>>()?,
                sample: used
                    .iter()
                    .map(|symbol| sizes.get(symbol.0 as usize).copied())
                    .collect::<Option<_>>()?,
            })
        };
        Ok(made())
    }
}
