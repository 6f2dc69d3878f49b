//! Sizes as expressions over symbols: `batch`, `2*batch`, `seq/8`, `batch*seq + 1`.
//!
//! A [`Form`] is a polynomial with rational coefficients, in one normal form: two expressions are equal for all
//! sizes exactly if their forms are equal. A quotient is a polynomial too (`seq/8` is `seq` with the coefficient
//! one eighth); that it is a whole number is a fact about the symbols, which the solver records when it
//! relies on it.
//!
//! Arithmetic does not overflow silently: a result that does not fit is `None`.

use std::cmp::Ordering;

use smallvec::SmallVec;

use crate::ids::numbers;
use crate::number::gcd;

/// A named or dynamic size of a [`Solver`](crate::Solver), numbered in the order they were made.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Symbol(pub u32);

numbers!(Symbol);

/// Steps after which an expression is left as it is.
const MOST_REDUCTIONS: usize = 1000;

/// A product of symbols: sorted, each as often as its power.
type Monomial<S> = SmallVec<[S; 4]>;

/// A polynomial over symbols, with rational coefficients.
///
/// The symbols are those of a solver, unless another type says what a size is known by: `Form<Label>` is an
/// expression over labels. Whatever they are, this is the only arithmetic on sizes that are no numbers.
///
/// ```
/// use broadloom_core::{Form, Symbol};
/// let (batch, seq) = (Form::symbol(Symbol(0)), Form::symbol(Symbol(1)));
/// let twice = batch.plus(&batch).unwrap();
/// assert_eq!(twice, batch.scaled(2, 1).unwrap());
/// assert_eq!(twice.show(|symbol| ["batch", "seq"][symbol.0 as usize].into()), "2*batch");
/// // (2·batch·seq) / batch
/// let product = twice.times(&seq).unwrap();
/// assert_eq!(product.divided_by(&batch), seq.scaled(2, 1));
/// assert_eq!(product.divided_by(&seq.plus(&batch).unwrap()), None);
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Form<S = Symbol> {
    /// Greatest monomial first; no coefficient is zero.
    terms: SmallVec<[(Monomial<S>, i128); 2]>,
    /// The denominator of all coefficients: at least one, with no common divisor.
    denominator: i128,
}

/// By degree, then by symbols: compatible with multiplication.
fn compare<S: Ord>(a: &Monomial<S>, b: &Monomial<S>) -> Ordering {
    // Among equals in degree the one with more of the first symbol is greater.
    a.len().cmp(&b.len()).then_with(|| b.as_slice().cmp(a.as_slice()))
}

impl<S> From<S> for Form<S> {
    /// A symbol by itself.
    fn from(symbol: S) -> Form<S> {
        Form { terms: smallvec::smallvec![(smallvec::smallvec![symbol], 1)], denominator: 1 }
    }
}

impl<S: Copy + Ord> Form<S> {
    /// A number.
    pub fn constant(value: i128) -> Form<S> {
        let terms = if value == 0 { SmallVec::new() } else { smallvec::smallvec![(Monomial::new(), value)] };
        Form { terms, denominator: 1 }
    }

    /// A symbol by itself.
    pub fn symbol(symbol: S) -> Form<S> {
        Form::from(symbol)
    }

    /// The number, if there is no symbol in it: numerator and denominator.
    pub fn as_constant(&self) -> Option<(i128, i128)> {
        match self.terms.as_slice() {
            [] => Some((0, 1)),
            [(monomial, value)] if monomial.is_empty() => Some((*value, self.denominator)),
            _ => None,
        }
    }

    /// The symbol, if it is one by itself.
    pub fn as_symbol(&self) -> Option<S> {
        match self.terms.as_slice() {
            [(monomial, 1)] if monomial.len() == 1 && self.denominator == 1 => Some(monomial[0]),
            _ => None,
        }
    }

    /// The two symbols, if it is a multiple of their difference: if it is zero, they are equal.
    pub fn as_difference(&self) -> Option<(S, S)> {
        match self.terms.as_slice() {
            [(a, x), (b, y)] if a.len() == 1 && b.len() == 1 && *x == -*y => Some((a[0], b[0])),
            _ => None,
        }
    }

    /// True if it is zero for all sizes.
    pub fn is_zero(&self) -> bool {
        self.terms.is_empty()
    }

    /// True if a value may fail to be a whole number.
    pub fn is_fraction(&self) -> bool {
        self.denominator != 1
    }

