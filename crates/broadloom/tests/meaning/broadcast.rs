//! The meaning of the broadcasting operations, from their definitions.
//!
//! | operation | value |
//! |---|---|
//! | pointwise | `C[b; i; o] = A[b; i; o] · B[b; i; o] · …` |
//! | composition | `C[b; i; o] = Σ_k A[b; k; o] · B[b; i; k]` |
//! | composition and a third operand | `C[b; i; o] = Σ_k A[b; k; o] · B[b; i; k] · D[b; i; o]` |
//! | transpose | `C[b; i; o] = A[b; o; i]` |
//! | slice | `C[b; i; o] = A[p, b; i; o]` |
//!
//! (The function of the operands does not matter here, so it is always a product.)
//!
//! A row broadcasts into a longer one: the axes before its marker face the first axes of the longer
//! row, the others the last. Units and missing axes have the same value everywhere.

use crate::meaning::array::{Array, Form, MEMORY, Size, each_point};

/// An operation whose operands broadcast.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Broadcast {
    Pointwise,
    Compose,
    ComposeAccumulate,
    Transpose,
}

/// A tensor as an operand.
pub struct Operand<'a> {
    pub form: &'a Form,
    /// The number of axes of each row before the marker.
    pub leads: [usize; 3],
    pub array: &'a Array,
}

/// The rows that are iterated over: those of the result, and the contracted one.
const CONTRACTED: usize = 3;

/// The rows into which the batch, input and output of an operand broadcast.
fn targets(op: Broadcast, slot: usize) -> [usize; 3] {
    let [batch, input, output] = [0, 1, 2];
    match (op, slot) {
        (Broadcast::Transpose, _) => [batch, output, input],
        (Broadcast::Compose | Broadcast::ComposeAccumulate, 0) => [batch, CONTRACTED, output],
        (Broadcast::Compose | Broadcast::ComposeAccumulate, 1) => [batch, input, CONTRACTED],
        _ => [batch, input, output],
    }
}

/// The value of an operation, and the number of visited points.
pub fn evaluate(op: Broadcast, operands: &[Operand<'_>], result: &Form) -> Result<(Array, u64), String> {
    let contracted = match op {
        Broadcast::Compose | Broadcast::ComposeAccumulate => operands[0].form.0[1].clone(),
        Broadcast::Pointwise | Broadcast::Transpose => Vec::new(),
    };
    let [batch, input, output] = result.0.clone();
    let rows = [batch, input, output, contracted];
    let order = [MEMORY[0], MEMORY[1], MEMORY[2], CONTRACTED];
    // The start of each row among the coordinates of a point.
    let mut starts = [0; 4];
    let mut extents: Vec<u64> = Vec::new();
    for row in order {
        starts[row] = extents.len();
        extents.extend(rows[row].iter().map(|size| size.count()));
    }
    let mut reads: Vec<Vec<Option<usize>>> = Vec::new();
    for (slot, operand) in operands.iter().enumerate() {
        let target = targets(op, slot);
        let mut read = Vec::new();
        for row in MEMORY {
            let facing = align(&operand.form.0[row], operand.leads[row], &rows[target[row]])
                .map_err(|message| format!("row {row} of operand {slot}: {message}"))?;
            read.extend(facing.into_iter().map(|place| place.map(|place| starts[target[row]] + place)));
        }
        reads.push(read);
    }
    let mut made = Array::zeros(result.memory());
    let elements = made.values.len();
    let reductions: u64 = rows[CONTRACTED].iter().map(|size| size.count()).product();
    let mut cell = 0;
    let points = each_point(&extents, |point| {
        let mut value = 1.0;
        for (operand, read) in operands.iter().zip(&reads) {
            let place = read.iter().zip(&operand.array.sizes).fold(0, |place, (coordinate, size)| {
                place * size + coordinate.map_or(0, |coordinate| point[coordinate])
            });
            value *= operand.array.values[place as usize];
        }
        made.values[(cell / reductions) as usize] += value;
        cell += 1;
        Ok(())
    })?;
    debug_assert_eq!(points, elements as u64 * reductions, "the contracted row is innermost");
    Ok((made, points))
}

/// The axis of a longer row that each axis of a row faces, or None for a unit.
fn align(row: &[Size], lead: usize, longer: &[Size]) -> Result<Vec<Option<usize>>, String> {
    let Some(surplus) = longer.len().checked_sub(row.len()) else {
        return Err(format!("{row:?} does not fit into {longer:?}"));
    };
    let facing = |(at, size): (usize, &Size)| {
        let place = if at < lead { at } else { at + surplus };
        match size {
            Size::Unit => Ok(None),
            size if *size == longer[place] => Ok(Some(place)),
            _ => Err(format!("{row:?} with {lead} before the marker does not fit into {longer:?}")),
        }
    };
    row.iter().enumerate().map(facing).collect()
}

/// The element at a position of the first batch axis.
pub fn slice(operand: &Array, form: &Form, position: u64, result: &Form) -> Result<(Array, u64), String> {
    let [batch, input, output] = &form.0;
    let rest = Form([batch[1..].to_vec(), input.clone(), output.clone()]);
    if !rest.same_sizes(result) {
        return Err(format!("a slice of {form} is {rest}, not {result}"));
    }
    let mut made = Array::zeros(result.memory());
    let count = made.values.len();
    made.values.copy_from_slice(&operand.values[position as usize * count..][..count]);
    Ok((made, count as u64))
}

/// The shape of a result whose operands all have their markers at the left edge: that of NumPy.
pub fn numpy_row(rows: &[&[Size]]) -> Vec<Size> {
    let rank = rows.iter().map(|row| row.len()).max().unwrap_or(0);
    let mut result = vec![Size::Unit; rank];
    for row in rows {
        for (place, size) in row.iter().rev().enumerate() {
            if *size != Size::Unit {
                result[rank - 1 - place] = *size;
            }
        }
    }
    result
}
