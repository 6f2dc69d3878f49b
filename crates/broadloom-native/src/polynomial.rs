//! Polynomials in sizes, found from their values.
//!
//! Numbers in a program, extents, strides and counts of cells, are sums of products of sizes. A number that is known for
//! enough sizes is known for all: its polynomial is interpolated modulo a prime, and then held exactly against every
//! value, also against those that were not needed to find it.

/// A sum of products of sizes with whole factors.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Polynomial {
    /// The factor of each product, and how often it has each size.
    terms: Vec<(i64, Vec<u8>)>,
}

impl Polynomial {
    /// A number that does not depend on sizes.
    pub fn constant(value: i64) -> Polynomial {
        Polynomial { terms: vec![(value, Vec::new())] }
    }

    /// Its value, if that is not too large.
    pub fn at(&self, sizes: &[u64]) -> Option<i64> {
        self.terms.iter().try_fold(0i64, |sum, (factor, powers)| {
            let product = powers.iter().zip(sizes).try_fold(*factor, |product, (power, size)| {
                let size = i64::try_from(*size).ok()?;
                (0..*power).try_fold(product, |product, _| product.checked_mul(size))
            })?;
            sum.checked_add(product)
        })
    }

    /// As an expression of C, in parentheses if it has an operator; the sizes are `size_0`, `size_1`, ….
    pub fn text(&self) -> String {
        let term = |(factor, powers): &(i64, Vec<u8>)| {
            let sizes = powers
                .iter()
                .enumerate()
                .flat_map(|(size, power)| std::iter::repeat_n(format!("size_{size}"), usize::from(*power)));
            let sizes: Vec<String> = sizes.collect();
            match (*factor, sizes.is_empty()) {
                (1, false) => sizes.join(" * "),
                (factor, true) => factor.to_string(),
                (factor, false) => format!("{factor} * {}", sizes.join(" * ")),
            }
        };
        match self.terms.as_slice() {
            [] => "0".into(),
            [only @ (factor, powers)] if *factor >= 0 => {
                let sizes: usize = powers.iter().map(|power| usize::from(*power)).sum();
                let is_atom = sizes == 0 || (sizes == 1 && *factor == 1);
                if is_atom { term(only) } else { format!("({})", term(only)) }
            }
            terms => format!("({})", terms.iter().map(term).collect::<Vec<_>>().join(" + ")),
        }
    }
}

/// Sizes at which numbers are known, and what is needed to find polynomials from them.
pub(crate) struct Interpolation {
    points: Vec<Vec<u64>>,
    /// The products of sizes that are considered.
    products: Vec<Vec<u8>>,
    /// From the values at the first points to the factors of the products, modulo [`PRIME`].
    inverse: Vec<Vec<u64>>,
}

/// A Mersenne prime: products of two residues fit in 128 bits.
const PRIME: u64 = (1 << 61) - 1;

/// Points beyond those that are needed, to hold what was found against.
const CHECKS: usize = 2;

/// More products are not considered: each is a point at which a program has to be written.
const MOST_PRODUCTS: usize = 70;

impl Interpolation {
    /// Points for so many sizes, and products of so many of them: large and different, so that nothing is equal, or divides
    /// anything, by chance. Points for a lower degree are the first of those for a higher one.
    pub fn new(count: usize, degree: u8) -> Option<Interpolation> {
        let mut products = vec![Vec::new()];
        products_of(count, degree, &mut Vec::new(), &mut products);
        if products.len() > MOST_PRODUCTS {
            return None;
        }
        let mut primes = (large(count)..).step_by(2).filter(|number| is_prime(*number));
        let mut points = Vec::new();
        while points.len() < products.len() + CHECKS {
            points.push(primes.by_ref().take(count).collect());
        }
        let inverse = inverted(&points, &products)?;
        Some(Interpolation { points, products, inverse })
    }

    /// The sizes at which values have to be known.
    pub fn points(&self) -> &[Vec<u64>] {
        &self.points
    }

    /// The polynomial with these values at the points, if there is one with small factors.
    pub fn find(&self, values: &[i64]) -> Option<Polynomial> {
        if values.iter().all(|value| *value == values[0]) {
            return Some(Polynomial::constant(values[0]));
        }
        let residues: Vec<u64> =
            values.iter().map(|value| i128::from(*value).rem_euclid(i128::from(PRIME)) as u64).collect();
        let mut terms = Vec::new();
        for (row, powers) in self.inverse.iter().zip(&self.products) {
            let factor = row.iter().zip(&residues).fold(0, |sum, (a, b)| (sum + times(*a, *b)) % PRIME);
            let factor = if factor > PRIME / 2 { -((PRIME - factor) as i64) } else { factor as i64 };
            if factor != 0 {
                terms.push((factor, powers.clone()));
            }
        }
        let found = Polynomial { terms };
        let holds = |(point, value): (&Vec<u64>, &i64)| found.at(point) == Some(*value);
        self.points.iter().zip(values).all(holds).then_some(found)
    }
}