    /// The form rounded down to a whole number, if that is a form: if only the number in it is a fraction.
    ///
    /// ```
    /// use broadloom_core::{Form, Symbol};
    /// let n = Form::symbol(Symbol(0));
    /// let halves = n.plus(&Form::constant(3).scaled(1, 2).unwrap()).unwrap();
    /// assert_eq!(halves.floor(), n.plus(&Form::constant(1)));
    /// assert_eq!(n.scaled(1, 2).unwrap().floor(), None);
    /// ```
    pub fn floor(&self) -> Option<Form<S>> {
        let terms = self.terms.iter().map(|(monomial, value)| {
            let whole = monomial.is_empty() || value % self.denominator == 0;
            whole.then(|| (monomial.clone(), value.div_euclid(self.denominator)))
        });
        let terms: Option<SmallVec<_>> =
            terms.filter(|term| term.as_ref().is_none_or(|(_, v)| *v != 0)).collect();
        Some(Form { terms: terms?, denominator: 1 })
    }

    /// The denominator of the coefficients.
    pub fn denominator(&self) -> i128 {
        self.denominator
    }

    /// The form multiplied by its denominator: all coefficients are whole.
    pub fn numerator(&self) -> Form<S> {
        Form { terms: self.terms.clone(), denominator: 1 }
    }

    /// The positive and the negative part, multiplied by the denominator: equal where the form is zero.
    pub fn sides(&self) -> (Form<S>, Form<S>) {
        let part = |sign: i128| {
            let own = self.terms.iter().filter(|(_, value)| value.signum() == sign);
            Form {
                terms: own.map(|(monomial, value)| (monomial.clone(), value * sign)).collect(),
                denominator: 1,
            }
        };
        (part(1), part(-1))
    }

    /// The symbols in it, each once, in their order.
    pub fn symbols(&self) -> Vec<S> {
        let mut symbols: Vec<S> =
            self.terms.iter().flat_map(|(monomial, _)| monomial.iter().copied()).collect();
        symbols.sort_unstable();
        symbols.dedup();
        symbols
    }

    /// The summands, greatest product first: the symbols of a product, and what it is multiplied with before everything
    /// is divided by the denominator.
    pub fn terms(&self) -> impl Iterator<Item = (&[S], i128)> {
        self.terms.iter().map(|(monomial, value)| (monomial.as_slice(), *value))
    }

    /// The same over other symbols.
    pub fn renamed<T: Copy + Ord>(&self, to: impl Fn(S) -> T) -> Option<Form<T>> {
        let renamed = |(monomial, value): &(Monomial<S>, i128)| {
            let mut monomial: Monomial<T> = monomial.iter().map(|symbol| to(*symbol)).collect();
            monomial.sort_unstable();
            (monomial, *value)
        };
        Form::normal(self.terms.iter().map(renamed).collect(), self.denominator)
    }

    /// True if some product of symbols is in both.
    pub(crate) fn shares(&self, other: &Form<S>) -> bool {
        self.terms.iter().any(|(own, _)| other.terms.iter().any(|(monomial, _)| own == monomial))
    }

    /// The sum.
    pub fn plus(&self, other: &Form<S>) -> Option<Form<S>> {
        let common = i128::try_from(gcd(self.denominator.unsigned_abs(), other.denominator.unsigned_abs()));
        let common = common.ok()?;
        let (own, theirs) = (other.denominator / common, self.denominator / common);
        let denominator = self.denominator.checked_mul(own)?;
        let mut terms: Vec<(Monomial<S>, i128)> = Vec::with_capacity(self.terms.len() + other.terms.len());
        for (form, factor) in [(self, own), (other, theirs)] {
            for (monomial, value) in &form.terms {
                terms.push((monomial.clone(), value.checked_mul(factor)?));
            }
        }
        Form::normal(terms, denominator)
    }

    /// The difference.
    pub fn minus(&self, other: &Form<S>) -> Option<Form<S>> {
        self.plus(&other.scaled(-1, 1)?)
    }

    /// The product with a fraction.
    pub fn scaled(&self, numerator: i128, denominator: i128) -> Option<Form<S>> {
        let (numerator, denominator) = if denominator < 0 {
            (numerator.checked_neg()?, denominator.checked_neg()?)
        } else {
            (numerator, denominator)
        };
        if denominator == 0 {
            return None;
        }
        let terms = self
            .terms
            .iter()
            .map(|(monomial, value)| Some((monomial.clone(), value.checked_mul(numerator)?)));
        Form::normal(terms.collect::<Option<Vec<_>>>()?, self.denominator.checked_mul(denominator)?)
    }

