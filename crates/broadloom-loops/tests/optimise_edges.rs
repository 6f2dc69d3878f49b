//! Margins, shifted stores and loops that never run: cases in which a rule nearly applies.

use crate::support;

use broadloom_loops::optimise::{PassOptions, optimise};
use expect_test::expect;
use support::parse::parse;
use support::{Sample, check, run};

#[test]
fn margins_are_filled_by_themselves() {
    // A sum that windows read beyond its ends: its cells are not filled first, its margins are.
    check(
        "
        kept x: f64[4, 3]
        kept y: f64[4]
        local s: f64[1+4+1], margins 1

        # s = sum x
        s = 0 everywhere
        s = 1 in its margins

        # s = sum x
        for i in 0..4
          for j in 0..3
            s[i] += x[i, j]

        y = 0 everywhere

        # y = windows of s
        for i in 0..4
          for k in 0..3
            y[i] += s[i + k - 1]
        ",
        expect![[r#"
            # s = sum x
            s = 1 in its margins

            # s = sum x
            parallel for i in 0..4
              let t0 = 0
              for j in 0..3
                t0 += x[i, j]
              s[i] = t0

            # y = windows of s
            parallel for i in 0..4
              let t0 = 0
              for k in 0..3
                t0 += s[i + k - 1]
              y[i] = t0
        "#]],
    );
}

#[test]
fn a_constant_with_other_margins_is_not_constant() {
    check(
        "
        kept y: f64[3]
        local b: f64[1+3+1], margins 1

        b = 0 everywhere

        b = 1 in its margins

        for i in 0..3
          y[i] = b[i - 1] + b[i + 1]
        ",
        expect![[r#"
            # 
            b = 0 everywhere

            # 
            b = 1 in its margins

            # 
            parallel for i in 0..3
              y[i] = b[i - 1] + b[i + 1]
        "#]],
    );
}

#[test]
fn a_shifted_store_is_not_inlined_as_if_it_were_in_place() {
    check(
        "
        kept x: f64[3]
        kept y: f64[2]
        local b: f64[0+3+1], margins 0

        for i in 0..3
          b[i + 1] = exp(x[i])

        for i in 0..2
          y[i] = b[i + 1]
        ",
        expect![[r#"
            # 
            parallel for i in 0..3
              b[i + 1] = exp(x[i])

            # 
            parallel for i in 0..2
              y[i] = b[i + 1]
        "#]],
    );
}

#[test]
fn loops_that_never_run() {
    // A sum over nothing is 0, a maximum over nothing keeps the old value, and `or` does not touch
    // its cell.
    check(
        "
        kept empty: f64[3, 0]
        kept sum: f64[3]
        kept most: f64[3]
        kept any: f64[3]
        kept none: f64[0]
        local s: f64[3]

        s = 0 everywhere

        for i in 0..3
          for j in 0..0
            s[i] += empty[i, j]

        for i in 0..3
          sum[i] = s[i]

        for i in 0..3
          for j in 0..0
            most[i] max= empty[i, j]

        for i in 0..3
          for j in 0..0
            any[i] or= empty[i, j]

        for j in 0..0
          none[j] = sum[0] + j
        ",
        expect![[r#"
            # 
            parallel for i in 0..3
              sum[i] = 0
        "#]],
    );
    for name in ["first write", "inline", "fuse", "contract"] {
        let options = PassOptions {
            first_write: name == "first write",
            inline: name == "inline",
            fuse: name == "fuse",
            contract: name == "contract",
            ..PassOptions::none()
        };
        let program = parse(EMPTY);
        let sample = Sample { symbols: vec![], inputs: vec![], tolerance: 0.0, program };
        let expected = run(&sample.program, &sample).unwrap();
        let results = run(&optimise(&sample.program, &options), &sample).unwrap();
        assert_eq!(expected, results, "{name}");
    }
}

/// Fills and accumulations that never run.
const EMPTY: &str = "
    kept a: f64[1]
    kept b: f64[]
    kept c: f64[1]
    local d: f64[1]

    a = 5 everywhere

    for i in 0..0
      a[i] += 1

    b = 5 everywhere

    for i in 0..0
      b or= 1

    d = 3 everywhere

    for i in 0..0
      d[0] = 4

    for i in 0..1
      c[i] = d[i]
    ";
