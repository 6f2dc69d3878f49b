//! The verdict of Lean's checker on a certificate for all sizes, known before it runs.
//!
//! The checker of `verification/lean/Ranges.lean` is right when it says yes, and may say no where yes would be right. This is the
//! same procedure, so that no certificate is written that would be rejected. Nothing depends on it: Lean decides.

use broadloom_core::{Form, Need, Padding, Symbol};

use super::{Certificate, Constraint, Dim, DimTerm, Family, Piece, Row, RowTerm, Window};

impl Certificate {
    /// The first thing that cannot be shown for all sizes of the names, in the words of the program; nothing of a certificate without names.
    pub fn unproved(&self) -> Option<String> {
        let family = self.family.as_ref()?;
        let proof = Proof { certificate: self, family };
        if let Some(form) = family.forms.iter().find(|form| !family.is_size(form)) {
            return Some(format!("that `{}` is a size", family.show(form)));
        }
        for step in &self.steps {
            if step.constraints.iter().any(|constraint| proof.accepts(constraint).is_none()) {
                return Some(step.text.clone());
            }
        }
        let empty = |dim: &Dim| family.at_most(&Form::constant(1), &proof.size(*dim)).is_none();
        let may_be = |at: usize, dim: &Dim| {
            self.discardable.contains(&at)
                && !matches!(dim, Dim::Atom { basis: 1.., .. } | Dim::Form { basis: 1.., .. })
        };
        let mut dims = self.dims.iter().enumerate().filter(|(at, dim)| !may_be(*at, dim)).map(|(_, dim)| dim);
        let mut rows = self.rows.iter().flat_map(|row| row.lead.iter().chain(&row.trail));
        let found = dims.find(|dim| empty(dim)).or_else(|| rows.find(|dim| empty(dim)));
        found.map(|dim| format!("that `{}` is at least 1", family.show(&proof.size(*dim))))
    }
}

/// `Some(())` if it is shown.
type Shown = Option<()>;

fn shown(so: bool) -> Shown {
    so.then_some(())
}

impl Family {
    fn zeros(&self) -> Vec<Form> {
        let zeros = self.conditions.iter().filter(|condition| condition.need == Need::Zero);
        zeros.map(|condition| condition.form.numerator()).collect()
    }

    /// Expressions that the conditions keep from being negative, multiplied by their denominators.
    fn bounds(&self) -> impl Iterator<Item = Form> {
        self.conditions.iter().filter_map(|condition| {
            let limit =
                |limit: u64| Form::constant(i128::from(limit)).scaled(condition.form.denominator(), 1);
            let whole = condition.form.numerator();
            match condition.need {
                Need::AtLeast(least) => whole.minus(&limit(least)?),
                Need::AtMost(most) => limit(most)?.minus(&whole),
                Need::Whole | Need::Zero => None,
            }
        })
    }

    fn equal(&self, x: &Form, y: &Form) -> Shown {
        shown(x.minus(y)?.modulo(&self.zeros()).is_zero())
    }

    fn at_most(&self, x: &Form, y: &Form) -> Shown {
        let difference = y.minus(x)?;
        let slack = Form::constant(difference.denominator() - 1);
        self.is_nonneg(&difference.numerator().plus(&slack)?)
    }

    /// Shows that an expression with whole coefficients is not negative.
    fn is_nonneg(&self, form: &Form) -> Shown {
        let by_ranges = |form: &Form| form.bounds(|name| self.range(name)).0.is_some_and(|least| least >= 0);
        let less = |known: &Form| {
            let (names, factor) = known.terms().next()?;
            let own = form.terms().find(|(own, _)| *own == names).map_or(0, |(_, own)| own);
            let magnitude = |value: i128| i128::try_from(value.unsigned_abs()).ok();
            form.scaled(magnitude(factor)?, 1)?.minus(&known.scaled(magnitude(own)?, 1)?)
        };
        shown(by_ranges(form) || self.bounds().any(|known| less(&known).is_some_and(|less| by_ranges(&less))))
    }

    /// Returns true if an expression is shown to be a whole number that is not negative.
    fn is_size(&self, form: &Form) -> bool {
        self.is_multiple(form.numerator(), form.denominator()).is_some()
            && self.is_nonneg(&form.numerator()).is_some()
    }