    /// The product.
    pub fn times(&self, other: &Form<S>) -> Option<Form<S>> {
        let mut terms: Vec<(Monomial<S>, i128)> = Vec::with_capacity(self.terms.len() * other.terms.len());
        for (a, x) in &self.terms {
            for (b, y) in &other.terms {
                let mut product: Monomial<S> = a.iter().chain(b).copied().collect();
                product.sort_unstable();
                terms.push((product, x.checked_mul(*y)?));
            }
        }
        Form::normal(terms, self.denominator.checked_mul(other.denominator)?)
    }

    /// The quotient, if it is a polynomial.
    pub fn divided_by(&self, other: &Form<S>) -> Option<Form<S>> {
        let (lead, by) = other.terms.first()?;
        let (mut rest, mut quotient) = (self.clone(), Form::constant(0));
        while let Some((monomial, value)) = rest.terms.first() {
            let factor = without(monomial, lead)?;
            // (value / rest.denominator) / (by / other.denominator)
            let term = Form { terms: smallvec::smallvec![(factor, 1)], denominator: 1 }
                .scaled(value.checked_mul(other.denominator)?, rest.denominator.checked_mul(*by)?)?;
            rest = rest.minus(&term.times(other)?)?;
            quotient = quotient.plus(&term)?;
        }
        Some(quotient)
    }

    /// The least and the greatest whole value for symbols within bounds; none where there is no bound. The
    /// bounds hold, but need not be reached.
    pub fn bounds(&self, of: impl Fn(S) -> (u64, Option<u64>)) -> (Option<i128>, Option<i128>) {
        let (mut least, mut most) = (Some(0i128), Some(0i128));
        for (monomial, value) in &self.terms {
            let (mut low, mut high) = (Some(1i128), Some(1i128));
            for symbol in monomial {
                let (lo, hi) = of(*symbol);
                low = low.and_then(|low| low.checked_mul(i128::from(lo)));
                high = high.and_then(|high| high.checked_mul(i128::from(hi?)));
            }
            let (down, up) = if *value > 0 { (low, high) } else { (high, low) };
            let add = |sum: Option<i128>, size: Option<i128>| sum?.checked_add(size?.checked_mul(*value)?);
            (least, most) = (add(least, down), add(most, up));
        }
        let ceil = |value: i128| -(-value).div_euclid(self.denominator);
        (least.map(ceil), most.map(|value| value.div_euclid(self.denominator)))
    }

    /// The value for given sizes, as numerator and denominator; none if a size is missing or the value is
    /// beyond all reason.
    pub fn value(&self, of: impl Fn(S) -> Option<u64>) -> Option<(i128, i128)> {
        let mut sum = 0i128;
        for (monomial, value) in &self.terms {
            let mut product = *value;
            for symbol in monomial {
                product = product.checked_mul(i128::from(of(*symbol)?))?;
            }
            sum = sum.checked_add(product)?;
        }
        Some((sum, self.denominator))
    }

    /// The value for given sizes, if it is a size.
    pub fn size(&self, of: impl Fn(S) -> Option<u64>) -> Option<u64> {
        let (numerator, denominator) = self.value(of)?;
        (numerator % denominator == 0).then(|| u64::try_from(numerator / denominator).ok()).flatten()
    }

    /// The expression in words, with names for the symbols: `2*batch + 1`, `(seq - 1)/2`. It begins with a summand that is
    /// added, if there is one: `4 - count`.
    pub fn show(&self, name: impl Fn(S) -> String) -> String {
        let mut text = String::new();
        let first = self.terms.iter().position(|(_, value)| *value > 0).unwrap_or_default();
        let others = self.terms.iter().enumerate().filter(|(at, _)| *at != first).map(|(_, term)| term);
        for (monomial, value) in self.terms.get(first).into_iter().chain(others) {
            let sign = match (text.is_empty(), *value < 0) {
                (true, false) => "",
                (true, true) => "-",
                (false, false) => " + ",
                (false, true) => " - ",
            };
            text.push_str(sign);
            let mut factors: Vec<String> = monomial.iter().map(|symbol| name(*symbol)).collect();
            if value.unsigned_abs() != 1 || factors.is_empty() {
                factors.insert(0, value.unsigned_abs().to_string());
            }
            text.push_str(&factors.join("*"));
        }
        match (self.terms.len(), self.denominator) {
            (0, _) => "0".into(),
            (_, 1) => text,
            (1, denominator) => format!("{text}/{denominator}"),
            (_, denominator) => format!("({text})/{denominator}"),
        }
    }

