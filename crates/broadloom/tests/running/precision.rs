//! Types of numbers: stated at leaves, inferred elsewhere, and sums that are wider than their
//! terms.

use broadloom::{Array, Builder, Dtype, Error, Graph, Routine, Session, Tensor, bf16, f16};

use crate::numbers::treatments;

/// The types of some tensors after they have been computed.
fn types(graph: Graph, tensors: &[Tensor]) -> Result<Vec<Dtype>, Error> {
    let [(_, settings), ..] = treatments();
    let mut session = Session::with(graph, settings)?;
    let mut routine = Routine::new("types");
    tensors.iter().for_each(|tensor| {
        routine.forward(*tensor);
    });
    session.run(&routine)?;
    tensors.iter().map(|tensor| Ok(session.get(*tensor)?.dtype())).collect()
}

fn zeros(dtype: Dtype, sizes: &[u64]) -> Array {
    Array::zeros(dtype, sizes).expect("small arrays")
}

#[test]
fn data_decides_for_parameters() -> Result<(), Error> {
    for dtype in [Dtype::F64, Dtype::F32, Dtype::Bf16, Dtype::F16] {
        let b = Builder::new();
        let x = b.array("x", "... | 3", zeros(dtype, &[2, 3]));
        let (w, v) = (b.param_shaped("w", "... -> 4"), b.param_shaped("v", "... -> 5"));
        let hidden = w.compose(x).relu();
        let y = v.compose(hidden);
        let tensors = [w, v, hidden, y].map(|each| each.tensor());
        assert_eq!(types(b.finish()?, &tensors)?, [dtype; 4]);
    }
    Ok(())
}

#[test]
fn nothing_said_is_the_default() -> Result<(), Error> {
    for dtype in [None, Some(Dtype::F64)] {
        let mut g = Graph::new();
        dtype.iter().for_each(|dtype| g.set_default_precision(*dtype));
        let (w, n) = (g.param_shaped("w", "2")?, g.number(2.0));
        let y = g.mul(w, n)?;
        assert_eq!(types(g, &[w, y])?, [dtype.unwrap_or(Dtype::F32); 2]);
    }
    Ok(())
}

#[test]
fn the_widest_operand_decides_for_a_result() -> Result<(), Error> {
    use Dtype::{Bf16, F16, F32, F64, I32, I64};
    for (a, b, wanted) in [
        (F32, F64, F64),
        (Bf16, F32, F32),
        (F16, Bf16, F32),
        (Bf16, Bf16, Bf16),
        (I64, F32, F32),
        (F16, I64, F16),
        (I32, I64, I64),
        (I32, I32, I32),
    ] {
        let mut g = Graph::new();
        let (x, y) = (g.array("x", "...", zeros(a, &[2]))?, g.array("y", "...", zeros(b, &[2]))?);
        let sum = g.add(x, y)?;
        assert_eq!(types(g, &[sum])?, [wanted], "{a} + {b}");
    }
    Ok(())
}

/// Added one by one in 16 bits, the sum would stay at 256, or at 2048.
#[test]
fn sums_are_wider_than_what_is_stored() -> Result<(), Error> {
    for (treatment, settings) in treatments() {
        let b = Builder::new();
        let x = b.array("x", "64, 64", Array::from_slice(&[64, 64], &[bf16::ONE; 4096])?);
        let y = b.array("y", "64, 64", Array::from_slice(&[64, 64], &[f16::ONE; 4096])?);
        let sums = [x, y].map(|each| each.sum("i j =>").tensor());
        let products = [x, y].map(|each| b.einsum("i j; i j =>", &[each, each]).tensor());
        let rows = [x, y].map(|each| each.sum("i j => i").sum("i =>").tensor());
        let mut session = Session::with(b.finish()?, settings)?;
        let mut routine = Routine::new("sums");
        let all = [sums, products, rows].concat();
        all.iter().for_each(|sum| {
            routine.forward(*sum);
        });
        session.run(&routine)?;
        let found: Vec<f64> = all.into_iter().map(|sum| session.item(sum)).collect::<Result<_, _>>()?;
        assert_eq!(found, [4096.0; 6], "{treatment}: sums, products and sums of sums, of bf16 and f16");
        assert_eq!(session.get(sums[0])?.dtype(), Dtype::Bf16, "{treatment}");
    }
    Ok(())
}

