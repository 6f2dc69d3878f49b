//! Shapes as types (*Tensor Dimension Inference*): every table and every example of the document.

use broadloom::Array;
use broadloom::typed::{
    Broadcasting, Context, Dim, DimSpec, Proof, ShapeCheck, ShapeError, TensorShape, TypedTensor,
};

fn named(name: &str, range: Option<(u64, u64)>) -> Dim {
    Dim::Named(name.into(), range)
}

fn batch() -> Dim {
    named("batch", Some((1, 64)))
}

/// "DimSpec": conversion to a dimension.
#[test]
fn specs_become_dimensions() {
    let spec =
        |name: Option<&str>, sample, min, max| DimSpec { name: name.map(String::from), sample, min, max };
    for (spec, expected) in [
        (spec(None, 64, Some(64), Some(64)), Dim::Literal(64)),
        (spec(Some("batch"), 32, None, None), named("batch", None)),
        (spec(Some("batch"), 32, Some(1), Some(64)), batch()),
        (spec(None, 1, None, None), Dim::Dynamic),
    ] {
        assert_eq!(Dim::from(spec.clone()), expected, "{spec:?}");
    }
    assert_eq!(DimSpec::exact(64), spec(None, 64, Some(64), Some(64)));
    assert_eq!(DimSpec::ranged("batch", 32, 1, 64), spec(Some("batch"), 32, Some(1), Some(64)));
}

/// "Unification Algorithm", case by case.
#[test]
fn the_table_of_unification() {
    use Dim::{Broadcast, Dynamic, Literal};
    let mismatch = |expected, actual| Err(ShapeError::LiteralMismatch { expected, actual });
    let out = |actual| Err(ShapeError::DimensionOutOfRange { name: "batch".into(), actual, min: 1, max: 64 });
    let cases: Vec<(Dim, Dim, Result<Dim, ShapeError>)> = vec![
        (Literal(64), Literal(64), Ok(Literal(64))),
        (Literal(8), Literal(10), mismatch(8, 10)),
        (Dynamic, Literal(7), Ok(Literal(7))),
        (Dynamic, batch(), Ok(batch())),
        (Dynamic, Dynamic, Ok(Dynamic)),
        (Dynamic, Broadcast, Ok(Dynamic)),
        (Broadcast, Literal(1), Ok(Literal(1))),
        (Broadcast, Literal(9), Ok(Literal(9))),
        (Broadcast, Broadcast, Ok(Broadcast)),
        (Broadcast, batch(), Ok(batch())),
        (batch(), batch(), Ok(batch())),
        (batch(), named("batch", None), Ok(batch())),
        (batch(), named("batch", Some((32, 128))), Ok(named("batch", Some((32, 64))))),
        (
            batch(),
            named("batch", Some((65, 128))),
            Err(ShapeError::RangeEmpty { name: "batch".into(), left: (1, 64), right: (65, 128) }),
        ),
        (batch(), Literal(1), Ok(Literal(1))),
        (batch(), Literal(64), Ok(Literal(64))),
        (batch(), Literal(65), out(65)),
        (named("batch", None), Literal(1000), Ok(Literal(1000))),
        (
            batch(),
            named("seq", None),
            Err(ShapeError::Incompatible { left: batch(), right: named("seq", None) }),
        ),
    ];
    for (left, right, expected) in cases {
        let mut context = Context::new();
        assert_eq!(context.unify_dims(&left, &right), expected, "{left} and {right}");
        // Both orders agree.
        let swapped = Context::new().unify_dims(&right, &left);
        assert_eq!(swapped.is_ok(), expected.is_ok(), "{right} and {left}");
        if let (Ok(a), Ok(b)) = (&swapped, &expected) {
            assert_eq!(a, b, "{right} and {left}");
        }
    }
}

#[test]
fn variables_are_bound_once() {
    let mut context = Context::new();
    let (a, b) = (context.fresh_var(), context.fresh_var());
    assert_eq!(context.unify_dims(&a, &b), Ok(a.clone()));
    assert_eq!(context.unify_dims(&b, &batch()), Ok(batch()));
    assert_eq!(context.resolve(&a), batch());
    // A refused step leaves no trace.
    assert!(context.unify_dims(&a, &Dim::Literal(65)).is_err());
    assert_eq!(context.resolve(&a), batch());
    assert_eq!(context.unify_dims(&a, &Dim::Literal(16)), Ok(Dim::Literal(16)));
    assert_eq!((context.resolve(&b), context.resolve(&batch())), (Dim::Literal(16), Dim::Literal(16)));
}

