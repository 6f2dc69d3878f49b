//! What operations compute: assignments over slots, for the forward pass and for gradients.
//!
//! An operation has one result and some operands. In its assignments `v` is the value of the result and `v1`,
//! `v2`, … those of the operands; `g`, `g1`, `g2`, … are their gradients. A name says more than which tensor is
//! meant: it selects the index map by which the tensor is addressed, from the one record that was inferred
//! for the operation. So a gradient needs no inference of its own (*Contraction Is Emergent*, "From what you
//! write to the projections"): in `g1 =+ g * v2` the target has the map of the first operand, and what that map
//! leaves out is summed.
//!
//! Any other name is a tensor that the assignments keep for themselves. It is indexed like the result, or, if it
//! ends in `_rhs1`, `_rhs2`, …, like that operand.

use std::rc::Rc;
use std::sync::OnceLock;

use broadloom_loops::Binary;
use rustc_hash::FxHashMap;

use crate::error::{Error, ErrorKind};
use crate::formula::{Assignment, Text, parse};
use crate::logic::Accumulate;

/// An operation: its name, what it computes, and how gradients go back through it.
///
/// ```
/// use broadloom::{Graph, Operation};
/// let softsign = Operation::new("softsign", 1)
///     .forward("v = v1 / (1 + abs(v1))")?
///     .gradient("g1 =+ g / ((1 + abs(v1)) * (1 + abs(v1)))")?;
/// let mut g = Graph::new();
/// let x = g.data("x", "8 | 3")?;
/// let y = g.apply(&softsign, &[x])?;
/// assert_eq!(g.final_shape(y)?.to_string(), "8 | 3");
/// # Ok::<(), broadloom::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Operation {
    pub(crate) name: &'static str,
    pub(crate) arity: usize,
    pub(crate) forward: Law,
    pub(crate) gradient: Law,
    /// What its operands are called by whoever defines it, for messages.
    pub(crate) operands: Vec<Box<str>>,
}

/// Assignments whose names are slots.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Law {
    /// The tensors and index maps that names stand for.
    pub slots: Vec<Slot>,
    /// The assignments, in order.
    pub assignments: Vec<Assignment>,
}

/// What a name in an operation stands for. Place 0 is the result, place `n` the `n`-th operand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Slot {
    /// The value of the tensor at a place.
    Value(u32),
    /// Its gradient.
    Gradient(u32),
    /// A tensor of the operation's own, indexed like the one at a place.
    Own(Box<str>, u32),
}

impl Slot {
    /// The place whose index map it has.
    pub fn place(&self) -> usize {
        match self {
            Slot::Value(place) | Slot::Gradient(place) | Slot::Own(_, place) => *place as usize,
        }
    }
}

impl Operation {
    /// An operation that computes nothing yet.
    pub fn new(name: &'static str, arity: usize) -> Operation {
        let (forward, gradient) = (Law::default(), Law::default());
        Operation { name, arity, forward, gradient, operands: Vec::new() }
    }

    /// Says what its operands are called by whoever defines it: messages speak of `a` and `a.grad`, not of the slots
    /// `v1` and `g1`, and of the result by the name of the operation.
    pub fn with_operands<T: AsRef<str>>(mut self, operands: &[T]) -> Operation {
        self.operands = operands.iter().map(|operand| operand.as_ref().into()).collect();
        self
    }

    /// A slot as it is called by whoever defines the operation.
    fn shown(&self, slot: &Slot, written: &str) -> String {
        let of = |place: &u32| match place.checked_sub(1) {
            None => Some(self.name),
            Some(at) => self.operands.get(at as usize).map(|name| &**name),
        };
        match slot {
            _ if self.operands.is_empty() => written.to_string(),
            Slot::Value(place) => of(place).unwrap_or(written).to_string(),
            Slot::Gradient(place) => of(place).map_or(written.to_string(), |name| format!("{name}.grad")),
            Slot::Own(..) => written.to_string(),
        }
    }

    /// How many operands it has.
    pub fn arity(&self) -> usize {
        self.arity
    }

    /// What it computes.
    pub fn forward_law(&self) -> &Law {
        &self.forward
    }

    /// How gradients go back through it.
    pub fn gradient_law(&self) -> &Law {
        &self.gradient
    }