/// A result that is stored in 16 bits is rounded to the nearest. Computations with it may skip that
/// rounding.
#[test]
fn what_is_stored_is_rounded() -> Result<(), Error> {
    for (treatment, settings) in treatments() {
        let mut g = Graph::new();
        let x =
            g.array("x", "...", Array::from_slice(&[2], &[bf16::from_f32(1.0), bf16::from_f32(256.0)])?)?;
        let small = g.number(1.0 / 512.0);
        let sum = g.add(x, small)?;
        let back = g.sub(sum, x)?;
        let mut session = Session::with(g, settings)?;
        let mut routine = Routine::new("rounded");
        routine.forward(sum).forward(back);
        session.run(&routine)?;
        assert_eq!(session.get(sum)?.to_f64s(), [1.0, 256.0], "{treatment}");
        let back = session.get(back)?.to_f64s();
        assert!(back.iter().all(|value| [0.0, 1.0 / 512.0].contains(value)), "{treatment}: {back:?}");
    }
    Ok(())
}

/// Gradients of 16-bit parameters are summed, and kept, in 32 bits.
#[test]
fn gradients_of_short_floats_are_wider() -> Result<(), Error> {
    for (treatment, settings) in treatments() {
        let mut g = Graph::new();
        let x = g.array("x", "... |", Array::from_slice(&[4096], &[bf16::ONE; 4096])?)?;
        let w = g.param_shaped("w", "|")?;
        let product = g.mul(x, w)?;
        let loss = g.einsum("... | =>", &[product])?;
        let mut routine = Routine::new("gradient");
        routine.backward(&mut g, loss)?;
        let gradient = g.gradient(w)?;
        routine.keep(gradient);
        let mut session = Session::with(g, settings)?;
        session.run(&routine)?;
        let found = session.get(gradient)?;
        assert_eq!((found.item(), found.dtype()), (Some(4096.0), Dtype::F32), "{treatment}");
        assert_eq!(session.get(w)?.dtype(), Dtype::Bf16, "{treatment}");
    }
    Ok(())
}

/// Integers are exact: sums, products, extremes, quotients towards 0, and remainders with the sign of the divisor.
#[test]
fn integers() -> Result<(), Error> {
    for (treatment, settings) in treatments() {
        let mut g = Graph::new();
        let a = g.array("a", "...", Array::from_slice(&[5], &[7i64, -7, 7, -7, 1 << 40])?)?;
        let b = g.array("b", "...", Array::from_slice(&[5], &[2i64, 2, -2, -2, 3])?)?;
        let names = ["+", "-", "*", "max", "min", "mod", "==", "<"];
        let results: Vec<Tensor> =
            names.iter().map(|name| g.pointwise(name, &[a, b])).collect::<Result<_, _>>()?;
        let (sum, greatest) = (g.einsum("i =>", &[a])?, g.einsum("i; i =>", &[a, b])?);
        let mut routine = Routine::new("integers");
        results.iter().for_each(|result| {
            routine.forward(*result);
        });
        routine.forward(sum).forward(greatest);
        let mut session = Session::with(g, settings)?;
        session.run(&routine)?;
        let large = 1i64 << 40;
        let wanted: [[i64; 5]; 8] = [
            [9, -5, 5, -9, large + 3],
            [5, -9, 9, -5, large - 3],
            [14, -14, -14, 14, 3 * large],
            [7, 2, 7, -2, large],
            [2, -7, -2, -7, 3],
            [1, 1, -1, -1, large % 3],
            [0; 5],
            [0, 1, 0, 1, 0],
        ];
        for ((name, result), wanted) in names.iter().zip(results).zip(wanted) {
            let found = session.get(result)?;
            assert_eq!(found.as_slice::<i64>(), Some(&wanted[..]), "{treatment}: {name}");
        }
        assert_eq!(session.get(sum)?.as_slice(), Some(&[large][..]), "{treatment}");
        assert_eq!(session.get(greatest)?.as_slice(), Some(&[3 * large][..]), "{treatment}");
    }
    Ok(())
}

/// Indices of rows of a table are integers, of either width.
#[test]
fn ids_are_integers() -> Result<(), Error> {
    for (treatment, settings) in treatments() {
        let mut g = Graph::new();
        let table = g.array("table", "3 -> 1", Array::from_slice(&[1, 3], &[10.0f32, 20.0, 30.0])?)?;
        let (ids, short) = (g.data("ids", "2 |")?, g.data("short", "2 |")?);
        g.set_precision(short, Dtype::I32)?;
        let (first, second) = (g.gather(table, ids)?, g.gather(table, short)?);
        let mut session = Session::with(g, settings)?;
        session.set(ids, &Array::from_slice(&[2], &[2i64, 0])?)?;
        session.set(short, &Array::from_slice(&[2], &[1i64, 1])?)?;
        let mut routine = Routine::new("rows");
        routine.forward(first).forward(second);
        session.run(&routine)?;
        assert_eq!((session.get(ids)?.dtype(), session.get(short)?.dtype()), (Dtype::I64, Dtype::I32));
        assert_eq!(session.get(first)?.to_f64s(), [30.0, 10.0], "{treatment}");
        assert_eq!(session.get(second)?.to_f64s(), [20.0, 20.0], "{treatment}");
    }
    Ok(())
}