/// The least size that is tried if there are so many: products of all of them have to be numbers of 64 bits. Code for it has
/// no special cases for small sizes.
pub fn large(count: usize) -> u64 {
    match count {
        0..=3 => 10_007,
        4..=5 => 1_009,
        _ => 101,
    }
}

/// All products with at most so many more factors, beside the empty one.
fn products_of(sizes: usize, degree: u8, powers: &mut Vec<u8>, found: &mut Vec<Vec<u8>>) {
    if powers.len() == sizes {
        if powers.iter().any(|power| *power > 0) {
            found.push(powers.clone());
        }
        return;
    }
    for power in 0..=degree {
        powers.push(power);
        products_of(sizes, degree - power, powers, found);
        powers.pop();
    }
}

fn times(a: u64, b: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(PRIME)) as u64
}

fn power(base: u64, exponent: u64) -> u64 {
    let (mut result, mut base, mut exponent) = (1, base % PRIME, exponent);
    while exponent > 0 {
        if exponent % 2 == 1 {
            result = times(result, base);
        }
        base = times(base, base);
        exponent /= 2;
    }
    result
}

/// The inverse of the matrix of all products at the first points, if it has one.
fn inverted(points: &[Vec<u64>], products: &[Vec<u8>]) -> Option<Vec<Vec<u64>>> {
    let count = products.len();
    let value = |point: &[u64], powers: &[u8]| {
        powers
            .iter()
            .zip(point)
            .fold(1, |product, (exponent, size)| times(product, power(*size, u64::from(*exponent))))
    };
    let mut rows: Vec<Vec<u64>> = points[..count]
        .iter()
        .enumerate()
        .map(|(number, point)| {
            let own = (0..count).map(|column| u64::from(column == number));
            products.iter().map(|powers| value(point, powers)).chain(own).collect()
        })
        .collect();
    for column in 0..count {
        let pivot = (column..count).find(|row| rows[*row][column] != 0)?;
        rows.swap(column, pivot);
        let inverse = power(rows[column][column], PRIME - 2);
        rows[column].iter_mut().for_each(|cell| *cell = times(*cell, inverse));
        let pivot = rows[column].clone();
        for (number, row) in rows.iter_mut().enumerate() {
            let factor = row[column];
            if number != column && factor != 0 {
                for (cell, own) in row.iter_mut().zip(&pivot) {
                    *cell = (*cell + PRIME - times(factor, *own)) % PRIME;
                }
            }
        }
    }
    Some(rows.into_iter().map(|row| row[count..].to_vec()).collect())
}

fn is_prime(number: u64) -> bool {
    let divides = |divisor: u64| number.is_multiple_of(divisor);
    number > 1 && !(2..).take_while(|divisor| divisor * divisor <= number).any(divides)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number for each two sizes.
    type Number = &'static dyn Fn(i64, i64) -> i64;

    #[test]
    fn polynomials_are_found_again() {
        let interpolation = Interpolation::new(2, 3).expect("points are generic");
        let values = |of: Number| -> Vec<i64> {
            interpolation.points().iter().map(|point| of(point[0] as i64, point[1] as i64)).collect()
        };
        let cases: [(Number, &str); 5] = [
            (&|_, _| 64, "64"),
            (&|n, _| n, "size_0"),
            (&|n, m| 784 * n * m + 3 * m - 5, "(-5 + 3 * size_1 + 784 * size_0 * size_1)"),
            (&|n, m| 4 * n * m * m, "(4 * size_0 * size_1 * size_1)"),
            (&|n, _| 256 * n - 1, "(-1 + 256 * size_0)"),
        ];
        for (of, text) in cases {
            let found = interpolation.find(&values(of)).expect("it is a polynomial");
            assert_eq!(found.text(), text);
            for (n, m) in [(1, 1), (3, 16), (64, 128)] {
                assert_eq!(found.at(&[n as u64, m as u64]), Some(of(n, m)));
            }
        }
        // Rounded quotients are none, and halves have no whole factors.
        assert_eq!(interpolation.find(&values(&|n, _| n / 64)), None);
        assert_eq!(interpolation.find(&values(&|n, _| n * (n + 1) / 2)), None);
    }
}