    /// Says what it computes, such as `v =:+ v1 * v2`.
    pub fn forward(mut self, text: &str) -> Result<Operation, Error> {
        self.forward = self.law(text, false)?;
        if !self.forward.assigns(&Slot::Value(0)) {
            let result = self.shown(&Slot::Value(0), "v");
            let error = self.wrong(&format!("nothing is assigned to `{result}`, the result"));
            return Err(error.with_help(format!("write a line `{result} = …`")));
        }
        Ok(self)
    }

    /// Says how gradients go back, such as `g1 =+ g * v2; g2 =+ v1 * g`. An operand whose gradient is not
    /// assigned gets none. Gradients are accumulated, because an operand may have other uses.
    pub fn gradient(mut self, text: &str) -> Result<Operation, Error> {
        self.gradient = self.law(text, true)?;
        Ok(self)
    }

    /// Refuses a wrong number of operands.
    pub(crate) fn takes(&self, operands: usize) -> Result<(), Error> {
        if self.forward.assignments.is_empty() {
            return Err(self
                .wrong("nothing is said about what it computes")
                .with_help("say it: `.forward(\"v = …\")`"));
        }
        if operands == self.arity {
            return Ok(());
        }
        let plural = if self.arity == 1 { "" } else { "s" };
        let message =
            format!("the operation `{}` takes {} operand{plural}, {operands} given", self.name, self.arity);
        let error = Error::new(ErrorKind::Use, message);
        Err(match self.operands.is_empty() {
            true => error,
            false => error.with_help(format!("write `{}({})`", self.name, self.operands.join(", "))),
        })
    }

    fn law(&self, text: &str, backward: bool) -> Result<Law, Error> {
        let parsed = parse(text).map_err(|error| error.inside(&format!("the operation `{}`", self.name)))?;
        let slots: Vec<Slot> = parsed.names.iter().map(|name| self.slot(name)).collect::<Result<_, _>>()?;
        for assignment in &parsed.assignments {
            let target = &slots[assignment.target as usize];
            let allowed = match target {
                Slot::Value(place) => !backward && *place == 0,
                Slot::Gradient(place) => backward && *place > 0,
                Slot::Own(..) => true,
            };
            if allowed && assignment.fresh {
                return Err(self.wrong("a slot is no new tensor").with_help("write it without braces"));
            }
            if !allowed {
                let name = self.shown(target, &parsed.names[assignment.target as usize]);
                let wanted = match (backward, &self.operands[..]) {
                    (true, []) => "`g1`, `g2`, …".to_string(),
                    (true, names) => format!("`{}.grad`", names.join(".grad`, `")),
                    (false, _) => format!("`{}`", self.shown(&Slot::Value(0), "v")),
                };
                return Err(self
                    .wrong(&format!("`{name}` cannot be assigned here"))
                    .with_help(format!("assign to {wanted}, or to a name of your own, without braces")));
            }
            let adds = matches!(assignment.accumulate, Some(Binary::Add | Binary::Sub)) && !assignment.clear;
            if backward && matches!(target, Slot::Gradient(_)) && !adds {
                let name = self.shown(target, "g1");
                return Err(self.wrong("a gradient would be overwritten").with_help(format!(
                    "write `{name} =+ …` or `{name} =- …`: other uses of the operand contribute as well",
                )));
            }
        }
        if let Some(first) =
            parsed.assignments.iter().find(|each| slots[each.target as usize] == Slot::Value(0))
            && !first.clear
        {
            let name = self.shown(&Slot::Value(0), "v");
            return Err(self.wrong("the result is accumulated into before it has a value").with_help(
                format!("write `{name} = …`, or `{name} =:+ …` to begin with the neutral element"),
            ));
        }
        let mut read = Vec::new();
        parsed.assignments.iter().for_each(|each| each.value.names(&mut read));
        if read.iter().any(|name| matches!(slots[*name as usize], Slot::Gradient(place) if place > 0)) {
            let name = self.shown(&Slot::Gradient(0), "g");
            return Err(self
                .wrong("the gradient of an operand is read")
                .with_help(format!("only `{name}`, the gradient of the result, is known here")));
        }
        let reads_gradients = slots.iter().any(|slot| matches!(slot, Slot::Gradient(_)));
        if !backward && reads_gradients {
            return Err(self.wrong("there are no gradients when values are computed"));
        }
        let Text { assignments, .. } = parsed;
        Ok(Law { slots, assignments })
    }

