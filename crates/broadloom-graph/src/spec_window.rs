//! The arithmetic of windows in specs, and the rows that holes of specs stand for.

use broadloom_core::{Affine, Padding};
use broadloom_spec::{self as spec, Coefficient, Kind, RowVariable};

use crate::notation::KnownSpec;

/// The choices about a window that the user of a spec still has to make.
pub(crate) enum MissingPart<'a> {
    /// The value of a stride or a dilation.
    Value(&'a str),
    /// The padding: what the window does at the ends of the axis.
    Padding(spec::Kernel),
}

/// The arithmetic of an affine axis, with the choices of the user of the spec.
pub(crate) fn window_form<'a>(
    known: &'a KnownSpec,
    affine: &spec::Affine,
    padding: Option<Padding>,
    value: impl Fn(&str) -> Option<u64>,
) -> Result<Affine, MissingPart<'a>> {
    let coefficient = |coefficient: Coefficient| match coefficient {
        Coefficient::Literal(value) => Ok(value.get()),
        Coefficient::Named(id) => {
            let name = known.spec.names.coefficients.text(id);
            value(name).ok_or(MissingPart::Value(name))
        }
    };
    let form = Affine::strided(coefficient(affine.over.coefficient)?).with_offset(affine.offset);
    let Some(kernel) = affine.kernel else { return Ok(form) };
    let padding = match kernel.padding {
        spec::Padding::Padded => Padding::Padded,
        spec::Padding::Valid => Padding::Valid,
        spec::Padding::Dropped => Padding::Dropped,
        spec::Padding::Unmarked => padding.ok_or(MissingPart::Padding(kernel))?,
    };
    Ok(form.with_kernel(coefficient(kernel.term.coefficient)?, padding))
}

/// The place of the row of a variable among the rows of a use of a spec.
pub(crate) fn row_index(variable: RowVariable, kind: Kind) -> usize {
    match variable {
        RowVariable::Ellipsis => kind as usize,
        RowVariable::Named(name) => 3 + name.0 as usize,
    }
}