    /// The form without the greatest product of another that is zero; the same for all sizes for which it is.
    /// None if that product is not in it.
    fn reduced_by(&self, zero: &Form<S>) -> Option<Form<S>> {
        let (lead, by) = zero.terms.first()?;
        let divisible = |(monomial, value): &(Monomial<S>, i128)| Some((without(monomial, lead)?, *value));
        let (rest, value) = self.terms.iter().find_map(divisible)?;
        let factor = Form { terms: smallvec::smallvec![(rest, 1)], denominator: 1 }
            .scaled(value.checked_mul(zero.denominator)?, self.denominator.checked_mul(*by)?)?;
        self.minus(&factor.times(zero)?)
    }

    /// The form in terms of what some independent forms leave, all of which are zero.
    pub fn modulo(&self, zeros: &[Form<S>]) -> Form<S> {
        let mut form = self.clone();
        // Products only get smaller, so this ends; the limit is for expressions beyond all reason.
        for _ in 0..MOST_REDUCTIONS {
            match zeros.iter().find_map(|zero| form.reduced_by(zero)) {
                Some(less) => form = less,
                None => break,
            }
        }
        form
    }

    /// True if it is a whole number because some form is zero.
    pub(crate) fn is_whole_modulo(&self, zeros: &[Form<S>]) -> bool {
        let without = |zero: &Form<S>, monomial: &Monomial<S>| {
            let own = self.terms.iter().find(|(own, _)| own == monomial)?.1;
            let by = zero.terms.iter().find(|(other, _)| other == monomial)?.1;
            let (up, down) = (own.checked_mul(zero.denominator)?, self.denominator.checked_mul(by)?);
            self.minus(&zero.scaled(up, down)?)
        };
        let whole = |zero: &Form<S>| {
            let forms = zero.terms.iter().filter_map(|(monomial, _)| without(zero, monomial));
            forms.into_iter().any(|form| !form.is_fraction())
        };
        zeros.iter().any(whole)
    }

    /// Divided by its greatest coefficient.
    fn monic(&self) -> Option<Form<S>> {
        let (_, lead) = self.terms.first()?;
        self.scaled(self.denominator, *lead)
    }

    /// Sorted, added up, in lowest terms.
    fn normal(mut terms: Vec<(Monomial<S>, i128)>, denominator: i128) -> Option<Form<S>> {
        terms.sort_by(|(a, _), (b, _)| compare(b, a));
        let mut sums: SmallVec<[(Monomial<S>, i128); 2]> = SmallVec::new();
        for (monomial, value) in terms {
            match sums.last_mut() {
                Some((last, sum)) if *last == monomial => *sum = sum.checked_add(value)?,
                _ => sums.push((monomial, value)),
            }
        }
        sums.retain(|(_, value)| *value != 0);
        let common =
            sums.iter().fold(denominator.unsigned_abs(), |acc, (_, value)| gcd(acc, value.unsigned_abs()));
        let common = i128::try_from(common).ok()?;
        sums.iter_mut().for_each(|(_, value)| *value /= common);
        let denominator = if sums.is_empty() { 1 } else { denominator / common };
        Some(Form { terms: sums, denominator })
    }
}

/// Forms that are zero exactly if all the given ones are, without a product that is the greatest of two of them:
/// what remains of linear equations is the same, whichever they are. (Elimination, as far as division of
/// polynomials goes: nothing is multiplied to find further consequences.)
pub(crate) fn independent(forms: impl IntoIterator<Item = Form>) -> Vec<Form> {
    let mut rows: Vec<Form> = Vec::new();
    let mut left: Vec<Form> = forms.into_iter().collect();
    while let Some(form) = left.pop() {
        let Some(row) = form.modulo(&rows).monic() else { continue };
        // Rows that the new one reduces are placed again.
        let (again, kept) = rows.drain(..).partition(|other| other.reduced_by(&row).is_some());
        rows = kept;
        left.extend::<Vec<Form>>(again);
        rows.push(row);
        if left.len() + rows.len() > MOST_REDUCTIONS {
            break;
        }
    }
    rows.sort_by(|a, b| match (a.terms.first(), b.terms.first()) {
        (Some((a, _)), Some((b, _))) => compare(b, a),
        (a, b) => a.is_some().cmp(&b.is_some()),
    });
    rows
}