#[test]
fn shapes_unify_dimension_by_dimension() {
    let mut context = Context::new();
    let left = TensorShape::new([batch(), Dim::Literal(784)]);
    let right = TensorShape::new([Dim::Dynamic, Dim::Literal(784)]);
    assert_eq!(context.unify_shapes(&left, &right), Ok(left.clone()));
    let short = TensorShape::of(&[784]);
    assert_eq!(
        context.unify_shapes(&left, &short),
        Err(ShapeError::RankMismatch { left: left.clone(), right: short })
    );
}

/// "Matrix Multiplication", and batches of them.
#[test]
fn products() {
    let mut context = Context::new();
    let of = TensorShape::of;
    assert_eq!(context.matmul(&of(&[4, 8]), &of(&[8, 16])), Ok(of(&[4, 16])));
    let inner = context.fresh_var();
    let open = TensorShape::new([Dim::Literal(4), inner.clone()]);
    assert_eq!(context.matmul(&open, &of(&[8, 16])), Ok(of(&[4, 16])));
    assert_eq!(context.resolve(&inner), Dim::Literal(8));
    let (left, right) = (of(&[4, 8]), of(&[10, 16]));
    let cause = Box::new(ShapeError::LiteralMismatch { expected: 8, actual: 10 });
    assert_eq!(context.matmul(&left, &right), Err(ShapeError::MatmulShapeMismatch { left, right, cause }));
    assert!(matches!(context.matmul(&of(&[8]), &of(&[8, 2])), Err(ShapeError::MatmulRank { .. })));

    let batched = TensorShape::new([batch(), Dim::Literal(4), Dim::Literal(8)]);
    let expected = TensorShape::new([batch(), Dim::Literal(4), Dim::Literal(16)]);
    assert_eq!(context.matmul(&batched, &of(&[8, 16])), Ok(expected.clone()));
    assert_eq!(
        context.matmul(&batched, &TensorShape::new([batch(), Dim::Literal(8), Dim::Literal(16)])),
        Ok(expected)
    );
    let other = TensorShape::new([named("seq", None), Dim::Literal(8), Dim::Literal(16)]);
    assert!(matches!(context.matmul(&batched, &other), Err(ShapeError::MatmulShapeMismatch { .. })));
    assert_eq!(
        context.matmul_with(&of(&[1, 4, 8]), &of(&[7, 8, 2]), Broadcasting::NumPy),
        Ok(of(&[7, 4, 2]))
    );
    assert!(
        context.matmul(&of(&[1, 4, 8]), &of(&[7, 8, 2])).is_err(),
        "a one is a size, unless said otherwise"
    );
}

/// "Broadcasting".
#[test]
fn broadcasting() {
    let of = TensorShape::of;
    let numpy = |shapes: &[&[u64]]| {
        let shapes: Vec<TensorShape> = shapes.iter().map(|sizes| of(sizes)).collect();
        Context::new().broadcast(&shapes, Broadcasting::NumPy)
    };
    assert_eq!(numpy(&[&[3, 4], &[1, 4]]), Ok(of(&[3, 4])));
    assert_eq!(numpy(&[&[3, 4], &[3, 1]]), Ok(of(&[3, 4])));
    assert_eq!(numpy(&[&[2, 3, 4], &[4]]), Ok(of(&[2, 3, 4])));
    assert_eq!(numpy(&[&[1], &[1]]), Ok(of(&[1])));
    let cause = Box::new(ShapeError::LiteralMismatch { expected: 3, actual: 5 });
    let shapes = vec![of(&[3, 4]), of(&[5, 4])];
    assert_eq!(numpy(&[&[3, 4], &[5, 4]]), Err(ShapeError::BroadcastIncompatible { shapes, cause }));
    // Without the option a one is a size like any other, and only `Broadcast` broadcasts.
    let mut context = Context::new();
    assert!(context.broadcast(&[of(&[3, 4]), of(&[1, 4])], Broadcasting::Explicit).is_err());
    let bias = TensorShape::new([Dim::Broadcast, Dim::Literal(4)]);
    let x = TensorShape::new([batch(), Dim::Literal(4)]);
    assert_eq!(context.broadcast(&[x.clone(), bias.clone()], Broadcasting::Explicit), Ok(x.clone()));
    assert_eq!(context.broadcast(&[bias.clone(), bias.clone()], Broadcasting::Explicit), Ok(bias));
    let literal = context.broadcast(&[x, of(&[16, 4])], Broadcasting::Explicit);
    assert_eq!(literal, Ok(of(&[16, 4])), "the name is specialised");
    assert_eq!(context.resolve(&batch()), Dim::Literal(16));
}

