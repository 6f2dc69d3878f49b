//! Arithmetic on symbolic sizes, while closing: the same equations, with expressions in place of numbers.
//!
//! Where all sizes of an equation but one are literal or symbolic, the last one follows and is an expression
//! over symbols. Where all are, the equation is proved, refuted, or left to be checked at run time:
//!
//! | what the two sides differ by | |
//! |---|---|
//! | nothing | the equation holds for all sizes |
//! | something that is never zero within the ranges | there is no solution |
//! | a multiple of `s - t`, for two named symbols | no solution: a symbol never meets another |
//! | anything else | a [`Check`](super::super::Check) |
//!
//! A quotient of an expression and a number is accepted, with a check that it is whole. A quotient of two
//! expressions has to be an expression itself, or to follow from another equation.
//!
//! Checks belong to what the constraints entail. A size that closing merely chooses must do without: at other
//! sizes of the symbols it would choose another one.

use smallvec::SmallVec;

use super::super::Solver;
use super::super::reason::{Conflict, Limit, NIL, Reason, ReasonId, Step};
use super::super::sizes::ANY;
use super::super::support::is_clause;
use super::super::symbols::{Check, Need};
use super::Arith;
use crate::form::{Form, Symbol};
use crate::order::Basis;
use crate::term::{ConstraintId, DimTerm, Numerator};

/// How many equations an expression may take that is asked for before closing.
const MOST_EQUATIONS: u32 = 4;

/// Sizes that are not known even symbolically: their classes, and how often each occurs.
type Open = SmallVec<[(u32, i128); 4]>;

fn occurs(open: &mut Open, class: u32, times: i128) {
    match open.iter_mut().find(|(own, _)| *own == class) {
        Some((_, sum)) => *sum += times,
        None => open.push((class, times)),
    }
}

impl Solver {
    /// The size of a term as an expression, if it is known; its class if it is not.
    fn expressed(&self, term: DimTerm) -> Result<Form, u32> {
        let resolved = self.dims.resolve(term);
        if let Some(form) = self.symbols.form_of(resolved) {
            return Ok(form.clone());
        }
        let (lo, hi) = self.size_bounds(resolved);
        match resolved.node() {
            Some(root) if lo != hi => Err(root),
            _ => Ok(Form::constant(lo.into())),
        }
    }

    /// The size of a dimension as an expression over symbols, as far as the constraints so far say it by name
    /// and by one equation after another. A size that is known may have one too. Changes nothing.
    pub fn observe_form(&self, term: DimTerm) -> Option<Form> {
        if self.symbols.is_empty() {
            return None;
        }
        self.form_within(term, MOST_EQUATIONS).filter(|form| form.as_constant().is_none())
    }

    /// The expression of a dimension by so many equations, or its number.
    fn form_within(&self, term: DimTerm, equations: u32) -> Option<Form> {
        let Some(node) = term.node().filter(|_| !term.is_none()) else { return self.expressed(term).ok() };
        let root = self.dims.find(node);
        if let Some(symbol) = self.dims.tag(root) {
            return Some(Form::symbol(Symbol(symbol)));
        }
        let less = equations.checked_sub(1);
        let watchers = self.dims.extra_of(root).filter(|_| less.is_some());
        let watchers = watchers.into_iter().flat_map(|extra| self.dims.sizes.watchers(extra));
        let mut watchers = watchers.filter(|watch| !is_clause(*watch));
        let found = watchers.find_map(|con| self.form_by(con, root, less?));
        found.or_else(|| self.expressed(term).ok())
    }

    /// What a linear equation makes of a class, if all others in it have a name or a number, and one a name.
    fn form_by(&self, con: u32, class: u32, equations: u32) -> Option<Form> {
        let arith = self.ariths.get(con);
        let Arith::Linear { items, constant, .. } = arith else { return None };
        let (mut sum, mut own) = (Form::constant(*constant), 0i128);
        for item in items {
            if item.dim.node().is_some_and(|node| self.dims.find(node) == class) {
                own += item.coeff;
            } else {
                sum = sum.plus(&self.form_within(item.dim, equations)?.scaled(item.coeff, 1)?)?;
            }
        }
        let form = sum.scaled(1, own.checked_neg()?).filter(|form| form.as_constant().is_none())?;
        match arith.slack() {
            0 => Some(form),
            // What is iterated follows from the axis; not the other way round.
            _ if own > 0 => form.floor(),
            _ => None,
        }
    }

    /// The sizes of the dimensions of an arithmetic constraint, as far as they are known: of its rows, then of
    /// those written out.
    pub(crate) fn known_forms(&self, con: u32) -> Vec<Option<Form>> {
        let arith = self.ariths.get(con);
        let rows = arith.rows().filter(|row| self.rows.is_fixed(*row));
        let axes = rows.flat_map(|row| (0..self.ranks.lo(row)).map(move |at| self.rows.axis(row, at)));
        let known = |dim: DimTerm| {
            let dim = Some(dim).filter(|dim| !dim.is_none())?;
            self.observe_form(dim).or_else(|| self.expressed(dim).ok())
        };
        axes.chain(arith.dims()).map(known).collect()
    }