    fn slot(&self, name: &str) -> Result<Slot, Error> {
        let place = |digits: &str| digits.parse::<u32>().ok();
        let within = |at: u32| {
            if (1..=self.arity as u32).contains(&at) {
                return Ok(at);
            }
            let message = format!("`{name}` is beyond its {} operands", self.arity);
            Err(self.wrong(&message).with_help("the second argument of `Operation::new` is their number"))
        };
        if name == "v" || name == "g" {
            return Ok(if name == "v" { Slot::Value(0) } else { Slot::Gradient(0) });
        }
        if let Some(at) = name.strip_prefix('v').and_then(place) {
            return Ok(Slot::Value(within(at)?));
        }
        if let Some(at) = name.strip_prefix('g').and_then(place) {
            return Ok(Slot::Gradient(within(at)?));
        }
        let like = name.rsplit_once("_rhs").and_then(|(_, digits)| place(digits));
        Ok(Slot::Own(name.into(), like.map_or(Ok(0), within)?))
    }

    /// The value of a pointwise operation of the library on numbers, by the same table as on tensors. None if there is no
    /// such operation of so many operands.
    ///
    /// ```
    /// use broadloom::Operation;
    /// assert_eq!(Operation::value("max", &[2.0, 3.0]), Some(3.0));
    /// assert!(Operation::value("relu", &[f64::NAN]).is_some_and(f64::is_nan));
    /// ```
    pub fn value(name: &str, operands: &[f64]) -> Option<f64> {
        let Operation { arity, forward: Law { slots, assignments }, .. } = Operation::built_in(name)?;
        let [Assignment { value, .. }] = &assignments[..] else { return None };
        let of = |slot: u32| match slots[slot as usize] {
            Slot::Value(place) => operands.get((place as usize).checked_sub(1)?).copied(),
            _ => None,
        };
        if *arity == operands.len() { value.of(&of) } else { None }
    }

    fn wrong(&self, message: &str) -> Error {
        Error::new(ErrorKind::Use, message).inside(&format!("the operation `{}`", self.name))
    }

    /// A pointwise operation that comes with the library.
    pub fn built_in(name: &str) -> Option<&'static Operation> {
        static TABLE: OnceLock<FxHashMap<&'static str, Operation>> = OnceLock::new();
        let made = || {
            let read = |(name, arity, forward, gradient): &(&'static str, usize, &str, &str)| {
                let operation = Operation::new(name, *arity).forward(forward).ok()?;
                let operation =
                    if gradient.is_empty() { operation } else { operation.gradient(gradient).ok()? };
                Some((*name, operation))
            };
            BUILT_IN.iter().filter_map(read).collect()
        };
        TABLE.get_or_init(made).get(name)
    }
}

impl Law {
    /// How values of the result are accumulated, as far as margins and cells that nobody writes are concerned.
    pub fn accumulate(&self) -> Accumulate {
        let result = self.assignments.iter().find(|each| self.slots[each.target as usize] == Slot::Value(0));
        match result.and_then(|each| each.accumulate) {
            Some(Binary::Max) => Accumulate::Max,
            Some(Binary::Min) => Accumulate::Min,
            Some(Binary::Mul | Binary::Div | Binary::Pow | Binary::And) => Accumulate::Product,
            _ => Accumulate::Sum,
        }
    }

    fn assigns(&self, slot: &Slot) -> bool {
        self.assignments.iter().any(|assignment| self.slots[assignment.target as usize] == *slot)
    }
}

