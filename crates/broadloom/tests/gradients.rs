//! Gradients by slot: the forward nest with an operand in the place of the result accumulates that
//! operand's gradient, without any further inference.
//!
//! Operations that multiply their operands are linear in each of them, so the derivative by one cell is the
//! result for a tensor that is 1 there and 0 elsewhere: an oracle that uses the forward nest alone.

use broadloom::{Error, Graph, Projected, Tensor};

/// An array in memory order.
#[derive(Clone)]
struct Array {
    sizes: Vec<u64>,
    cells: Vec<f64>,
}

impl Array {
    fn zeros(sizes: &[u64]) -> Array {
        Array { sizes: sizes.to_vec(), cells: vec![0.0; sizes.iter().product::<u64>() as usize] }
    }

    /// Different numbers for different cells and seeds.
    fn of(sizes: &[u64], seed: u64) -> Array {
        let mut array = Array::zeros(sizes);
        for (at, cell) in array.cells.iter_mut().enumerate() {
            *cell = ((at as u64 * 7 + seed * 13) % 11) as f64 - 4.0;
        }
        array
    }

    /// The place of an index, if it is inside.
    fn place(&self, index: &[i64]) -> Option<usize> {
        index.iter().zip(&self.sizes).try_fold(0, |place, (at, size)| {
            (0..*size as i64).contains(at).then_some(place * *size as usize + *at as usize)
        })
    }
}

/// Runs a nest: the product of the tensors from `1` on, summed into the first.
fn run(nest: &Projected, operands: &[&Array]) -> Array {
    let mut result = Array::zeros(&nest.shape(0));
    for phase in nest.projection.phases() {
        if !nest.projection.takes_part(0, &phase) {
            continue;
        }
        let mut point = vec![0u64; nest.projection.loops.len()];
        'points: loop {
            let at = |map: usize| -> Vec<i64> {
                let map = nest.projection.in_phase(map, &phase).expect("no run-time index");
                map.iter().map(|sum| sum.at(&point)).collect()
            };
            let mut value = 1.0;
            for (slot, operand) in operands.iter().enumerate() {
                if nest.projection.takes_part(slot + 1, &phase) {
                    value *= operand.place(&at(slot + 1)).map_or(0.0, |place| operand.cells[place]);
                }
            }
            if let Some(place) = result.place(&at(0)) {
                result.cells[place] += value;
            }
            for index in &phase {
                point[*index as usize] += 1;
                if point[*index as usize] < nest.projection.loops[*index as usize].extent.get() {
                    continue 'points;
                }
                point[*index as usize] = 0;
            }
            break;
        }
    }
    result
}

/// Compares the gradient of every operand with the derivative of the forward nest.
fn check(graph: &mut Graph, result: Tensor) -> Result<(), Error> {
    let forward = graph.projection(result)?;
    let operands: Vec<Array> =
        (1..forward.tensors.len()).map(|at| Array::of(&forward.shape(at), at as u64)).collect();
    let outer = Array::of(&forward.shape(0), 99);
    for slot in 0..operands.len() {
        let backward = forward.with_result(slot + 1);
        // The gradient of the result takes the place of the result: it is read first.
        let others = operands.iter().enumerate().filter(|(other, _)| *other != slot).map(|(_, array)| array);
        let read: Vec<&Array> = std::iter::once(&outer).chain(others).collect();
        let gradient = run(&backward, &read);
        for cell in 0..gradient.cells.len() {
            let mut probe = Array::zeros(&forward.shape(slot + 1));
            probe.cells[cell] = 1.0;
            let mut with = operands.clone();
            with[slot] = probe;
            let changed = run(&forward, &with.iter().collect::<Vec<_>>());
            // If the operand takes no part, the result does not depend on it.
            let mut without = operands.clone();
            without[slot] = Array::zeros(&forward.shape(slot + 1));
            let still = run(&forward, &without.iter().collect::<Vec<_>>());
            let change = changed.cells.iter().zip(&still.cells).map(|(a, b)| a - b);
            let expected: f64 = change.zip(&outer.cells).map(|(change, outer)| change * outer).sum();
            assert_eq!(gradient.cells[cell], expected, "cell {cell} of operand {slot}: {forward:?}");
        }
    }
    Ok(())
}

#[test]
fn gradients_of_products_are_their_derivatives() -> Result<(), Error> {
    let mut g = Graph::new();
    let (a, b) = (g.data("a", "3 -> 2")?, g.data("b", "4 -> 3")?);
    let product = g.compose(a, b)?;
    check(&mut g, product)?;
    let (x, scale) = (g.data("x", "2 | 3, 4")?, g.data("scale", "4")?);
    let scaled = g.mul(x, scale)?;
    check(&mut g, scaled)
}

#[test]
fn gradients_of_specs_are_their_derivatives() -> Result<(), Error> {
    for (spec, shapes) in [
        ("2*o<+k, c; k, c => o", ["9, 2", "3, 2"]),
        ("o=+2*k; k => o", ["8", "3"]),
        ("i; j => i, j", ["3", "4"]),
        ("ii; i => i", ["3, 3", "3"]),
        ("i; i => 0", ["5", "5"]),
        ("i, j; j => 4*i<+j", ["3, 4", "4"]),
        ("a; b => a^b", ["3", "2"]),
        ("a, c; b, c => a^b, c", ["3, 2", "1, 2"]),
        ("(h w); w => h", ["6", "3"]),
        ("(h 2 w) | c; h w => (w c) | (h 3)", ["12 | 2", "2, 3"]),
        ("..r..; (..r..) => (..r.. 2)", ["2, 3", "6"]),
    ] {
        let mut g = Graph::new();
        let operands = [g.data("x", shapes[0])?, g.data("y", shapes[1])?];
        let result = g.einsum(spec, &operands)?;
        check(&mut g, result)?;
    }
    Ok(())
}
