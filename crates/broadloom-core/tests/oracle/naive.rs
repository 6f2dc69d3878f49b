//! All solutions, by the plain product of all assignments.
//!
//! Every variable runs through every value, markers included, and [`satisfies`] is called at the
//! end. It is slow and simple, and serves to check [`super::enumerate`]: with 2 values, a row of
//! rank at most 2 has 1 + 2·2 + 3·4 = 17 candidates, and two of them 289.

use std::ops::ControlFlow;

use super::{Assignment, Atom, Dim, Row, System, satisfies};

/// Visits every solution whose row variables have rank at most `max_rank` and whose dimensions
/// are the unit or in `atoms`, with every marker.
pub fn enumerate_naive<B>(
    system: &System,
    max_rank: usize,
    atoms: &[Atom],
    mut visit: impl FnMut(&Assignment) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let dims = all_dims(atoms);
    let rows = all_rows(max_rank, &dims);
    let mut digits = vec![0; system.dim_vars + system.row_vars];
    loop {
        let (dim_digits, row_digits) = digits.split_at(system.dim_vars);
        let assignment = Assignment {
            dims: dim_digits.iter().map(|digit| dims[*digit]).collect(),
            rows: row_digits.iter().map(|digit: &usize| rows[*digit].clone()).collect(),
        };
        if satisfies(system, &assignment).is_ok() {
            visit(&assignment)?;
        }
        // The next assignment, counting with one digit for each variable.
        let mut place = 0;
        loop {
            if place == digits.len() {
                return ControlFlow::Continue(());
            }
            digits[place] += 1;
            let n_values = if place < system.dim_vars { dims.len() } else { rows.len() };
            if digits[place] < n_values {
                break;
            }
            digits[place] = 0;
            place += 1;
        }
    }
}

/// The number of assignments that [`enumerate_naive`] would try.
pub fn naive_candidates(system: &System, max_rank: usize, atoms: &[Atom]) -> u64 {
    let n_dims = atoms.len() as u64 + 1;
    let n_rows: u64 = (0..=max_rank as u32).map(|rank| u64::from(rank + 1) * n_dims.pow(rank)).sum();
    n_dims
        .saturating_pow(system.dim_vars as u32)
        .saturating_mul(n_rows.saturating_pow(system.row_vars as u32))
}

fn all_dims(atoms: &[Atom]) -> Vec<Dim> {
    let mut dims = vec![Dim::Unit];
    dims.extend(atoms.iter().map(|atom| Dim::Atom(*atom)));
    dims
}

fn all_rows(max_rank: usize, dims: &[Dim]) -> Vec<Row> {
    let mut contents = vec![Vec::new()];
    let mut longest = contents.clone();
    for _ in 0..max_rank {
        longest = longest
            .iter()
            .flat_map(|content| {
                dims.iter().map(|dim| {
                    let mut longer = content.clone();
                    longer.push(*dim);
                    longer
                })
            })
            .collect();
        contents.extend(longest.iter().cloned());
    }
    contents
        .into_iter()
        .flat_map(|dims: Vec<Dim>| (0..=dims.len()).map(move |marker| Row { dims: dims.clone(), marker }))
        .collect()
}