/// NumPy's rule, by enumeration.
#[test]
fn numpy_broadcasting_by_enumeration() {
    let sizes = |code: usize| -> Vec<u64> {
        let rank = code % 3;
        (0..rank).map(|at| [1, 2, 3][code / 3 / 3usize.pow(at as u32) % 3]).collect()
    };
    for (a, b) in (0..27).flat_map(|a| (0..27).map(move |b| (sizes(a), sizes(b)))) {
        let rank = a.len().max(b.len());
        let pad = |sizes: &[u64]| [vec![1; rank - sizes.len()], sizes.to_vec()].concat();
        let pairs: Vec<(u64, u64)> = pad(&a).into_iter().zip(pad(&b)).collect();
        let fits = pairs.iter().all(|(x, y)| x == y || *x == 1 || *y == 1);
        let expected =
            fits.then(|| TensorShape::of(&pairs.iter().map(|(x, y)| *x.max(y)).collect::<Vec<_>>()));
        let shapes = [TensorShape::of(&a), TensorShape::of(&b)];
        assert_eq!(Context::new().broadcast(&shapes, Broadcasting::NumPy).ok(), expected, "{a:?} {b:?}");
    }
}

/// "Reshape": products as expressions.
#[test]
fn reshapes_are_proved() {
    let of = TensorShape::of;
    let mut context = Context::new();
    assert_eq!(context.reshape(&of(&[4, 6]), &of(&[2, 12])), Ok((of(&[2, 12]), Proof::Proved)));
    let (input, output) = (of(&[4, 6]), of(&[3, 10]));
    assert_eq!(
        context.reshape(&input, &output),
        Err(ShapeError::ReshapeElementsMismatch { input: input.clone(), output: output.clone() })
    );
    let input = TensorShape::new([batch(), Dim::Literal(6)]);
    let output = TensorShape::new([batch(), Dim::Literal(3), Dim::Literal(2)]);
    assert_eq!(context.reshape(&input, &output), Ok((output.clone(), Proof::Proved)));
    let wrong = TensorShape::new([batch(), Dim::Literal(4)]);
    assert!(matches!(context.reshape(&input, &wrong), Err(ShapeError::ReshapeElementsMismatch { .. })));
    // Open dimensions are inferred, as expressions if necessary.
    let (rest, flat) = (context.fresh_var(), context.fresh_var());
    let (shape, proof) = context.reshape(&input, &TensorShape::new([batch(), rest])).expect("fits");
    assert_eq!((shape.to_string(), proof), ("[batch: 1..64, 6]".into(), Proof::Proved));
    let (shape, proof) = context.reshape(&input, &TensorShape::new([flat])).expect("fits");
    assert_eq!((shape.to_string(), proof), ("[6*batch]".into(), Proof::Proved));
    assert_eq!(shape.elements_range(), (6, Some(384)));
    // A condition that is known only at run time is left to a check.
    let dynamic = TensorShape::new([Dim::Dynamic, Dim::Literal(3)]);
    assert_eq!(context.reshape(&input, &dynamic).expect("may fit").1, Proof::AtRunTime);
    let seq = TensorShape::new([named("seq", None), Dim::Literal(3)]);
    assert_eq!(context.reshape(&input, &seq).expect("may fit").1, Proof::AtRunTime);
}