/// The quotient of two monomials, if there is one.
fn without<S: Copy + Ord>(whole: &Monomial<S>, part: &Monomial<S>) -> Option<Monomial<S>> {
    let mut rest = whole.clone();
    for symbol in part {
        let at = rest.iter().position(|own| own == symbol)?;
        rest.remove(at);
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A few hundred forms over two symbols.
    fn forms() -> Vec<Form> {
        let (a, b) = (Form::symbol(Symbol(0)), Form::symbol(Symbol(1)));
        let product = a.times(&b).unwrap();
        let square = a.times(&a).unwrap();
        let mut all = Vec::new();
        for [x, y, z, w] in (0..81).map(|n| [n % 3, n / 3 % 3, n / 9 % 3, n / 27].map(|n| i128::from(n) - 1))
        {
            let parts = [a.scaled(x, 1), b.scaled(2 * y, 3), product.scaled(z, 1), square.scaled(w, 2)];
            let sum =
                parts.into_iter().fold(Form::constant(x + y), |sum, part| sum.plus(&part.unwrap()).unwrap());
            all.push(sum);
        }
        all
    }

    fn points() -> impl Iterator<Item = [u64; 2]> {
        (1..6).flat_map(|a| (1..6).map(move |b| [a, b]))
    }

    fn at(form: &Form, point: [u64; 2]) -> (i128, i128) {
        form.value(|symbol| Some(point[symbol.0 as usize])).unwrap()
    }

    /// Cross multiplied, so that no fraction is rounded.
    fn same(a: (i128, i128), b: (i128, i128)) -> bool {
        a.0 * b.1 == b.0 * a.1
    }

    #[test]
    fn arithmetic_agrees_with_numbers() {
        let forms = forms();
        for (f, g) in forms.iter().flat_map(|f| forms.iter().step_by(7).map(move |g| (f, g))) {
            let (sum, product) = (f.plus(g).unwrap(), f.times(g).unwrap());
            for point in points() {
                let ((x, dx), (y, dy)) = (at(f, point), at(g, point));
                assert!(same(at(&sum, point), (x * dy + y * dx, dx * dy)));
                assert!(same(at(&product, point), (x * y, dx * dy)));
            }
            assert_eq!(sum.minus(g).unwrap(), *f, "normal forms are unique");
            if !g.is_zero() {
                assert_eq!(product.divided_by(g).as_ref(), Some(f));
            }
        }
    }

    #[test]
    fn bounds_enclose_every_value_and_are_tight_for_one_term() {
        let range = |symbol: Symbol| if symbol.0 == 0 { (2, Some(5)) } else { (1, Some(4)) };
        for form in forms() {
            let (least, most) = form.bounds(range);
            for (a, b) in (2..=5).flat_map(|a| (1..=4).map(move |b| (a, b))) {
                let (value, denominator) = at(&form, [a, b]);
                if value % denominator == 0 {
                    let value = value / denominator;
                    assert!(
                        least.is_some_and(|least| least <= value) && most.is_some_and(|most| value <= most)
                    );
                }
            }
        }
        let twice = Form::symbol(Symbol(0)).scaled(2, 1).unwrap();
        assert_eq!(twice.bounds(range), (Some(4), Some(10)));
        assert_eq!(twice.bounds(|_| (1, None)), (Some(2), None));
    }

    #[test]
    fn what_remains_of_equations_does_not_depend_on_their_order() {
        let [a, b, c] = [0, 1, 2].map(|at| Form::symbol(Symbol(at)));
        let product = a.times(&b).unwrap();
        let first = product.minus(&c).unwrap();
        let second = product.minus(&b).unwrap();
        let remains = independent([first.clone(), second.clone()]);
        assert_eq!(remains, independent([second, first.clone()]));
        assert!(remains.iter().any(|form| form.as_difference().is_some()), "b - c is zero");
        assert_eq!(product.modulo(&remains), b.modulo(&remains));
        assert_eq!(independent([first.clone(), first]).len(), 1);
    }

    #[test]
    fn expressions_in_words() {
        let name = |symbol: Symbol| ["batch", "seq"][symbol.0 as usize].to_string();
        let (batch, seq) = (Form::symbol(Symbol(0)), Form::symbol(Symbol(1)));
        let one = Form::constant(1);
        let show = |form: Option<Form>| form.unwrap().show(name);
        assert_eq!(show(seq.scaled(1, 8)), "seq/8");
        assert_eq!(show(seq.minus(&one).unwrap().scaled(1, 2)), "(seq - 1)/2");
        assert_eq!(show(batch.times(&seq).unwrap().plus(&one)), "batch*seq + 1");
        assert_eq!(show(one.minus(&batch)), "1 - batch");
        assert_eq!(show(seq.minus(&batch)), "seq - batch");
        let product = batch.times(&seq).unwrap();
        assert_eq!(show(seq.plus(&one).unwrap().minus(&product)), "seq - batch*seq + 1");
        assert_eq!(show(one.minus(&batch).unwrap().scaled(1, 2)), "(1 - batch)/2");
        assert_eq!(show(batch.plus(&one).unwrap().scaled(-1, 1)), "-batch - 1");
        assert_eq!(Form::constant(0).show(name), "0");
    }
}