    /// Whether an arithmetic constraint is about a symbol that no literal has specialised: numbers that bounds
    /// pushed it to are no news to anybody.
    pub(crate) fn names_open_symbol(&self, con: u32) -> bool {
        self.ariths.get(con).dims().into_iter().any(|dim| self.is_open_form(dim))
    }

    /// Whether a dimension is an expression over such a symbol.
    pub(crate) fn is_open_form(&self, dim: DimTerm) -> bool {
        let open = |symbol: Symbol| {
            let node = self.symbols.node(symbol);
            if node == NIL || self.dims.value(self.dims.find(node)).is_none() {
                return node != NIL;
            }
            // A value that arithmetic or bounds have left is no literal that somebody wrote.
            let reason = self.dims.value_reason(self.dims.value_node(node));
            reason.as_constraint().is_none()
                && matches!(self.dims.reason_at(reason), Some(Reason::OnlyUnit { .. } | Reason::Arith { .. }))
        };
        self.observe_form(dim).is_some_and(|form| form.symbols().into_iter().any(open))
    }

    /// A linear equation in which something is symbolic. False if there is nothing to be said symbolically.
    pub(super) fn run_linear_symbolic(&mut self, con: u32) -> Step<bool> {
        let Arith::Linear { items, constant, .. } = self.ariths.get(con) else { return Ok(false) };
        if !items.iter().any(|item| self.symbols.form_of(self.dims.resolve(item.dim)).is_some()) {
            return Ok(false);
        }
        let (mut sum, mut open) = (Some(Form::constant(*constant)), Open::new());
        for item in items {
            match self.expressed(item.dim) {
                Ok(form) => sum = sum.zip(form.scaled(item.coeff, 1)).and_then(|(sum, part)| sum.plus(&part)),
                Err(class) => occurs(&mut open, class, item.coeff),
            }
        }
        open.retain(|(_, coeff)| *coeff != 0);
        let Some(sum) = sum else { return Err(Conflict::Arith { con }) };
        let slack = self.ariths.get(con).slack();
        match open.as_slice() {
            [] => {
                self.share_basis(con, true)?;
                if slack == 0 {
                    self.demand_zero(con, sum)?;
                } else {
                    self.demand_slack(con, &sum, slack)?;
                }
            }
            [(class, coeff)] if slack > 0 => {
                // `coeff·x = −sum`, rounded down; not every expression has one for what it is rounded to.
                let class = *class;
                let value = coeff.checked_neg().filter(|coeff| *coeff < 0);
                let value = value.and_then(|coeff| sum.scaled(1, coeff)).and_then(|value| value.floor());
                let Some(value) = value else { return Ok(false) };
                self.share_basis(con, false)?;
                self.set_expressed(con, class, value)?;
            }
            [(class, coeff)] => {
                let value = coeff.checked_neg().and_then(|coeff| sum.scaled(1, coeff));
                let Some(value) = value else { return Err(Conflict::Arith { con }) };
                self.share_basis(con, false)?;
                self.set_expressed(con, *class, value)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// An element count in which something is symbolic. False if there is nothing to be said symbolically.
    pub(super) fn run_count_symbolic(&mut self, con: u32, axes: &[DimTerm]) -> Step<bool> {
        let Arith::Count { numerator, divided_by, .. } = self.ariths.get(con) else { return Ok(false) };
        let Numerator { coeff, over, denom } = *numerator;
        let mentioned = || axes.iter().chain(divided_by).chain(over.as_ref());
        if !mentioned().any(|dim| self.symbols.form_of(self.dims.resolve(*dim)).is_some()) {
            return Ok(false);
        }
        // A size without a basis is not settled: it still has to be given one.
        let settled = mentioned().all(|dim| self.dims.resolve(*dim).is_ground());
        let mut sides = [Some(Form::constant(denom.into())), Some(Form::constant(coeff.into()))];
        let mut open = Open::new();
        let factors =
            axes.iter().chain(divided_by).map(|dim| (dim, 0)).chain(over.iter().map(|dim| (dim, 1)));
        for (dim, side) in factors {
            match self.expressed(*dim) {
                Ok(form) => sides[side] = sides[side].take().and_then(|product| product.times(&form)),
                Err(class) => occurs(&mut open, class, if side == 0 { 1 } else { -1 }),
            }
        }
        open.retain(|(_, exponent)| *exponent != 0);
        let [Some(left), Some(right)] = sides else { return Err(Conflict::Arith { con }) };
        match open.as_slice() {
            [] => {
                if settled {
                    self.ariths.finish(&mut self.trail, con);
                }
                let Some(difference) = left.minus(&right) else { return Err(Conflict::Arith { con }) };
                self.demand_zero(con, difference)?;
            }
            [(class, exponent @ (1 | -1))] => {
                let (whole, part) = if *exponent == 1 { (&right, &left) } else { (&left, &right) };
                // No expression; but another equation may say what it is.
                let Some(value) = whole.divided_by(part) else { return Ok(false) };
                self.set_expressed(con, *class, value)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Gives a class the size that an equation leaves to it.
    fn set_expressed(&mut self, con: u32, class: u32, value: Form) -> Step {
        let impossible = Err(Conflict::Arith { con });
        let (lo, hi) = self.size_bounds(DimTerm(class));
        if let Some((numerator, denominator)) = value.as_constant() {
            let size = (numerator % denominator == 0).then(|| u64::try_from(numerator / denominator).ok());
            return match size.flatten() {
                Some(size) if (lo..=hi).contains(&size) => self.narrow(con, class, (size, size), true),
                _ => impossible,
            };
        }
        let (least, most) = value.bounds(|symbol| self.symbol_bounds(symbol));
        let (low, high) = (i128::from(lo), if hi == ANY { i128::MAX } else { i128::from(hi) });
        if least.is_some_and(|least| least > high) || most.is_some_and(|most| most < low) {
            return impossible;
        }
        if value.is_fraction() {
            self.demand(ConstraintId(self.ariths.id(con)), value.clone(), Need::Whole)?;
        }
        let root = self.dims.find(class);
        let basis = self.dims.basis(root).unwrap_or(Basis::DEFAULT);
        let value = self.symbolic_atom(value, basis);
        let reason = self.dims.reason(Reason::Arith { con });
        self.dims.commit(&mut self.trail, root, value, reason)
    }

    /// What must be between zero and minus the slack: proved or refuted. There is no check for it, because
    /// sizes are only ever rounded where that gives an expression.
    fn demand_slack(&mut self, con: u32, form: &Form, slack: i128) -> Step {
        let (least, most) = form.bounds(|symbol| self.symbol_bounds(symbol));
        let inside = least.is_some_and(|least| least >= -slack) && most.is_some_and(|most| most <= 0);
        let outside = least.is_some_and(|least| least > 0) || most.is_some_and(|most| most < -slack);
        match (inside, outside) {
            (true, _) => Ok(()),
            (_, true) => Err(Conflict::Arith { con }),
            _ => Err(Conflict::TooMuch(Limit::Expressions)),
        }
    }

    /// What must be zero: proved, refuted, or left to be checked.
    fn demand_zero(&mut self, con: u32, form: Form) -> Step {
        if form.is_zero() {
            return Ok(());
        }
        if !self.may_be_zero(&form) {
            return Err(Conflict::Arith { con });
        }
        self.demand(ConstraintId(self.ariths.id(con)), form, Need::Zero)
    }

    /// The constraint that last moved the bounds of a class.
    pub(crate) fn bounded_by(&self, root: u32) -> Option<u32> {
        let steps = self.dims.sizes.steps(self.dims.extra_of(root)?);
        let id = |(_, reason): &(u32, ReasonId)| match reason.as_constraint().filter(|_| reason.0 != NIL) {
            Some(id) => Some(id),
            None => match self.dims.reason_at(*reason)? {
                Reason::Arith { con } => Some(self.ariths.id(con)),
                _ => None,
            },
        };
        steps.iter().find_map(id)
    }

    /// A class with a symbolic size has it for all sizes of the symbols, or only for those that its bounds
    /// leave.
    pub(super) fn symbol_within(&mut self, root: u32, value: DimTerm, (lo, hi): (u64, u64)) -> Step {
        let Some(form) = self.symbols.form_of(value).cloned() else { return Ok(()) };
        let (least, most) = form.bounds(|symbol| self.range_before_closing(symbol));
        let short = least.is_none_or(|least| least < i128::from(lo));
        let long = hi != ANY && most.is_none_or(|most| most > i128::from(hi));
        let constraint =
            if short || long { ConstraintId(self.bounded_by(root).unwrap_or(0)) } else { return Ok(()) };
        if short {
            self.demand(constraint, form.clone(), Need::AtLeast(lo))?;
        }
        if long { self.demand(constraint, form, Need::AtMost(hi)) } else { Ok(()) }
    }

    /// Leaves something to be checked; a mere choice of a size is not worth that.
    fn demand(&mut self, constraint: ConstraintId, form: Form, need: Need) -> Step {
        if self.symbols.guessing {
            return Err(Conflict::TooMuch(Limit::Expressions));
        }
        let check = Check { constraint, form, need };
        if !self.symbols.checks.contains(&check) {
            self.symbols.checks.push(check);
        }
        Ok(())
    }
}