/// "Transpose" and "Reduction".
#[test]
fn transposes_and_reductions() {
    let context = Context::new();
    let shape = TensorShape::new([batch(), Dim::Literal(3), Dim::Literal(4)]);
    let turned = TensorShape::new([Dim::Literal(4), Dim::Literal(3), batch()]);
    assert_eq!(context.transpose(&shape, 0, 2), Ok(turned));
    assert_eq!(
        context.transpose(&shape, 0, 3),
        Err(ShapeError::InvalidTransposeDims { dim0: 0, dim1: 3, rank: 3 })
    );
    let kept = TensorShape::new([batch(), Dim::Literal(1), Dim::Literal(4)]);
    assert_eq!(context.reduce(&shape, 1, true), Ok(kept));
    assert_eq!(context.reduce(&shape, 1, false), Ok(TensorShape::new([batch(), Dim::Literal(4)])));
    assert_eq!(context.reduce(&shape, 3, false), Err(ShapeError::InvalidReductionDim { dim: 3, rank: 3 }));
}

/// "Runtime Verification", by enumeration.
#[test]
fn checks_agree_with_their_definition() {
    let dims = [Dim::Literal(2), named("n", Some((2, 3))), named("n", None), Dim::Dynamic, Dim::Broadcast];
    let allows = |dim: &Dim, size: u64| match dim {
        Dim::Literal(expected) => size == *expected,
        Dim::Named(_, Some((lo, hi))) => (*lo..=*hi).contains(&size),
        _ => true,
    };
    for (a, b) in dims.iter().flat_map(|a| dims.iter().map(move |b| (a, b))) {
        let check = ShapeCheck::new(&TensorShape::new([a.clone(), b.clone()]));
        for (x, y) in (1..5).flat_map(|x| (1..5).map(move |y| (x, y))) {
            let both_named = matches!((a, b), (Dim::Named(..), Dim::Named(..)));
            let expected = allows(a, x) && allows(b, y) && (!both_named || x == y);
            assert_eq!(check.verify(&[x, y]).is_ok(), expected, "[{a}, {b}] at [{x}, {y}]");
        }
        assert!(matches!(check.verify(&[2]), Err(ShapeError::RankMismatch { .. })));
    }
}

