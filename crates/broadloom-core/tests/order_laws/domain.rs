//! The domain on which the laws are checked: all rows up to a rank over a few dimensions.

use std::collections::HashMap;
use std::hash::Hash;

use broadloom_core::order::{AnyRow, Basis, Dim, Rigid, Row};

use crate::order_laws::naive;

pub const UNIT: Dim = Dim::Unit;

/// Sizes alone, with the explicit 1; and sizes that differ only by their basis.
pub fn dim_domains() -> [[Dim; 4]; 2] {
    let by_size = [UNIT, Dim::sized(1), Dim::sized(2), Dim::sized(3)];
    let by_basis = [UNIT, Dim::sized(2), Dim::sized(3), Dim::atom(2, Basis(1))];
    [by_size, by_basis]
}

/// All sequences of dimensions up to a length, the shortest first.
pub fn sequences(dims: &[Dim], max_len: usize) -> Vec<Vec<Dim>> {
    let mut all = vec![vec![]];
    let mut start = 0;
    for _ in 0..max_len {
        let end = all.len();
        for i in start..end {
            for &dim in dims {
                let mut longer = all[i].clone();
                longer.push(dim);
                all.push(longer);
            }
        }
        start = end;
    }
    all
}

/// All rows up to a rank, with all markers.
pub fn flanks(dims: &[Dim], max_rank: usize) -> Vec<naive::Flanks> {
    let mut all = vec![];
    for axes in sequences(dims, max_rank) {
        let split = |at| (axes[..at].to_vec(), axes[at..].to_vec());
        all.extend((0..=axes.len()).map(split));
    }
    all
}

pub fn row((lead, trail): &naive::Flanks) -> Row {
    Row::new(lead.iter().copied(), trail.iter().copied())
}

pub fn rows(dims: &[Dim], max_rank: usize) -> Vec<Row> {
    flanks(dims, max_rank).iter().map(row).collect()
}

pub fn row_domains() -> [Vec<Row>; 2] {
    dim_domains().map(|dims| rows(&dims, 3))
}

/// Both sorts of rows.
pub fn any_rows(dims: &[Dim], max_rank: usize) -> Vec<AnyRow> {
    let rigid = sequences(dims, max_rank).into_iter().map(Rigid::new);
    let marked = rows(dims, max_rank).into_iter();
    let marked = marked.map(AnyRow::from);
    marked.chain(rigid.map(AnyRow::from)).collect()
}

pub fn indices<T: Hash + Eq>(items: &[T]) -> HashMap<&T, usize> {
    items.iter().zip(0..).collect()
}
