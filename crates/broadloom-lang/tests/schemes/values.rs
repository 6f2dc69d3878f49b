//! Values for the variables of a signature.

use std::collections::BTreeSet;

use broadloom_lang::signature::{GivenShape, Signature};

use broadloom_testing::Dice;

use super::text::{Condition, Shape, Values};

/// Sizes that no function writes.
const PRIMES: [u64; 12] = [13, 17, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71];

/// Sizes that functions write, also in sums.
const WRITTEN: [u64; 17] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 16, 19, 20, 22, 23, 29];

/// The number of times that values are drawn before there are said to be none.
const TRIES: usize = 600;

/// A signature that has been inferred, with its texts read.
pub struct Read {
    pub config: Vec<String>,
    pub has_config: bool,
    pub arguments: Vec<Shape>,
    /// The shapes of its results, and true if they are a list.
    pub results: Vec<Shape>,
    pub is_list: bool,
    pub parameters: Vec<(String, Shape)>,
    pub conditions: Vec<Condition>,
}

/// Why a signature cannot be looked at.
pub enum Unread {
    /// It says something else than shapes of tensors.
    Other,
    /// A text that has no other reading: a mistake.
    Text(String),
}

impl Read {
    /// Reads the texts of a signature. It has a scheme.
    pub fn of(signature: &Signature) -> Result<Read, Unread> {
        let scheme = signature.scheme.as_ref().map_err(|_| Unread::Other)?;
        let shape = |text: &String| Shape::read(text).map_err(Unread::Text);
        let config = signature.config.iter().flatten();
        let config = config.map(|text| text.split([' ', '=']).next().unwrap_or_default().to_owned());
        let arguments = signature.arguments.iter().map(|argument| match &argument.shape {
            Some(written) => shape(&written.text),
            None => Err(Unread::Other),
        });
        let (given, is_list) = match &scheme.result {
            GivenShape::List(items) => (items.as_slice(), true),
            one => (std::slice::from_ref(one), false),
        };
        let results = given.iter().map(|given| match given {
            GivenShape::Tensor(text) => shape(text),
            _ => Err(Unread::Other),
        });
        let parameters = scheme.parameters.iter().map(|(name, text)| Ok((name.clone(), shape(text)?)));
        let conditions = scheme.conditions.iter().map(|text| Condition::read(text).map_err(Unread::Text));
        Ok(Read {
            config: config.collect(),
            has_config: signature.config.is_some(),
            arguments: arguments.collect::<Result<_, _>>()?,
            results: results.collect::<Result<_, _>>()?,
            is_list,
            parameters: parameters.collect::<Result<_, _>>()?,
            conditions: conditions.collect::<Result<_, _>>()?,
        })
    }

    /// All its shapes.
    pub fn shapes(&self) -> impl Iterator<Item = &Shape> {
        self.arguments.iter().chain(&self.results).chain(self.parameters.iter().map(|(_, shape)| shape))
    }

    /// Its variables, with the sizes of its configuration.
    pub fn names(&self) -> BTreeSet<String> {
        let shapes = self.shapes().flat_map(Shape::names);
        let conditions = self.conditions.iter().flat_map(Condition::names);
        shapes.chain(conditions).chain(self.config.iter().cloned()).collect()
    }

    /// The variables that neither arguments nor the configuration decide.
    pub fn free(&self) -> BTreeSet<String> {
        let known: BTreeSet<String> =
            self.arguments.iter().flat_map(Shape::names).chain(self.config.iter().cloned()).collect();
        self.names().into_iter().filter(|name| !known.contains(name)).collect()
    }

    /// Draws values: distinct primes, or other numbers for variables that have to be multiples, and at most so many for
    /// a row. Those that were drawn last are asked whether they will do.
    pub fn values(
        &self,
        most: usize,
        dice: &mut Dice,
        mut will_do: impl FnMut(&Values) -> bool,
    ) -> Option<Values> {
        let mut special = BTreeSet::new();
        let mut factor = 1u64;
        for condition in &self.conditions {
            special.extend(condition.names());
            factor = lcm(factor, condition.divisor().unsigned_abs() as u64);
        }
        for form in self.shapes().flat_map(Shape::forms) {
            if form.denominator() != 1 {
                special.extend(form.names().cloned());
                factor = lcm(factor, form.denominator().unsigned_abs() as u64);
            }
        }
        let names = self.names();
        for turn in 0..TRIES {
            // A size that the function writes is equal to it by chance: only if nothing else will do.
            let mut used: BTreeSet<u64> = WRITTEN.iter().copied().filter(|_| turn < TRIES / 2).collect();
            let mut values = Values::new();
            let plain = dice.percent(15);
            for name in &names {
                let count = if name.starts_with("..") { 1 + dice.below(most) } else { 1 };
                let mut sizes = Vec::new();
                for _ in 0..count {
                    let mut size = 0;
                    for _ in 0..20 {
                        size = match special.contains(name) && !plain {
                            true if dice.percent(50) => factor.min(64) * (1 + dice.below(9) as u64),
                            true => 2 + dice.below(60) as u64,
                            false => *dice.one(&PRIMES),
                        };
                        if size > 1 && used.insert(size) {
                            break;
                        }
                    }
                    sizes.push(size);
                }
                values.insert(name.clone(), sizes);
            }
            if values.values().flatten().all(|size| *size > 1) && will_do(&values) {
                return Some(values);
            }
        }
        None
    }

    /// True if all conditions hold.
    pub fn holds(&self, values: &Values) -> bool {
        self.conditions.iter().all(|condition| condition.holds(values))
    }

    /// True if every size in some shapes is a whole number that is not 0.
    pub fn is_whole<'a>(mut shapes: impl Iterator<Item = &'a Shape>, values: &Values) -> bool {
        shapes.all(|shape| shape.forms().all(|form| form.value(values).is_some_and(|value| value >= 1)))
    }
}

fn lcm(one: u64, other: u64) -> u64 {
    let (mut a, mut b) = (one.max(1), other.max(1));
    while b != 0 {
        (a, b) = (b, a % b);
    }
    (one.max(1) / a).saturating_mul(other.max(1))
}