    /// Shows that a number divides an expression, by its coefficients and the conditions.
    fn is_multiple(&self, mut form: Form, divisor: i128) -> Shown {
        /// Lean's checker takes as many steps.
        const STEPS: usize = 1000;
        let wholes = || self.conditions.iter().filter(|condition| condition.need == Need::Whole);
        for _ in 0..STEPS {
            let Some((names, factor)) = form.terms().find(|(_, factor)| factor % divisor != 0) else {
                return Some(());
            };
            form = wholes().find_map(|condition| {
                let whole = condition.form.numerator();
                let (first_names, first) = whole.terms().next()?;
                let times = factor.checked_div(first).filter(|times| times * first == factor)?;
                let divides = times.checked_mul(condition.form.denominator())? % divisor == 0;
                let more = without(names, first_names).filter(|_| divides)?;
                form.minus(&whole.times(&more.scaled(times, 1)?)?)
            })?;
        }
        None
    }
}

/// The product of names without those of another, if it has them all.
fn without(names: &[Symbol], less: &[Symbol]) -> Option<Form> {
    let mut rest = names.to_vec();
    for name in less {
        rest.remove(rest.iter().position(|own| own == name)?);
    }
    rest.into_iter().try_fold(Form::constant(1), |product, name| product.times(&Form::symbol(name)))
}

/// A certificate as Lean's checker sees it.
struct Proof<'a> {
    certificate: &'a Certificate,
    family: &'a Family,
}

