//! The names in the formulas of an operation: `v1` is the value of its first operand, `g` the gradient of its result.

/// The meaning of a name in an operation. Place 0 is the result, place `n` the `n`-th operand.
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
    /// A slot as formulas write it: `v`, `v1`, `g`, `g1`. None for other names.
    pub fn read(name: &str) -> Option<Slot> {
        let place = |digits: &str| if digits.is_empty() { Some(0) } else { digits.parse().ok() };
        if let Some(digits) = name.strip_prefix('v') {
            return place(digits).map(Slot::Value);
        }
        place(name.strip_prefix('g')?).map(Slot::Gradient)
    }

    /// The place whose index map it has.
    pub fn place(&self) -> usize {
        match self {
            Slot::Value(place) | Slot::Gradient(place) | Slot::Own(_, place) => *place as usize,
        }
    }
}
