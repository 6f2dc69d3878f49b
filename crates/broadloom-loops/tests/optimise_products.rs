//! Sums of products in steps: what is planned, and that it computes the same.

use crate::support;

use broadloom_loops::optimise::{PassOptions, optimise};
use broadloom_loops::{Program, Statement};
use broadloom_testing::Dice;
use expect_test::expect;
use support::parse::parse;
use support::{Sample, check, difference, kept, run};

fn products() -> PassOptions {
    PassOptions { products: true, ..PassOptions::none() }
}

/// The number of factors that are read, in all iterations together.
fn reads(program: &Program) -> u64 {
    fn of(body: &[Statement]) -> u64 {
        let each = |statement: &Statement| match statement {
            Statement::Loop(each) => each.extent.get() * of(&each.body),
            other => {
                let mut loads = 0;
                if let Some(value) = other.value() {
                    value.each_load(&mut |_| loads += 1);
                }
                loads
            }
        };
        body.iter().map(each).sum()
    }
    program.nests.iter().map(|nest| of(&nest.body)).sum()
}

#[test]
fn a_chain_of_matrices() {
    // The thin end first.
    check(
        "
        kept a: f64[6, 7]
        kept b: f64[7, 8]
        kept c: f64[8, 1]
        kept d: f64[6, 1]

        d = 0 everywhere

        # d = a * b * c
        for i in 0..6
          for l in 0..1
            for j in 0..7
              for k in 0..8
                d[i, l] += a[i, j] * b[j, k] * c[k, l]
        ",
        expect![[r#"
            # d = a * b * c, in steps
            parallel for j in 0..7
              let t0 = 0
              for k in 0..8
                t0 += b[j, k] * c[k, 0]
              (b * c)[j] = t0

            # d = a * b * c
            parallel for i in 0..6
              let t0 = 0
              for j in 0..7
                t0 += a[i, j] * (b * c)[j]
              d[i, 0] = t0
        "#]],
    );
}

#[test]
fn a_factor_is_summed_alone() {
    // Nobody else has `j`.
    check(
        "
        kept a: f64[6, 7]
        kept b: f64[9]
        kept d: f64[6]

        d = 0 everywhere

        # d = a * b
        for i in 0..6
          for j in 0..7
            for k in 0..9
              d[i] += 0.5 * a[i, j] * b[k]
        ",
        expect![[r#"
            # d = a * b, in steps
            let t0 = 0
            for k in 0..9
              t0 += b[k]
            sum(b) = t0

            # d = a * b, in steps; d = a * b
            parallel for i in 0..6
              let t0 = 0
              for j in 0..7
                t0 += a[i, j]
              d[i] = (t0 * sum(b)) * 0.5
        "#]],
    );
}

#[test]
fn a_product_of_two_stays() {
    check(
        "
        kept a: f64[6, 7]
        kept b: f64[7, 8]
        kept d: f64[6, 8]

        d = 0 everywhere

        # d = a * b
        for i in 0..6
          for k in 0..8
            for j in 0..7
              d[i, k] += a[i, j] * b[j, k]
        ",
        expect![[r#"
            # d = a * b
            parallel for i in 0..6
              for k in 0..8
                let t0 = 0
                for j in 0..7
                  t0 += a[i, j] * b[j, k]
                d[i, k] = t0
        "#]],
    );
}

#[test]
fn pointwise_products_stay() {
    check(
        "
        kept a: f64[6]
        kept b: f64[6]
        kept c: f64[6]
        kept d: f64[]

        d = 0 everywhere

        # d = a * b * c
        for i in 0..6
          d += a[i] * b[i] * c[i]
        ",
        expect![[r#"
            # d = a * b * c
            let t0 = 0
            for i in 0..6
              t0 += (a[i] * b[i]) * c[i]
            d = t0
        "#]],
    );
}

fn cell(name: &str, index: &[String]) -> String {
    if index.is_empty() { name.into() } else { format!("{name}[{}]", index.join(", ")) }
}

/// A sum over a product of some factors with random loops. Some factors are windows.
fn random_product(seed: u64) -> Program {
    let mut random = Dice::from_state(seed);
    let loops = 2 + random.below(4);
    let extents: Vec<u64> = (0..loops).map(|_| 1 + random.below(6) as u64).collect();
    let name = |at: usize| ["i", "j", "k", "l", "m", "n"][at];
    let some = |random: &mut Dice| -> Vec<usize> { (0..loops).filter(|_| random.below(2) == 0).collect() };
    let (mut buffers, mut factors) = (String::new(), Vec::new());
    for at in 0..2 + random.below(9) {
        let own = some(&mut random);
        let window = own.len() > 1 && random.below(4) == 0;
        let (sizes, index): (Vec<u64>, Vec<String>) = match window {
            true => {
                let (a, b) = (own[0], own[1]);
                let first = (2 * extents[a] + extents[b] - 2, format!("2*{} + {}", name(a), name(b)));
                let rest = own[2..].iter().map(|at| (extents[*at], name(*at).to_string()));
                [first].into_iter().chain(rest).unzip()
            }
            false => own.iter().map(|at| (extents[*at], name(*at).to_string())).unzip(),
        };
        let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
        buffers.push_str(&format!("kept f{at}: f64[{}]\n", sizes.join(", ")));
        factors.push(cell(&format!("f{at}"), &index));
    }
    let result = some(&mut random);
    let sizes: Vec<String> = result.iter().map(|at| extents[*at].to_string()).collect();
    let index: Vec<String> = result.iter().map(|at| name(*at).to_string()).collect();
    let mut text = format!("{buffers}kept d: f64[{}]\n\n# all\n", sizes.join(", "));
    for (at, extent) in extents.iter().enumerate() {
        text.push_str(&format!("{}for {} in 0..{extent}\n", "  ".repeat(at), name(at)));
    }
    let sign = if random.below(4) == 0 { "-=" } else { "+=" };
    let value = factors.join(" * ");
    text.push_str(&format!("{}{} {sign} {value}\n", "  ".repeat(loops), cell("d", &index)));
    parse(&text)
}

/// A product that is computed in steps has the same value, and reads no more.
#[test]
fn random_products() {
    let mut planned = 0;
    for seed in 0..3000 {
        let program = random_product(seed);
        let mut random = Dice::from_state(seed);
        let values = |id| {
            let count = program.buffer(id).shape().iter().product::<u64>();
            (id, (0..count).map(|_| random.below(17) as f64 / 8.0 - 1.0).collect())
        };
        let inputs = kept(&program).map(values).collect();
        let sample = Sample { symbols: Vec::new(), inputs, tolerance: 1e-9, program };
        let expected = run(&sample.program, &sample).unwrap();
        let steps = optimise(&sample.program, &products());
        planned += u64::from(steps.nests.len() > 1);
        assert!(
            steps.nests.len() == 1 || reads(&steps) <= reads(&sample.program),
            "seed {seed}:\n{}\n===== in steps =====\n{steps}",
            sample.program
        );
        for optimised in [steps, optimise(&sample.program, &PassOptions::all())] {
            let found = run(&optimised, &sample).unwrap();
            if let Some(words) = difference(&optimised, &expected, &found, sample.tolerance) {
                panic!("seed {seed}: {words}\n{}\n===== in steps =====\n{optimised}", sample.program);
            }
        }
    }
    assert!((500..2900).contains(&planned), "{planned}");
}

/// The cheapest order is found: here against all orders in which three matrices can be multiplied.
#[test]
fn chains_in_their_best_order() {
    for seed in 0..200 {
        let mut random = Dice::from_state(seed);
        let n: Vec<u64> = (0..4).map(|_| 2 + random.below(30) as u64).collect();
        let text = format!(
            "kept a: f64[{0}, {1}]\nkept b: f64[{1}, {2}]\nkept c: f64[{2}, {3}]\nkept d: f64[{0}, {3}]\n\n# d\nfor i in 0..{0}\n  for j in 0..{1}\n    for k in 0..{2}\n      for l in 0..{3}\n        d[i, l] += a[i, j] * b[j, k] * c[k, l]\n",
            n[0], n[1], n[2], n[3]
        );
        let steps = optimise(&parse(&text), &products());
        let left = n[0] * n[1] * n[2] + n[0] * n[2] * n[3];
        let right = n[1] * n[2] * n[3] + n[0] * n[1] * n[3];
        assert_eq!(reads(&steps), 2 * left.min(right), "seed {seed}:\n{steps}");
    }
}
