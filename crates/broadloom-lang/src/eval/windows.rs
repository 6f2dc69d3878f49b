//! Windows that stay inside of an image, and leave less of it than is wanted.

use broadloom::{Error, ErrorKind, Remedy, Tensor};
use broadloom_diagnostics::{Diagnostic, Span};

use super::Eval;
use super::apply::Applied;
use crate::syntax::ast::ExprKind;
use crate::value::Value;

/// The padding that keeps the size of an image.
const KEEPS: &str = "same";

impl Eval<'_> {
    /// Advice for a layer that could pad what it reads: its window is too large, or what it leaves does not fit.
    pub(super) fn without_padding(&self, error: &Error, span: Span) -> Option<String> {
        match (error.kind(), error.remedy()) {
            (ErrorKind::Arithmetic, Some(Remedy::Window(_))) => {
                let mut around =
                    std::iter::successors(self.application, |at| self.applied.get(*at as usize)?.outer);
                let advice = around.find_map(|at| self.pads(self.applied.get(at as usize)?))?;
                Some(format!("or {advice}: windows then reach beyond the image"))
            }
            (ErrorKind::Mismatch, _) => self.shrunk(error, span),
            _ => None,
        }
    }

    /// Advice for two sizes of which one has become smaller by windows.
    fn shrunk(&self, error: &Error, span: Span) -> Option<String> {
        let [a, b] = error.sizes()?;
        let concerned = self.graph.computed_from(&self.read_at(span));
        let inside: Vec<&Applied> = self
            .applications_of(&concerned)
            .into_iter()
            .filter_map(|at| self.applied.get(at as usize))
            .filter(|applied| self.pads(applied).is_some() && self.config(applied, "stride") == Some(1))
            .collect();
        let taken = |applied: &&Applied| {
            let kernel = self.config(applied, "height").or_else(|| self.config(applied, "size"))?;
            Some(kernel.checked_sub(1)? * self.config(applied, "dilation").unwrap_or(1))
        };
        let taken: Option<u64> = inside.iter().map(taken).sum();
        let first = inside.first()?;
        (taken? == a.abs_diff(b)).then(|| {
            let (advice, name) = (self.pads(first).unwrap_or_default(), &first.name);
            format!("for both {}, {advice}: `{name}` then keeps the size of the image", a.max(b))
        })
    }

    /// Shows the layers that have made one of two sizes from the other, by a stride.
    pub(super) fn with_strides(&self, mut diagnostic: Diagnostic, error: &Error, span: Span) -> Diagnostic {
        let Some([a, b]) = error.sizes() else { return diagnostic };
        let (large, small) = (a.max(b), a.min(b));
        for at in self.applications_of(&self.graph.computed_from(&self.read_at(span))) {
            let Some(applied) = self.applied.get(at as usize).filter(|applied| applied.is_of_library())
            else {
                continue;
            };
            let stride = self.config(applied, "stride").filter(|stride| *stride > 1);
            let given = self.names.find("x").and_then(|x| applied.scope.own(x));
            let (Some(stride), Some(Value::Tensor(x))) = (stride, given) else { continue };
            let is_large = |axis: &_| ToString::to_string(axis) == large.to_string();
            let made = applied.layer.made_at.get().filter(|made| !self.library.contains(&made.source));
            let makes =
                large.div_ceil(stride) == small && self.graph.shape(x).rows[2].lead.iter().any(is_large);
            if let Some(made) = made.filter(|_| makes)
                && diagnostic.labels.iter().all(|label| label.span != made)
            {
                diagnostic =
                    diagnostic.with_label(made, format!("`{}` makes {small} of {large}", applied.name));
            }
        }
        diagnostic
    }

    /// The change that makes a layer of the library pad, if it has the choice and does not.
    fn pads(&self, applied: &Applied) -> Option<String> {
        let layer = &applied.layer;
        let mut config = layer.function.def.config.iter().flatten().zip(&layer.config);
        let (argument, value) = config.find(|(argument, _)| self.text(argument.name.name) == "padding")?;
        let Value::Text(padding) = value else { return None };
        if !applied.is_of_library() || **padding == *KEEPS {
            return None;
        }
        let default = argument.default.map(|default| &layer.function.file.expr(default).kind);
        Some(match default {
            Some(ExprKind::Text(text)) if **text == *KEEPS => {
                format!("leave out `padding = \"{padding}\"`")
            }
            _ => format!("write `padding = \"{KEEPS}\"`"),
        })
    }

    /// A number in the configuration of a layer.
    fn config(&self, applied: &Applied, name: &str) -> Option<u64> {
        let layer = &applied.layer;
        let mut config = layer.function.def.config.iter().flatten().zip(&layer.config);
        let (_, value) = config.find(|(argument, _)| self.text(argument.name.name) == name)?;
        self.known(value).filter(|number| *number >= 0.0 && number.fract() == 0.0).map(|number| number as u64)
    }

    /// The applications that made some of these tensors, each once.
    pub(super) fn applications_of(&self, concerned: &[Tensor]) -> Vec<u32> {
        let made_by = |tensor: &Tensor| self.origins.get(self.graph.step_of(*tensor)?)?.application;
        let mut applications: Vec<u32> = concerned.iter().filter_map(made_by).collect();
        applications.sort_unstable();
        applications.dedup();
        applications
    }
}
