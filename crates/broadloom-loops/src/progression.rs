//! The sizes that an argument of a program can have, if what the program divides by leaves only some of them.

/// The numbers `first`, `first + step`, `first + 2·step`, …
///
/// ```
/// use broadloom_loops::Progression;
/// let odd = Progression { first: 1, step: 2 };
/// assert_eq!((odd.place_of(7), odd.place_of(8), odd.at(3)), (Some(3), None, 7));
/// assert_eq!(Progression::default().place_of(8), Some(8));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progression {
    /// The least of them, which is less than the step.
    pub first: u64,
    /// The distance of neighbours, at least 1.
    pub step: u64,
}

impl Default for Progression {
    /// All numbers.
    fn default() -> Progression {
        Progression { first: 0, step: 1 }
    }
}

impl Progression {
    /// The numbers below `period`, and those a whole number of periods further, for which a condition holds that has this period. None if
    /// they are no progression.
    ///
    /// ```
    /// use broadloom_loops::Progression;
    /// let squares = Progression::of(8, |number| number * number % 8 == 1);
    /// assert_eq!(squares, Some(Progression { first: 1, step: 2 }));
    /// assert_eq!(Progression::of(6, |number| number * (number + 5) % 6 == 0), None); // 0, 1, 3, 4, …
    /// ```
    pub fn of(period: u64, holds: impl Fn(u64) -> bool) -> Option<Progression> {
        let first = (0..period).find(|number| holds(*number))?;
        let second = (first + 1..first + period).find(|number| holds(number % period));
        let found = Progression { first, step: second.map_or(period, |second| second - first) };
        let is_it = period.is_multiple_of(found.step)
            && (0..period).all(|number| holds(number) == found.place_of(number).is_some());
        is_it.then_some(found)
    }

    /// The place of a number among them, counted from 0; None if it is none of them.
    pub fn place_of(self, number: u64) -> Option<u64> {
        let beyond = number.checked_sub(self.first)?;
        beyond.is_multiple_of(self.step).then(|| beyond / self.step)
    }

    /// The number at a place.
    pub fn at(self, place: u64) -> u64 {
        place.saturating_mul(self.step).saturating_add(self.first)
    }

    /// The place of the least of them that is not less than a number.
    pub fn place_from(self, number: u64) -> u64 {
        number.saturating_sub(self.first).div_ceil(self.step)
    }

    /// The greatest of them that is not greater than a number, if there is one.
    pub fn last_to(self, number: u64) -> Option<u64> {
        Some(self.at(number.checked_sub(self.first)? / self.step))
    }
}

impl std::fmt::Display for Progression {
    /// Words after "is", such as "a multiple of 4".
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.first {
            0 => write!(f, "a multiple of {}", self.step),
            first => write!(f, "{first} more than a multiple of {}", self.step),
        }
    }
}
