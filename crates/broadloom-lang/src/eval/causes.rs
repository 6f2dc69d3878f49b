//! Finds the earlier mistake that caused a shape error.

use broadloom::{ErrorKind, PartialAxis, Tensor};
use broadloom_diagnostics::Span;

use super::Eval;
use crate::lint::arguments::{channels_first, channels_last};
use crate::lint::compositions::{ALL_PAIRS, advice, idle, outer_product, short};
use crate::syntax::ast::ExprKind;
use crate::value::Value;

/// The number of tensors, of those that a mistake concerns, that are searched for products without a
/// contraction: one that is far away has been used since, and fitted.
const NEAR: usize = 8;

impl Eval<'_> {
    /// Advice about what an error at a place follows from.
    pub(super) fn cause(&self, kind: ErrorKind, span: Span) -> Option<String> {
        if !matches!(kind, ErrorKind::Mismatch | ErrorKind::Arithmetic) {
            return None;
        }
        let concerned = self.graph.computed_from(&self.read_at(span));
        match kind {
            ErrorKind::Mismatch => self.idle_composition(&concerned).or_else(|| self.positions(&concerned)),
            _ => self.channels(&concerned),
        }
    }

    /// The tensors that an expression reads: those it names, and those that parts of it have made.
    pub(super) fn read_at(&self, span: Span) -> Vec<Tensor> {
        let within = |other: Span| span.contains(other);
        // Expressions stand in the order of their ends, and the parts of one before it; what parts have made was made last.
        let exprs = &self.frame.file.exprs;
        let behind = exprs.partition_point(|expr| expr.span.end <= span.end);
        let parts = exprs[..behind].iter().rev().take_while(|expr| within(expr.span));
        let named = parts.filter_map(|expr| match expr.kind {
            ExprKind::Name(name) => self.frame.scope.find(name),
            _ => None,
        });
        let tensors =
            named.filter_map(|value| if let Value::Tensor(tensor) = value { Some(tensor) } else { None });
        let made = self.graph.tensors().rev().take_while(|tensor| {
            let origin = self.graph.step_of(*tensor).and_then(|step| self.origins.get(step));
            origin.is_some_and(|origin| within(origin.span) || within(origin.inner))
        });
        tensors.chain(made).collect()
    }

    /// Advice for `x @ {w}` where `x` has no inputs.
    fn idle_composition(&self, concerned: &[Tensor]) -> Option<String> {
        let near = || concerned.iter().rev().take(NEAR);
        if let Some((a, b)) = near().find_map(|tensor| outer_product(&self.graph, *tensor)) {
            // Inside of a function, names have its own before them.
            let [a, b] = [a, b].map(|tensor| short(&self.graph.message_name(tensor)).to_string());
            return Some(format!(
                "`{a} @ {b}.T` contracts nothing, because `{a}` has no input axes: write `einsum(\"{ALL_PAIRS}\", {a}, {b})` for products of all pairs"
            ));
        }
        let (a, w, step) = near().find_map(|tensor| idle(&self.graph, *tensor))?;
        let own = self.origins.get(step).is_some_and(|origin| origin.span == origin.inner);
        let written = self.graph.declaration_of(w).is_some();
        let [a, w] = [a, w].map(|tensor| self.graph.message_name(tensor));
        (own && !written).then(|| advice(&w, &a))
    }

    /// Advice for a sequence whose positions are among its outputs.
    fn positions(&self, concerned: &[Tensor]) -> Option<String> {
        self.given_to("attention", concerned).into_iter().find_map(|x| {
            let [batch, _, output] = self.graph.shape(x).rows;
            let ([count], [positions, width]) = (&batch.lead[..], &output.lead[..]) else { return None };
            let (name, shape) = (self.graph.message_name(x), format!("{count} | {positions}, {width}"));
            let meant = format!("{count}, {positions} | {width}");
            let closed = !batch.open && !output.open;
            closed.then(|| format!("`attention` takes positions as a batch axis, and `{name}` is `{shape}`: declare it `{meant}`"))
        })
    }

    /// Advice for an image whose channels come first.
    fn channels(&self, concerned: &[Tensor]) -> Option<String> {
        self.given_to("conv2d", concerned).into_iter().find_map(|x| {
            let output = &self.graph.shape(x).rows[2];
            let sizes = output.lead.iter().map(PartialAxis::size);
            let sizes: Vec<u64> = sizes.collect::<Option<_>>().filter(|_| !output.open)?;
            let name = self.graph.message_name(x);
            channels_first(&sizes).then(|| {
                let rest = channels_last(&name);
                format!(
                    "images are `h, w, channels`, and the channels of `{name}` seem to come first: {rest}"
                )
            })
        })
    }

    /// The tensors that a layer of the library was applied to, where it made some of these tensors.
    fn given_to(&self, layer: &str, concerned: &[Tensor]) -> Vec<Tensor> {
        let applications = self.applications_of(concerned);
        let applied = applications.into_iter().filter_map(|at| self.applied.get(at as usize));
        let x = self.names.find("x");
        let given = applied.filter(|applied| applied.is_of_library() && &*applied.name == layer);
        let given = given.filter_map(|applied| applied.scope.own(x?));
        given
            .filter_map(|value| if let Value::Tensor(tensor) = value { Some(tensor) } else { None })
            .collect()
    }
}
