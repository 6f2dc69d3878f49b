//! The loops around a store, and index maps over them.

use broadloom_loops::{Binary, Cell, Dtype, LoopSum, LoopVar, Scalar};

use crate::tensor::Tensor;

/// A store with the loops around it. Loops that run once are left out: their variable is 0.
pub(crate) struct Nest<'s> {
    /// The variables and the extents of the loops, outermost first.
    pub loops: Vec<(LoopVar, u64)>,
    pub cell: &'s Cell,
    pub accumulate: Option<Binary>,
    pub value: &'s Scalar,
    /// The type that floats are computed in.
    pub real: Dtype,
    /// True if equal numbers have to be equal to the last bit. XLA must not compute what is read twice with different roundings, once
    /// fused with what comes before it and once not.
    pub exact: bool,
}

/// True if a store looks for equal numbers, as the gradient of a maximum does: it goes where a value is equal to the greatest one.
pub(crate) fn looks_for_equals(value: &Scalar) -> bool {
    let mut found = false;
    value.each(&mut |scalar| found |= matches!(scalar, Scalar::Binary(Binary::Equal | Binary::NotEqual, ..)));
    found
}

/// True if a store finds the greatest or the least of several values, which may be looked for again.
pub(crate) fn finds_extremes(loops: &[(LoopVar, u64)], cell: &Cell, accumulate: Option<Binary>) -> bool {
    let reduces = loops.iter().any(|(var, _)| !cell.mentions(*var));
    reduces && matches!(accumulate, Some(Binary::Max | Binary::Min))
}

/// A sum of loops, known by their places in the nest, and a constant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Affine {
    pub offset: i64,
    /// Coefficients, none of which is 0, and loops, none of which is there twice.
    pub terms: Vec<(i64, usize)>,
}

impl Affine {
    /// The least and the greatest value.
    pub fn range(&self, nest: &Nest<'_>) -> (i64, i64) {
        let mut range = (self.offset, self.offset);
        for (coefficient, each) in &self.terms {
            let reach = coefficient * (nest.extent(*each) as i64 - 1);
            *if reach < 0 { &mut range.0 } else { &mut range.1 } += reach;
        }
        range
    }

    /// The loops, if they are the digits of a number, the highest first: `6i + 2j + k`, `j` below 3, `k` below 2.
    pub fn digits(&self, nest: &Nest<'_>) -> Option<Vec<usize>> {
        let mut terms = self.terms.clone();
        terms.sort_unstable();
        let mut weight = 1;
        for (coefficient, each) in &terms {
            if *coefficient != weight {
                return None;
            }
            weight *= nest.extent(*each) as i64;
        }
        (terms.len() > 1).then(|| terms.iter().rev().map(|(_, each)| *each).collect())
    }
}

/// Values at the points of some loops: an axis for each of them, in the order of the nest.
#[derive(Clone, Debug)]
pub(crate) struct Over {
    pub tensor: Tensor,
    pub loops: Vec<usize>,
}

/// A value at each point of a nest.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// The same number everywhere.
    Number(f64),
    Over(Over),
}

impl Value {
    /// The loops that it depends on.
    pub fn loops(&self) -> &[usize] {
        match self {
            Value::Number(_) => &[],
            Value::Over(over) => &over.loops,
        }
    }
}

impl Nest<'_> {
    /// The extent of the loop at a place.
    pub fn extent(&self, at: usize) -> u64 {
        self.loops[at].1
    }

    /// The extents of some loops.
    pub fn extents(&self, loops: &[usize]) -> Vec<u64> {
        loops.iter().map(|each| self.extent(*each)).collect()
    }

    /// The sum of loops that an index is. None if some size is no number.
    pub fn affine(&self, sum: &LoopSum) -> Result<Affine, String> {
        let open = || "its sizes are not numbers".to_string();
        let mut terms = Vec::new();
        for (coefficient, var) in &sum.terms {
            let coefficient = coefficient.as_number().ok_or_else(open)?;
            if let Some(at) = self.loops.iter().position(|(known, _)| known == var) {
                terms.push((coefficient, at));
            }
        }
        Ok(Affine { offset: sum.offset.as_number().ok_or_else(open)?, terms })
    }
}

/// All loops of some lists, in the order of the nest.
pub(crate) fn union<'l>(lists: impl IntoIterator<Item = &'l [usize]>) -> Vec<usize> {
    let mut all: Vec<usize> = lists.into_iter().flatten().copied().collect();
    all.sort_unstable();
    all.dedup();
    all
}
