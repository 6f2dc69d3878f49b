//! Bodies of several statements that must not be merged, forwarded or run in parallel.

use crate::support;

use expect_test::expect;
use support::check;

#[test]
fn loops_are_not_merged_across_a_local() {
    // The second loop over `j` needs all of `t0`.
    check(
        "
        kept x: f64[3, 4]
        kept y: f64[3, 4]
        kept z: f64[3, 4]

        for i in 0..3
          let t0 = 0
          for j in 0..4
            t0 += x[i, j]
          for j in 0..4
            y[i, j] = x[i, j] - t0

        for i in 0..3
          for j in 0..4
            z[i, j] = y[i, j] * x[i, j]
        ",
        expect![[r#"
            # 
            parallel for i in 0..3
              let t0 = 0
              for j in 0..4
                t0 += x[i, j]
              for j in 0..4
                let t1 = x[i, j] - t0
                y[i, j] = t1
                z[i, j] = t1 * x[i, j]
        "#]],
    );
}

#[test]
fn a_value_is_not_forwarded_to_an_index_that_changed() {
    check(
        "
        kept a: f64[5]
        kept x: f64[2]
        kept y: f64[2]
        local k: i64[2]

        for i in 0..2
          k[i] = i

        for i in 0..2
          a[k[i]] = x[i]
          k[i] = i + 2
          y[i] = a[k[i]]
        ",
        expect![[r#"
            # 
            parallel for i in 0..2
              k[i] = i

            # 
            for i in 0..2
              a[k[i]] = x[i]
              k[i] = i + 2
              y[i] = a[k[i]]
        "#]],
    );
}

#[test]
fn a_local_that_changes_is_held_as_it_was() {
    check(
        "
        kept x: f64[4]
        kept y: f64[4]
        kept b: f64[4]

        for i in 0..4
          let t0 = x[i]
          b[i] = t0
          t0 += 1
          y[i] = b[i] * t0
        ",
        expect![[r#"
            # 
            parallel for i in 0..4
              let t0 = x[i]
              let t1 = t0
              b[i] = t1
              t0 += 1
              y[i] = t1 * t0
        "#]],
    );
}

#[test]
fn a_loop_that_sets_a_local_from_outside_is_not_parallel() {
    check(
        "
        kept x: f64[4]
        kept y: f64[]

        let t0 = 0
        for i in 0..4
          t0 = max(x[i], t0 * 2)
        y = t0
        ",
        expect![[r#"
            # 
            let t0 = 0
            for i in 0..4
              t0 = max(x[i], t0 * 2)
            y = t0
        "#]],
    );
}

#[test]
fn stores_that_are_accumulated_into_are_carried_out_once() {
    check(
        "
        kept x: f64[4]
        kept g: f64[4]

        g = 0 everywhere

        for i in 0..4
          g[i] += tanh(x[i])

        for i in 0..4
          g[i] += x[i] * x[i]
        ",
        expect![[r#"
            # 
            parallel for i in 0..4
              let t0 = tanh(x[i])
              g[i] = t0 + (x[i] * x[i])
        "#]],
    );
}

#[test]
fn common_parts_are_computed_once_but_not_across_a_write() {
    check(
        "
        kept x: f64[4]
        kept y: f64[4]
        kept z: f64[4]
        kept w: f64[4]

        for i in 0..4
          y[i] = exp(x[i] * 2) + 1
          z[i] = exp(x[i] * 2) - 1
          x[i] = y[i]
          w[i] = exp(x[i] * 2)
        ",
        expect![[r#"
            # 
            parallel for i in 0..4
              let t0 = exp(x[i] * 2)
              let t1 = t0 + 1
              y[i] = t1
              z[i] = t0 - 1
              x[i] = t1
              w[i] = exp(t1 * 2)
        "#]],
    );
}