/// The pointwise operations: name, number of operands, values, gradients.
const BUILT_IN: &[(&str, usize, &str, &str)] = &[
    ("+", 2, "v = v1 + v2", "g1 =+ g; g2 =+ g"),
    ("-", 2, "v = v1 - v2", "g1 =+ g; g2 =- g"),
    ("*", 2, "v = v1 * v2", "g1 =+ g * v2; g2 =+ v1 * g"),
    ("/", 2, "v = v1 / v2", "g1 =+ g / v2; g2 =- g * v / v2"),
    (
        "**",
        2,
        "v = v1 ** v2",
        // The logarithm is asked for only where the base is positive.
        "g1 =+ where(v2 == 0, 0, g * v2 * v1 ** (v2 - 1)); g2 =+ where(v1 > 0, g * v * log(where(v1 > 0, v1, 1)), 0)",
    ),
    // Equal operands share the gradient, as equal elements of a reduction do.
    (
        "max",
        2,
        "v = max(v1, v2)",
        "g1 =+ where(v1 > v2, g, where(v1 == v2, 0.5 * g, 0)); g2 =+ where(v2 > v1, g, where(v1 == v2, 0.5 * g, 0))",
    ),
    (
        "min",
        2,
        "v = min(v1, v2)",
        "g1 =+ where(v1 < v2, g, where(v1 == v2, 0.5 * g, 0)); g2 =+ where(v2 < v1, g, where(v1 == v2, 0.5 * g, 0))",
    ),
    ("mod", 2, "v = mod(v1, v2)", "g1 =+ g; g2 =- g * floor(v1 / v2)"),
    ("<", 2, "v = v1 < v2", ""),
    ("<=", 2, "v = v1 <= v2", ""),
    (">", 2, "v = v1 > v2", ""),
    (">=", 2, "v = v1 >= v2", ""),
    ("==", 2, "v = v1 == v2", ""),
    ("!=", 2, "v = v1 != v2", ""),
    ("and", 2, "v = v1 and v2", ""),
    ("or", 2, "v = v1 or v2", ""),
    ("not", 1, "v = not(v1)", ""),
    ("where", 3, "v = where(v1, v2, v3)", "g2 =+ where(v1, g, 0); g3 =+ where(v1, 0, g)"),
    ("neg", 1, "v = -v1", "g1 =- g"),
    ("exp", 1, "v = exp(v1)", "g1 =+ g * v"),
    ("log", 1, "v = log(v1)", "g1 =+ g / v1"),
    ("log1p", 1, "v = log1p(v1)", "g1 =+ g / (1 + v1)"),
    ("sqrt", 1, "v = sqrt(v1)", "g1 =+ 0.5 * g / v"),
    ("recip", 1, "v = recip(v1)", "g1 =- g * v * v"),
    ("sin", 1, "v = sin(v1)", "g1 =+ g * cos(v1)"),
    ("cos", 1, "v = cos(v1)", "g1 =- g * sin(v1)"),
    ("tanh", 1, "v = tanh(v1)", "g1 =+ g * (1 - v * v)"),
    ("sigmoid", 1, "v = sigmoid(v1)", "g1 =+ g * v * (1 - v)"),
    ("relu", 1, "v = relu(v1)", "g1 =+ relu_gate(v1, g)"),
    ("abs", 1, "v = abs(v1)", "g1 =+ g * sign(v1)"),
    ("sign", 1, "v = sign(v1)", ""),
    ("square", 1, "v = v1 * v1", "g1 =+ 2 * g * v1"),
    // d/dx erf x = 2/√π · e^(−x²).
    ("erf", 1, "v = erf(v1)", "g1 =+ 1.1283791670955126 * g * exp(-(v1 * v1))"),
    ("floor", 1, "v = floor(v1)", ""),
    ("ceil", 1, "v = ceil(v1)", ""),
    ("round", 1, "v = round(v1)", ""),
    ("stop_gradient", 1, "v = v1", ""),
];

/// What steps compute that have a law of their own: operations of users, and assignments.
pub(crate) type Laws = FxHashMap<u32, Rc<Operation>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_operation_is_well_written() {
        for (name, arity, ..) in BUILT_IN {
            let operation = Operation::built_in(name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(operation.arity, *arity, "{name}");
        }
    }

    #[test]
    fn what_an_operation_may_say() {
        let wrong = [
            Operation::new("a", 1).forward("v1 = v"),
            Operation::new("a", 1).forward("v = v2"),
            Operation::new("a", 1).forward("v = g"),
            Operation::new("a", 1).forward("x = v1"),
            Operation::new("a", 1).gradient("g1 = g"),
            Operation::new("a", 1).gradient("v =+ g"),
            Operation::new("a", 1).gradient("g =+ g1"),
        ];
        for (at, made) in wrong.into_iter().enumerate() {
            assert!(made.is_err(), "{at}");
        }
        let own = Operation::new("a", 1).gradient("ties_rhs1 = v1 == v; g1 =+ ties_rhs1 * g");
        let own = own.expect("an operation may keep a tensor");
        assert_eq!(own.gradient.slots[0], Slot::Own("ties_rhs1".into(), 1));
    }
}
