//! Named sizes in programs (*Tensor Dimension Inference*): random programs agree with the same
//! programs at given sizes, memory is a range, and programs run at the samples.

use broadloom::{
    Array, Backend, Error, ErrorKind, Extent, Graph, Routine, Session, Settings, SizeSum, Tensor,
};
use broadloom_testing::Dice;

const NAMES: [&str; 3] = ["batch", "seq", "width"];

/// One line of a program: operands are indices into the list of tensors.
#[derive(Clone, Debug)]
enum Line {
    Data(String),
    Add(usize, usize),
    Half(usize),
    Layer(usize, u64),
    Spec(&'static str, Vec<usize>),
}

fn line(rng: &mut Dice, tensors: usize) -> Line {
    let size = |rng: &mut Dice| match rng.below(6) {
        0..4 => NAMES[rng.below(3)].to_string(),
        4 => "3".into(),
        _ => "4".into(),
    };
    if tensors < 2 || rng.below(4) == 0 {
        return Line::Data(match rng.below(3) {
            0 => size(rng),
            1 => format!("{} | {}", size(rng), size(rng)),
            _ => format!("{} | {}, {}", size(rng), size(rng), size(rng)),
        });
    }
    let mut any = || rng.below(tensors);
    let (a, b) = (any(), any());
    match rng.below(11) {
        0..3 => Line::Add(a, b),
        3 => Line::Half(a),
        4 => Line::Layer(a, 5),
        5 => Line::Spec("... | ..., i => ... | ..., 0", vec![a]),
        6 => Line::Spec("... | 2*i => ... | i", vec![a]),
        7 => Line::Spec("... | ..., a; ... | ..., b => ... | ..., a^b", vec![a, b]),
        8 => Line::Spec("... | ..., a => ... | ..., 2^a^1", vec![a]),
        9 => Line::Spec("b | i => i | b", vec![a]),
        _ => Line::Spec("... | 1^a => ... | a", vec![a]),
    }
}

/// Adds a line to a graph, with names or with sizes in their place.
fn say(
    g: &mut Graph,
    line: &Line,
    tensors: &[Tensor],
    sizes: Option<[u64; 3]>,
) -> Result<Tensor, broadloom::Error> {
    match line {
        Line::Data(shape) => {
            let mut shape = shape.clone();
            for (name, size) in NAMES.iter().zip(sizes.into_iter().flatten()) {
                shape = shape.replace(name, &size.to_string());
            }
            g.data("x", &shape)
        }
        Line::Add(a, b) => g.add(tensors[*a], tensors[*b]),
        Line::Half(a) => {
            let half = g.constant(0.5);
            g.mul(tensors[*a], half)
        }
        Line::Layer(a, width) => {
            let w = g.param_shaped("w", &format!("... -> {width}"))?;
            g.compose(w, tensors[*a])
        }
        Line::Spec(spec, operands) => {
            let operands: Vec<Tensor> = operands.iter().map(|at| tensors[*at]).collect();
            g.einsum(*spec, &operands)
        }
    }
}

#[test]
fn programs_agree_with_their_specialisations() {
    let mut rng = Dice::new(7);
    let (mut same, mut symbolic_axes, mut refusals, mut specialised_away) = (0, 0, 0, 0);
    'programs: for _ in 0..600 {
        let mut symbolic = Graph::new();
        for name in NAMES {
            symbolic.dim(name, 2.., None).expect("a new name");
        }
        let sizes = [[44, 52, 68], [76, 92, 20], [12, 40, 28]][rng.below(3)];
        let mut literal = Graph::new();
        let (mut named, mut plain): (Vec<Tensor>, Vec<Tensor>) = (Vec::new(), Vec::new());
        let mut program = Vec::new();
        for _ in 0..8 {
            let line = line(&mut rng, named.len());
            let found = say(&mut symbolic, &line, &named, None);
            let expected = say(&mut literal, &line, &plain, Some(sizes));
            program.push(line);
            // Sizes are as different as names are, so a program that is refused with names is
            // refused with sizes. A name that met a number is that number, and no longer the given
            // size.
            if let (Ok(_), Err(_)) = (&found, &expected) {
                let given: Vec<(&str, u64)> = NAMES.into_iter().zip(sizes).collect();
                assert!(symbolic.with_sizes(&given).is_err(), "{program:?}\n{expected:?}");
                specialised_away += 1;
                continue 'programs;
            }
            assert!(found.is_ok() || expected.is_err(), "{program:?}\n{found:?}");
            match found.and_then(|found| Ok((found, expected?))) {
                Ok((a, b)) => {
                    named.push(a);
                    plain.push(b);
                }
                Err(_) => refusals += 1,
            }
        }
        let given: Vec<(&str, u64)> = NAMES.into_iter().zip(sizes).collect();
        let specialised = symbolic.with_sizes(&given);
        let shapes = symbolic.final_shapes();
        let expected = literal.final_shapes();
        let (Ok(shapes), Ok(expected)) = (&shapes, &expected) else {
            // A bound that depends on an expression may be left open; a contradiction must be found
            // in both.
            assert!(
                expected.is_err() || shapes.as_ref().is_err_and(|error| error.kind() == ErrorKind::GaveUp),
                "{program:?}\n{shapes:?}"
            );
            continue;
        };
        let mut specialised = specialised.expect("the sizes fit");
        let special = specialised.final_shapes().expect("closes as the literal program does");
        for (a, b) in named.iter().zip(&plain) {
            let shape = shapes.get(*a);
            symbolic_axes += usize::from(shape.is_symbolic());
            let at = shape.at(&given).unwrap_or_else(|| panic!("{program:?}\n{shape} at {given:?}"));
            assert_eq!(at.to_string(), expected.get(*b).to_string(), "{program:?}\n{shape} at {given:?}");
            assert_eq!(special.get(*a).to_string(), at.to_string(), "{program:?}");
            let (least, most) = shape.elements_range();
            assert!(least <= at.elements() && most.is_none_or(|most| at.elements() <= most));
            same += 1;
        }
        let checks = symbolic.runtime_checks().expect("closes");
        assert!(checks.iter().all(|check| check.holds(&given) == Some(true)), "{program:?}\n{checks:?}");
    }
    let counts = [same, symbolic_axes, refusals, specialised_away];
    assert!(same > 500 && symbolic_axes > 300 && refusals > 100 && specialised_away > 10, "{counts:?}");
}

