//! Named sizes that are equated, leave their range, or do not satisfy an equation (the errors of
//! *Tensor Dimension Inference*, "Unification Algorithm").

use broadloom_core::{ConstraintId, Form, Symbol};
use broadloom_diagnostics::{Fact, Help};
use broadloom_spec::Kind;

use super::Case;
use crate::Graph;
use crate::error::{self, Error, ErrorKind};
use crate::size::range_text;
use crate::step::{Leaf, Step, Tensor};

impl Graph {
    fn symbol_name(&self, symbol: Symbol) -> String {
        self.symbol_data(symbol).map_or("?".into(), |data| data.name.to_string())
    }

    /// Explains two names for one axis.
    pub(super) fn explain_symbols(&self, case: Case<'_>, ends: [Symbol; 2]) -> Error {
        let [a, b] = ends.map(|symbol| self.symbol_name(symbol));
        let message = format!("`{a}` and `{b}` are different sizes, and this axis would be both");
        let mut error = self.error_at(ErrorKind::Mismatch, case.refused, &message);
        let mut shown = None;
        for (name, other) in [(&a, &b), (&b, &a)] {
            // A declaration with both names would not tell them apart.
            let alone = self.declared_with(case, name, |leaf, has| shown != Some(leaf) && !has(other));
            let leaf = alone.or_else(|| self.declared_with(case, name, |leaf, _| shown != Some(leaf)));
            if let Some(leaf) = leaf {
                shown = Some(leaf);
                error = error.with_end(self.declared_end(leaf));
            }
        }
        error.with_fact(Fact::SizeNames([a, b])).with_help(Help::rule(
            "a named size is itself or a number, never another name: declare both axes with one name, or keep them apart",
        ))
    }

    /// Explains a name that would be a number outside its range.
    pub(super) fn explain_range(
        &self,
        case: Case<'_>,
        symbol: Symbol,
        size: Option<u64>,
        (lo, hi): (u64, u64),
    ) -> Error {
        let name = self.symbol_name(symbol);
        let declared = self.symbol_data(symbol).map_or((1, None), |data| data.range);
        let about = |what: String| self.error_at(ErrorKind::Range, case.refused, &what);
        let mut error = match size {
            // What is said of the size itself needs no subject.
            Some(size) if matches!(self.steps.get(case.refused as usize), Some(Step::Size(..))) => {
                let left = range_text((lo, Some(hi).filter(|hi| *hi != u64::MAX)));
                let message = format!("`{name}` cannot be {size} here: the program leaves {left}");
                Error::new(ErrorKind::Range, message)
            }
            Some(size) => about(format!("`{name}` cannot be {size}, its range is {}", range_text(declared))),
            None => about(format!(
                "no size of `{name}` is left, it would have to be at least {lo} and at most {hi}"
            )),
        };
        for step in self.steps_of(case) {
            if let Some(Step::Dim(..)) = self.steps.get(step as usize) {
                error =
                    error.with_end(error::MessageLine::at(step, format!("declared {}", self.subject(step))));
            }
        }
        let words = [Some(name), size.map(|size| size.to_string())];
        for leaf in words.iter().flatten().filter_map(|word| self.declared_with(case, word, |_, _| true)) {
            error = error.with_end(self.declared_end(leaf));
        }
        error.with_help(match size {
            Some(_) => {
                "a named size that meets a number is that number: change the number, or declare a wider range"
            }
            None => "a named size has the sizes that all its ranges have in common: widen one of them",
        })
    }

    /// Explains expressions that do not satisfy an equation, whatever the sizes.
    pub(super) fn explain_expressions(
        &self,
        case: Case<'_>,
        constraint: ConstraintId,
        sizes: &[Option<Form>],
    ) -> Error {
        let known: Vec<String> =
            sizes.iter().flatten().map(|form| format!("`{}`", self.expression_of(form))).collect();
        let message = "no sizes of the named sizes satisfy this";
        let error =
            self.error_at(ErrorKind::Arithmetic, case.refused, message).with_end(self.said(constraint));
        let error = if known.is_empty() {
            error
        } else {
            error.with_end(format!("the sizes in it: {}", known.join(", ")))
        };
        self.with_declarations(case, error).with_help(
            "both sides have to be the same expression, or be equal for some sizes within the ranges",
        )
    }

    /// A leaf of the case whose declaration has a word in it, and that suits otherwise: it is told which other words the
    /// declaration has.
    fn declared_with(
        &self,
        case: Case<'_>,
        word: &str,
        suits: impl Fn(Tensor, &dyn Fn(&str) -> bool) -> bool,
    ) -> Option<Tensor> {
        let used = self.steps_of(case).into_iter().flat_map(|step| self.tensors_of(step));
        // The row of a result may be that of a leaf further back.
        let rows = used.flat_map(|tensor| Kind::ALL.map(|kind| self.walk_back((tensor, kind)).0));
        let leaves = rows.map(|(tensor, _)| tensor).filter(|tensor| {
            matches!(self.leaf(*tensor), Some(Leaf::Data | Leaf::Param | Leaf::State | Leaf::Range))
        });
        let has = |tensor: &Tensor, word: &str| {
            let declared = self.declarations.get(&tensor.0);
            let is_word = |each: &str| each.split(':').next() == Some(word);
            declared.is_some_and(|declared| declared.shape.split(|c: char| " ,|->=".contains(c)).any(is_word))
        };
        leaves.into_iter().find(|leaf| has(leaf, word) && suits(*leaf, &|word| has(leaf, word)))
    }

    /// The steps of a case, in order.
    fn steps_of(&self, case: Case<'_>) -> Vec<u32> {
        let mut steps: Vec<u32> = case.core.constraints.iter().map(|id| self.origin(*id).step).collect();
        steps.dedup();
        steps
    }

    /// The results and the operands of a step.
    fn tensors_of(&self, step: u32) -> Vec<Tensor> {
        self.step_results(step).chain(self.step_operands(step).iter().copied()).collect()
    }
}