#[test]
fn typed_tensors() {
    let specs = |rows| [DimSpec::ranged("batch", rows, 1, 8), DimSpec::exact(3)];
    assert_eq!(
        TypedTensor::zeros(&specs(9)).map(|_| ()),
        Err(ShapeError::DimensionOutOfRange { name: "batch".into(), actual: 9, min: 1, max: 8 })
    );
    let numbers: Vec<f32> = (0..6).map(|n| n as f32).collect();
    let x = TypedTensor::from_data(&specs(2), &numbers).expect("fits");
    assert_eq!(x.verify(), Ok(()));
    let ones = TypedTensor::ones(&[DimSpec::exact(3)]).expect("fits");
    let sum = x.add(&ones).expect("fits");
    assert_eq!(
        (sum.shape().to_string(), sum.to_f64s()),
        ("[batch: 1..8, 3]".into(), vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    );
    let turned = x.transpose(0, 1).expect("fits");
    assert_eq!((turned.sizes(), turned.to_f64s()), (&[3, 2][..], vec![0.0, 3.0, 1.0, 4.0, 2.0, 5.0]));
    let square = x.matmul(&turned).expect("fits");
    assert_eq!(square.to_f64s(), [5.0, 14.0, 14.0, 50.0]);
    assert_eq!(square.shape().to_string(), "[batch: 1..8, batch: 1..8]");
    let total = x.sum(1, false).expect("fits");
    assert_eq!((total.shape().to_string(), total.to_f64s()), ("[batch: 1..8]".into(), vec![3.0, 12.0]));
    let mean = x.mean(1, true).expect("fits");
    assert_eq!((mean.shape().to_string(), mean.to_f64s()), ("[batch: 1..8, 1]".into(), vec![1.0, 4.0]));
    let centred = x.add_with(&mean, Broadcasting::NumPy).expect("fits");
    assert_eq!(centred.to_f64s(), [1.0, 2.0, 3.0, 7.0, 8.0, 9.0]);
    let flat = x.reshape(&[DimSpec::exact(3), DimSpec::dynamic(2)]).map(|tensor| tensor.sizes().to_vec());
    assert_eq!(flat, Ok(vec![3, 2]));
    // One name with two sizes: inference cannot detect it, the check does.
    let other =
        TypedTensor::from_array(Array::zeros(broadloom::Dtype::F32, &[4, 3]).expect("fits"), &specs(4));
    assert_eq!(
        x.add(&other.expect("in range")).map(|_| ()),
        Err(ShapeError::LiteralMismatch { expected: 2, actual: 4 })
    );
    let noise = TypedTensor::randn(&specs(4), 1).expect("fits");
    assert_eq!(noise.to_f64s(), TypedTensor::randn(&specs(4), 1).expect("fits").to_f64s());
    let batched =
        TypedTensor::ones(&[DimSpec::named("b", 2), DimSpec::exact(2), DimSpec::exact(3)]).expect("fits");
    let product = batched.matmul(&turned).expect("fits");
    assert_eq!(
        (product.shape().to_string(), product.sizes()),
        ("[b, 2, batch: 1..8]".into(), &[2, 2, 2][..])
    );
}

/// Results of rules can be operands like declared sizes: `6*batch` goes into the next rule.
#[test]
fn expressions_in_the_next_rule() -> Result<(), ShapeError> {
    let mut context = Context::new();
    let flat = context.fresh_var();
    let (flat, proof) =
        context.reshape(&TensorShape::new([batch(), Dim::Literal(6)]), &TensorShape::new([flat]))?;
    assert_eq!((flat.to_string(), proof), ("[6*batch]".into(), Proof::Proved));
    let six = flat.dims()[0].clone();
    // As an operand that broadcasts, and as one side of a product.
    let sum =
        context.broadcast(&[flat.clone(), TensorShape::new([Dim::Broadcast])], Broadcasting::Explicit)?;
    assert_eq!(sum.to_string(), "[6*batch]");
    let product = context.matmul(
        &TensorShape::new([Dim::Literal(4), six.clone()]),
        &TensorShape::new([six.clone(), Dim::Literal(3)]),
    )?;
    assert_eq!(product.to_string(), "[4, 3]");
    // Back to the original count in another way: 6 * batch is batch * 3 * 2.
    let (_, proof) =
        context.reshape(&flat, &TensorShape::new([batch(), Dim::Literal(3), Dim::Literal(2)]))?;
    assert_eq!(proof, Proof::Proved);
    // Twice as many elements, flattened.
    let whole = context.fresh_var();
    let (whole, _) =
        context.reshape(&TensorShape::new([six.clone(), Dim::Literal(2)]), &TensorShape::new([whole]))?;
    assert_eq!(whole.to_string(), "[12*batch]");
    // 6 * batch is never 5; at batch = 2 it is 12.
    assert!(context.unify_dims(&six, &Dim::Literal(5)).is_err());
    assert_eq!(context.unify_dims(&six, &Dim::Literal(12)).map(|_| ()), Ok(()));
    assert_eq!(context.resolve(&batch()), Dim::Literal(2));
    Ok(())
}

#[test]
fn vectors() -> Result<(), ShapeError> {
    let x = TypedTensor::from_data(&[DimSpec::named("n", 3)], &[1.0, 2.0, 6.0])?;
    let (sum, kept, mean) = (x.sum(0, false)?, x.sum(0, true)?, x.mean(0, false)?);
    assert_eq!((sum.shape().to_string(), sum.to_f64s()), ("[]".into(), vec![9.0]));
    assert_eq!((kept.shape().to_string(), kept.to_f64s()), ("[1]".into(), vec![9.0]));
    assert_eq!(mean.to_f64s(), [3.0]);
    assert_eq!(x.transpose(0, 0)?.to_f64s(), x.to_f64s());
    Ok(())
}

/// An unknown dimension has no greatest size, so its memory fits nowhere.
#[test]
fn memory_of_what_is_to_be_inferred() {
    use broadloom::typed::TrainingMemory;
    let unknown = TensorShape::new([Context::new().fresh_var(), Dim::Literal(8)]);
    assert_eq!(unknown.elements_range(), (8, None));
    let memory = TrainingMemory::estimate(&[unknown], &[], 4);
    assert_eq!((memory.min(), memory.max(), memory.fits(u64::MAX)), (4 * 8 * 4, None, false));
}