impl Proof<'_> {
    fn dim(&self, term: &DimTerm) -> Dim {
        self.certificate.value(term)
    }

    fn dims(&self, terms: &[DimTerm]) -> Vec<Dim> {
        terms.iter().map(|term| self.dim(term)).collect()
    }

    fn size(&self, dim: Dim) -> Form {
        match dim {
            Dim::Unit => Form::constant(1),
            Dim::Atom { size, .. } => Form::constant(i128::from(size)),
            Dim::Form { form, .. } => {
                self.family.forms.get(form).cloned().unwrap_or_else(|| Form::constant(0))
            }
        }
    }

    /// The number of elements of some axes.
    fn elements(&self, dims: &[Dim]) -> Option<Form> {
        dims.iter().try_fold(Form::constant(1), |product, dim| product.times(&self.size(*dim)))
    }

    fn row(&self, term: &RowTerm) -> Row {
        let middle =
            term.hole.and_then(|number| self.certificate.rows.get(number)).cloned().unwrap_or_default();
        Row {
            lead: [self.dims(&term.lead), middle.lead].concat(),
            trail: [middle.trail, self.dims(&term.trail)].concat(),
        }
    }

    fn pieces(&self, pieces: &[Piece]) -> Vec<Dim> {
        let axes = |piece: &Piece| match piece {
            Piece::Dim(term) => vec![self.dim(term)],
            Piece::Row(number) => self.certificate.rows.get(*number).map_or_else(Vec::new, flat),
        };
        pieces.iter().flat_map(axes).collect()
    }

    /// Shows a constraint: arithmetic by expressions, everything else by their places.
    fn accepts(&self, constraint: &Constraint) -> Shown {
        match constraint {
            Constraint::DimEq(a, b) => shown(self.dim(a) == self.dim(b)),
            Constraint::DimLe(res, opnd) => shown(refines(self.dim(res), self.dim(opnd))),
            Constraint::RowEq(a, b) => shown(flat(&self.row(a)) == flat(&self.row(b))),
            Constraint::RowLe(res, opnd) => {
                let res = flat(&self.row(res));
                let opnd = expanded(&self.row(opnd), res.len())?;
                shown(res.iter().zip(&opnd).all(|(res, opnd)| refines(*res, *opnd)))
            }
            Constraint::MadeOf(res, opnds) => {
                let res = flat(&self.row(res));
                let opnds: Vec<Row> = opnds.iter().map(|opnd| self.row(opnd)).collect();
                shown(made_of(&res, &opnds))
            }
            Constraint::Affine { axis, over, stride, offset, window } => {
                let (axis, over) = (self.dim(axis), self.dim(over));
                shown(basis(axis).is_some() && basis(axis) == basis(over))?;
                self.affine(&self.size(axis), &self.size(over), [*stride, *offset], window.as_ref())
            }
            Constraint::Concat { axis, components, literal } => {
                let (axis, parts) = (self.dim(axis), self.dims(components));
                let of_basis = |dim: &&Dim| !matches!(dim, Dim::Atom { size: 0, .. });
                let mut bases = parts.iter().chain([&axis]).filter(of_basis).filter_map(|dim| basis(*dim));
                let first = bases.next();
                shown(bases.all(|basis| Some(basis) == first))?;
                let literal = Form::constant(i128::from(*literal));
                let sum = parts.iter().try_fold(literal, |sum, part| sum.plus(&self.size(*part)))?;
                self.family.equal(&self.size(axis), &sum)
            }
            Constraint::AtLeast(axis, least) => {
                self.family.at_most(&Form::constant(i128::from(*least)), &self.size(self.dim(axis)))
            }
            Constraint::AtMost(axis, most) => {
                self.family.at_most(&self.size(self.dim(axis)), &Form::constant(i128::from(*most)))
            }
            Constraint::Count { pieces, coeff, over, denom, divided_by } => {
                let counted =
                    self.elements(&self.pieces(pieces))?.times(&self.elements(&self.dims(divided_by))?)?;
                let over = over.as_ref().map_or_else(|| Form::constant(1), |term| self.size(self.dim(term)));
                let (coeff, denom) = (i128::from(*coeff), i128::from(*denom));
                self.family.equal(&counted.scaled(denom, 1)?, &over.scaled(coeff, 1)?)
            }
            Constraint::Exact(pieces, axes) => shown(self.pieces(pieces) == self.dims(axes)),
        }
    }

    fn affine(&self, size: &Form, over: &Form, [stride, offset]: [u64; 2], window: Option<&Window>) -> Shown {
        let number = |value: u64| Form::constant(i128::from(value));
        let strided = over.scaled(i128::from(stride), 1)?;
        let Some(Window { kernel, dilation, ends }) = window else {
            let more = number(offset.checked_add(1)?.saturating_sub(stride));
            return self.family.equal(size, &strided.plus(&more)?);
        };
        let kernel = self.dim(kernel);
        shown(kernel != Dim::Unit)?;
        let kernel = self.size(kernel).scaled(i128::from(*dilation), 1)?;
        let need = strided.plus(&kernel)?.plus(&number(offset.checked_add(1)?))?;
        let below = size.plus(&number(*dilation))?;
        let reach = below.plus(&number(stride))?;
        match ends {
            Padding::Padded => self.family.equal(size, &strided),
            Padding::Valid => self.family.equal(&reach, &need),
            Padding::Dropped => {
                self.family.at_most(&need, &reach)?;
                self.family.at_most(&below.plus(&number(1))?, &need)
            }
        }
    }
}

fn basis(dim: Dim) -> Option<u32> {
    match dim {
        Dim::Unit => None,
        Dim::Atom { basis, .. } | Dim::Form { basis, .. } => Some(basis),
    }
}

fn refines(res: Dim, opnd: Dim) -> bool {
    opnd == Dim::Unit || res == opnd
}

fn flat(row: &Row) -> Vec<Dim> {
    row.lead.iter().chain(&row.trail).copied().collect()
}

/// The axes of a row that is stretched by units at its marker, if it is not longer.
fn expanded(row: &Row, rank: usize) -> Option<Vec<Dim>> {
    let units = rank.checked_sub(row.lead.len() + row.trail.len())?;
    Some([row.lead.clone(), vec![Dim::Unit; units], row.trail.clone()].concat())
}

fn made_of(res: &[Dim], opnds: &[Row]) -> bool {
    let longest = opnds.iter().map(|opnd| opnd.lead.len() + opnd.trail.len()).max().unwrap_or(0);
    let stretched: Vec<Vec<Dim>> = opnds.iter().filter_map(|opnd| expanded(opnd, res.len())).collect();
    let mut axes = res.iter().enumerate();
    res.len() <= longest
        && axes.all(|(at, dim)| *dim == Dim::Unit || stretched.iter().any(|axes| axes.get(at) == Some(dim)))
}