/// `[batch, 6] -> [batch, 3, 2]` is proved; the counts of other shapes are not equal for any batch.
#[test]
fn memory_is_a_range() {
    let mut g = Graph::new();
    g.dim("batch", 1..=64, 32).expect("a new name");
    g.dim("seq", .., None).expect("a new name");
    let x = g.data("x", "batch | 256").expect("a shape");
    let y = g.data("y", "batch | seq").expect("a shape");
    let (x, y) = (g.final_shape(x).expect("closes"), g.final_shape(y).expect("closes"));
    assert_eq!((x.elements_range(), x.elements()), ((256, Some(16_384)), 32 * 256));
    assert_eq!(y.elements_range(), (1, None));
    assert_eq!(y.at(&[("batch", 2), ("seq", 3)]).map(|shape| shape.elements()), Some(6));
    assert_eq!(y.at(&[("batch", 2)]), None);
    let Extent::Symbolic(batch) = x.batch()[0].extent() else { panic!("symbolic") };
    assert_eq!((batch.min(), batch.sample(), batch.max()), (1, Some(32), Some(64)));
}

#[test]
fn the_range_narrows_as_the_program_grows() {
    let mut g = Graph::new();
    g.dim("seq", 1..=512, None).expect("a new name");
    let (x, k) = (g.data("x", "seq").expect("a shape"), g.data("k", "5").expect("a shape"));
    g.einsum("2*o<+k; k => o", &[x, k]).expect("a window");
    assert_eq!(g.dim_range("seq"), Some((5, Some(511))));
    g.dim("seq", 8..=100, None).expect("the same name");
    assert_eq!(g.dim_range("seq"), Some((9, Some(99))));
    let error = g.dim("seq", 200.., None).expect_err("nothing is left");
    assert_eq!(error.kind(), ErrorKind::Range);
    assert_eq!(g.dim_range("seq"), Some((9, Some(99))), "a refused declaration leaves no trace");
    let error = g.with_sizes(&[("seq", 10)]).expect_err("an even size");
    assert!(error.to_string().contains("does not fit `2*o<+k`"), "{error}");
    assert!(g.with_sizes(&[("seq", 11)]).is_ok());
    assert_eq!(g.with_sizes(&[("sequence", 11)]).map(|_| ()).unwrap_err().kind(), ErrorKind::Use);
}

/// A function of one tensor has the axes of that tensor, so reading them narrows the range of a
/// name.
#[test]
fn a_slice_of_something_computed_narrows_a_range() {
    let mut g = Graph::new();
    g.dim("batch", 2.., None).expect("a new name");
    let x = g.data("x", "batch |").expect("a shape");
    let y = g.relu(x).expect("any shape");
    let third = g.slice(y, broadloom::SliceIndex::At(2)).expect("some sizes do");
    assert_eq!(g.final_shape(y).expect("closes").to_string(), "batch |");
    assert_eq!(g.final_shape(third).expect("closes").to_string(), "()");
    let checks: Vec<String> =
        g.runtime_checks().expect("closes").iter().map(|check| check.to_string()).collect();
    assert!(checks.is_empty(), "{checks:?}");
    assert_eq!(g.dim_range("batch"), Some((3, None)));
}

