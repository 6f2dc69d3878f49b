//! Relations on a domain as bit matrices: a law about triples is then a law about pairs of bit rows, and
//! an upper bound is least exactly if the set of things above it is the set of all upper bounds.

/// A set of indices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bits(Vec<u64>);

impl Bits {
    pub fn of(len: usize, holds: impl Fn(usize) -> bool) -> Bits {
        let mut words = vec![0; len.div_ceil(64)];
        for i in (0..len).filter(|&i| holds(i)) {
            words[i / 64] |= 1 << (i % 64);
        }
        Bits(words)
    }

    pub fn has(&self, i: usize) -> bool {
        self.0[i / 64] >> (i % 64) & 1 == 1
    }

    pub fn and(&self, other: &Bits) -> Bits {
        Bits(self.0.iter().zip(&other.0).map(|(a, b)| a & b).collect())
    }

    pub fn within(&self, other: &Bits) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| a & !b == 0)
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    pub fn iter(&self) -> impl Iterator<Item = usize> {
        (0..self.0.len() * 64).filter(|&i| self.has(i))
    }
}

/// A relation on indices: `sets[i]` holds the `j` that `i` is related to.
#[derive(Debug, PartialEq, Eq)]
pub struct Relation {
    pub sets: Vec<Bits>,
}

impl Relation {
    pub fn between<A, B>(from: &[A], to: &[B], related: impl Fn(&A, &B) -> bool) -> Relation {
        let set = |a| Bits::of(to.len(), |j| related(a, &to[j]));
        let sets = from.iter().map(set).collect();
        Relation { sets }
    }

    pub fn on<T>(items: &[T], related: impl Fn(&T, &T) -> bool) -> Relation {
        Relation::between(items, items, related)
    }

    pub fn has(&self, i: usize, j: usize) -> bool {
        self.sets[i].has(j)
    }

    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let row = |(i, set): (usize, _)| Bits::iter(set).map(move |j| (i, j));
        self.sets.iter().enumerate().flat_map(row)
    }

    pub fn is_reflexive(&self) -> bool {
        (0..self.sets.len()).all(|i| self.has(i, i))
    }

    pub fn is_antisymmetric(&self) -> bool {
        self.pairs().all(|(i, j)| i == j || !self.has(j, i))
    }

    pub fn is_transitive(&self) -> bool {
        let composes = |(i, j): (usize, usize)| self.sets[j].within(&self.sets[i]);
        self.pairs().all(composes)
    }

    pub fn is_partial_order(&self) -> bool {
        self.is_reflexive() && self.is_antisymmetric() && self.is_transitive()
    }

    /// The index whose upper set is exactly the upper bounds of `i` and `j`, if any.
    pub fn least_upper_bound(&self, i: usize, j: usize) -> Option<usize> {
        let bounds = self.sets[i].and(&self.sets[j]);
        bounds.iter().find(|&k| self.sets[k] == bounds)
    }
}