#[test]
fn what_runs_runs_at_given_sizes_or_at_those_of_its_data() {
    let mut g = Graph::new();
    g.dim("batch", 1..=64, 2).expect("a new name");
    let x = g.data("x", "batch | 3").expect("a shape");
    let sum = g.einsum("... | i => ... |", &[x]).expect("a sum");
    let settings = || Settings { backend: Backend::Reference, ..Settings::default() };
    let numbers = |rows: u64| {
        let numbers: Vec<f32> = (0..rows * 3).map(|n| n as f32).collect();
        Array::from_slice(&[rows, 3], &numbers).expect("fits")
    };
    let run = |g: Graph, rows: u64| {
        let mut session = Session::with(g, settings())?;
        session.set(x, &numbers(rows))?;
        let mut routine = Routine::new("sum");
        routine.forward(sum);
        session.run(&routine)?;
        session.get(sum).map(|array| array.to_f64s())
    };
    assert_eq!(run(g.clone(), 2).expect("runs"), [3.0, 12.0]);
    assert_eq!(run(g.with_sizes(&[("batch", 3)]).expect("in range"), 3).expect("runs"), [3.0, 12.0, 21.0]);
    assert!(run(g.with_sizes(&[("batch", 3)]).expect("in range"), 2).is_err(), "it is 3 now");
    assert_eq!(run(g.clone(), 4).expect("runs").len(), 4, "it follows the data");
    assert_eq!(run(g.clone(), 65).expect_err("out of range").kind(), ErrorKind::Range);
}

#[test]
fn looking_at_a_symbolic_program_changes_nothing() {
    let mut g = Graph::new();
    g.dim("batch", 1..=64, None).expect("a new name");
    let x = g.data("x", "batch | 3").expect("a shape");
    let twice = g.einsum("b | i; c | i => b^c | i", &[x, x]).expect("a concatenation");
    let before = (g.shape(twice).to_string(), g.stats().constraints);
    assert_eq!(before.0, "2*batch | 3");
    for _ in 0..2 {
        g.final_shapes().expect("closes");
        g.runtime_checks().expect("closes");
    }
    let _ = g.with_sizes(&[("batch", 4)]).expect("in range");
    assert_eq!((g.shape(twice).to_string(), g.stats().constraints), before);
    g.set_sizes(&[("batch", 4)]).expect("in range");
    assert_eq!(g.shape(twice).to_string(), "8 | 3");
}

/// Sizes that are set to expressions: their shapes, checks, and numbers.
#[test]
fn sizes_that_are_expressions() -> Result<(), Error> {
    type Make = fn(SizeSum, SizeSum) -> Option<SizeSum>;
    let cases: [(Make, &str, &[&str], u64); 9] = [
        (|batch, _| batch.times(&SizeSum::constant(2)), "2*batch", &[], 24),
        (|batch, _| batch.plus(&SizeSum::constant(1)), "batch + 1", &[], 13),
        (|batch, _| batch.minus(&SizeSum::constant(3)), "batch - 3", &[], 9),
        (|_, seq| seq.scaled(1, 8), "seq/8", &["`seq` is a multiple of 8"], 5),
        (|batch, seq| batch.plus(&seq), "batch + seq", &[], 52),
        (
            |batch, seq| batch.plus(&seq)?.scaled(1, 4),
            "(batch + seq)/4",
            &["`batch + seq` is at least 4", "`batch + seq` is a multiple of 4"],
            13,
        ),
        (|batch, seq| batch.times(&seq), "batch*seq", &[], 480),
        (
            |batch, seq| batch.times(&seq)?.plus(&batch)?.minus(&SizeSum::constant(1)),
            "batch*seq + batch - 1",
            &[],
            491,
        ),
        (
            |batch, seq| seq.times(&SizeSum::constant(3))?.minus(&batch),
            "3*seq - batch",
            &["`3*seq - batch` is at least 1"],
            108,
        ),
    ];
    for (make, shape, checks, size) in cases {
        let mut g = Graph::new();
        g.dim("batch", 1..=64, 12)?;
        g.dim("seq", 1..=512, 40)?;
        let [batch, seq] = [g.captured_dim("batch")?, g.captured_dim("seq")?].map(SizeSum::from);
        let Some(sum) = make(batch, seq) else { panic!("{shape} is an expression") };
        let x = g.data("x", "n | 3")?;
        let n = g.captured(x, "n")?;
        g.set_to(n, &sum)?;
        let y = g.relu(x)?;
        assert_eq!(g.final_shape(y)?.to_string(), format!("{shape} | 3"));
        let found: Vec<String> = g.runtime_checks()?.iter().map(ToString::to_string).collect();
        assert_eq!(found, checks, "{shape}");
        let settled = g.with_sizes(&[("batch", 12), ("seq", 40)])?.final_shape(y)?;
        assert_eq!(settled.to_string(), format!("{size} | 3"), "{shape}");
    }
    Ok(())
}
