//! The optimiser on the programs it is meant for: before and after, as text.

use crate::support;

use broadloom_loops::optimise::{PassOptions, optimise, optimise_with_report};
use expect_test::expect;
use support::check;
use support::parse::parse;
use support::random::{descending, sample};

#[test]
fn pointwise_chain_with_bias_and_relu() {
    check(
        "
        kept x: f64[4, 5]
        kept bias: f64[5]
        kept y: f64[4, 5]
        local a: f64[4, 5]
        local b: f64[4, 5]

        # a = x * 2
        for i in 0..4
          for j in 0..5
            a[i, j] = x[i, j] * 2

        # b = a + bias
        for i in 0..4
          for j in 0..5
            b[i, j] = a[i, j] + bias[j]

        # y = relu b
        for i in 0..4
          for j in 0..5
            y[i, j] = max(b[i, j], 0)
        ",
        expect![[r#"
            # y = relu b
            parallel for i in 0..4
              for j in 0..5
                y[i, j] = max((x[i, j] * 2) + bias[j], 0)
        "#]],
    );
}

const SOFTMAX: &str = "
    kept x: f64[4, 5]
    kept y: f64[4, 5]
    local m: f64[4]
    local e: f64[4, 5]
    local s: f64[4]

    # m = -inf
    m = -inf everywhere

    # m = max x
    for i in 0..4
      for j in 0..5
        m[i] max= x[i, j]

    # e = exp (x - m)
    for i in 0..4
      for j in 0..5
        e[i, j] = exp(x[i, j] - m[i])

    # s = 0
    s = 0 everywhere

    # s = sum e
    for i in 0..4
      for j in 0..5
        s[i] += e[i, j]

    # y = e / s
    for i in 0..4
      for j in 0..5
        y[i, j] = e[i, j] / s[i]
    ";

#[test]
fn softmax() {
    check(
        SOFTMAX,
        expect![[r#"
        # m = max x; e = exp (x - m); s = sum e; y = e / s
        parallel for i in 0..4
          let t0 = -inf
          let t1 = 0
          for j in 0..5
            t0 max= x[i, j]
          for j in 0..5
            let t2 = exp(x[i, j] - t0)
            e[i, j] = t2
            t1 += t2
          for j in 0..5
            y[i, j] = e[i, j] / t1
    "#]],
    );
}

#[test]
fn layer_norm() {
    check(
        "
        kept x: f64[4, 8]
        kept scale: f64[8]
        kept y: f64[4, 8]
        local total: f64[4]
        local mean: f64[4]
        local centred: f64[4, 8]
        local square: f64[4, 8]
        local variance: f64[4]
        local deviation: f64[4]
        local normal: f64[4, 8]

        total = 0 everywhere

        # total = sum x
        for i in 0..4
          for j in 0..8
            total[i] += x[i, j]

        # mean = total / 8
        for i in 0..4
          mean[i] = total[i] / 8

        # centred = x - mean
        for i in 0..4
          for j in 0..8
            centred[i, j] = x[i, j] - mean[i]

        # square = centred ** 2
        for i in 0..4
          for j in 0..8
            square[i, j] = centred[i, j] ** 2

        variance = 0 everywhere

        # variance = sum square
        for i in 0..4
          for j in 0..8
            variance[i] += square[i, j]

        # deviation = sqrt (variance / 8 + 0.00001)
        for i in 0..4
          deviation[i] = ((variance[i] / 8) + 0.00001) ** 0.5

        # normal = centred / deviation
        for i in 0..4
          for j in 0..8
            normal[i, j] = centred[i, j] / deviation[i]

        # y = normal * scale
        for i in 0..4
          for j in 0..8
            y[i, j] = normal[i, j] * scale[j]
        ",
        expect![[r#"
            # total = sum x; variance = sum square; deviation = sqrt (variance / 8 + 0.00001); y = normal * scale
            parallel for i in 0..4
              let t0 = 0
              let t1 = 0
              for j in 0..8
                t1 += x[i, j]
              for j in 0..8
                let t2 = x[i, j] - (t1 * 0.125)
                t0 += t2 * t2
              let t3 = sqrt((t0 * 0.125) + 0.00001)
              for j in 0..8
                y[i, j] = ((x[i, j] - (t1 * 0.125)) / t3) * scale[j]
        "#]],
    );
}

#[test]
fn a_gradient_from_two_uses() {
    // y = tanh x + x * x, with the gradient of y given.
    check(
        "
        kept x: f64[6]
        kept dy: f64[6]
        kept out: f64[6]
        local th: f64[6]
        local dth: f64[6]
        local sq: f64[6]
        local dsq: f64[6]
        local dx: f64[6]

        # th = tanh x
        for i in 0..6
          th[i] = tanh(x[i])

        dx = 0 everywhere

        dth = 0 everywhere

        # dth += dy
        for i in 0..6
          dth[i] += dy[i]

        dsq = 0 everywhere

        # dsq += dy
        for i in 0..6
          dsq[i] += dy[i]

        # dx += 2 x dsq
        for i in 0..6
          dx[i] += dsq[i] * (2 * x[i])

        # dx += (1 - th^2) dth
        for i in 0..6
          dx[i] += dth[i] * (1 - (th[i] ** 2))

        # out = dx
        for i in 0..6
          out[i] = dx[i]
        ",
        expect![[r#"
            # th = tanh x; dx += 2 x dsq; dx += (1 - th^2) dth; out = dx
            parallel for i in 0..6
              let t0 = dy[i] * (2 * x[i])
              let t1 = tanh(x[i])
              t0 += dy[i] * (1 - (t1 * t1))
              out[i] = t0
        "#]],
    );
}

#[test]
fn a_scatter_keeps_its_fill() {
    // The gradient of the input of a convolution: every cell comes from several places.
    check(
        "
        kept dy: f64[2, 4, 3]
        kept w: f64[3, 2, 3]
        kept dx: f64[2, 1+4+1, 2], margins 0

        dx = 0 everywhere

        # dx += dy * w
        for b in 0..2
          for i in 0..4
            for k in 0..3
              for c in 0..2
                for o in 0..3
                  dx[b, i + k - 1, c] += dy[b, i, o] * w[k, c, o]
        ",
        expect![[r#"
            # 
            dx = 0 everywhere

            # dx += dy * w
            parallel for b in 0..2
              for i in 0..4
                for k in 0..3
                  for c in 0..2
                    let t0 = 0
                    for o in 0..3
                      t0 += dy[b, i, o] * w[k, c, o]
                    dx[b, i + k - 1, c] += t0
        "#]],
    );
}

#[test]
fn an_update_in_place() {
    // Stochastic gradient descent with momentum and weight decay.
    check(
        "
        kept w: f64[3, 4]
        kept v: f64[3, 4]
        kept g: f64[3, 4]
        local decay: f64[3, 4]
        local d: f64[3, 4]
        local step: f64[3, 4]

        # decay = w * 0.01
        for i in 0..3
          for j in 0..4
            decay[i, j] = w[i, j] * 0.01

        # d = g + decay
        for i in 0..3
          for j in 0..4
            d[i, j] = g[i, j] + decay[i, j]

        # v = v * 0.9 + d
        for i in 0..3
          for j in 0..4
            v[i, j] = (v[i, j] * 0.9) + d[i, j]

        # step = v * 0.1
        for i in 0..3
          for j in 0..4
            step[i, j] = v[i, j] * 0.1

        # w -= step
        for i in 0..3
          for j in 0..4
            w[i, j] -= step[i, j]
        ",
        expect![[r#"
            # v = v * 0.9 + d; w -= step
            parallel for i in 0..3
              for j in 0..4
                let t0 = (v[i, j] * 0.9) + (g[i, j] + (w[i, j] * 0.01))
                v[i, j] = t0
                w[i, j] -= t0 * 0.1
        "#]],
    );
}

/// A step of plain descent: the gradient of `w` is not stored, though `w` is read before it changes.
#[test]
fn a_gradient_is_added_up_in_its_parameter() {
    check(
        "
        kept x: f64[3, 4]
        kept dy: f64[3, 2]
        kept w: f64[2, 4]
        kept dx: f64[3, 4]
        kept rate: f64[]
        local g: f64[2, 4]

        g = 0 everywhere

        # gradient of w
        for i in 0..3
          for j in 0..2
            for k in 0..4
              g[j, k] += dy[i, j] * x[i, k]

        dx = 0 everywhere

        # gradient of x
        for i in 0..3
          for j in 0..2
            for k in 0..4
              dx[i, k] += dy[i, j] * w[j, k]

        # step
        for j in 0..2
          for k in 0..4
            w[j, k] -= rate * g[j, k]
        ",
        expect![[r#"
            # gradient of x
            parallel for i in 0..3
              for k in 0..4
                let t0 = 0
                for j in 0..2
                  t0 += dy[i, j] * w[j, k]
                dx[i, k] = t0

            # gradient of w; step
            parallel for j in 0..2
              for k in 0..4
                let t0 = 0
                for i in 0..3
                  t0 += dy[i, j] * x[i, k]
                w[j, k] -= rate * t0
        "#]],
    );
}

/// A gradient that is read twice, or whose factors change before it is added, is stored.
#[test]
fn a_sum_that_others_need_is_stored() {
    check(
        "
        kept x: f64[3, 4]
        kept dy: f64[3, 2]
        kept w: f64[2, 4]
        kept v: f64[2, 4]
        local g: f64[2, 4]
        local h: f64[2, 4]

        g = 0 everywhere

        # twice
        for i in 0..3
          for j in 0..2
            for k in 0..4
              g[j, k] += dy[i, j] * x[i, k]

        h = 0 everywhere

        # before x changes
        for i in 0..3
          for j in 0..2
            for k in 0..4
              h[j, k] += dy[i, j] * x[i, k] * 2

        # x
        for i in 0..3
          for k in 0..4
            x[i, k] = x[i, k] + 1

        # w
        for j in 0..2
          for k in 0..4
            w[j, k] -= g[j, k]

        # v
        for j in 0..2
          for k in 0..4
            v[j, k] -= h[j, k]

        # v again
        for j in 0..2
          for k in 0..4
            v[j, k] -= g[j, k] * w[j, k]
        ",
        expect![[r#"
            # twice
            parallel for j in 0..2
              for k in 0..4
                let t0 = 0
                for i in 0..3
                  t0 += dy[i, j] * x[i, k]
                g[j, k] = t0

            # before x changes
            parallel for j in 0..2
              for k in 0..4
                let t0 = 0
                for i in 0..3
                  t0 += dy[i, j] * x[i, k]
                h[j, k] = t0 * 2

            # x
            parallel for i in 0..3
              for k in 0..4
                x[i, k] = x[i, k] + 1

            # w; v; v again
            parallel for j in 0..2
              for k in 0..4
                v[j, k] -= h[j, k]
                w[j, k] -= g[j, k]
                v[j, k] -= g[j, k] * w[j, k]
        "#]],
    );
}

#[test]
fn a_matrix_product_stays_clean() {
    // A scaled transpose goes into it, an activation does not; the rest becomes one loop.
    check(
        "
        kept x: f64[4, 3]
        kept w: f64[5, 3]
        kept bias: f64[5]
        kept y: f64[4, 5]
        local a: f64[4, 3]
        local wt: f64[3, 5]
        local p: f64[4, 5]
        local q: f64[4, 5]

        # a = relu x
        for i in 0..4
          for k in 0..3
            a[i, k] = max(x[i, k], 0)

        # wt = w' / 2
        for k in 0..3
          for j in 0..5
            wt[k, j] = w[j, k] / 2

        p = 0 everywhere

        # p = a * wt
        for i in 0..4
          for j in 0..5
            for k in 0..3
              p[i, j] += a[i, k] * wt[k, j]

        # q = p + bias
        for i in 0..4
          for j in 0..5
            q[i, j] = p[i, j] + bias[j]

        # y = sigmoid q
        for i in 0..4
          for j in 0..5
            y[i, j] = sigmoid(q[i, j])
        ",
        expect![[r#"
            # a = relu x
            parallel for i in 0..4
              for k in 0..3
                a[i, k] = max(x[i, k], 0)

            # p = a * wt
            parallel for i in 0..4
              for j in 0..5
                let t0 = 0
                for k in 0..3
                  t0 += a[i, k] * w[j, k]
                p[i, j] = t0 * 0.5

            # y = sigmoid q
            parallel for i in 0..4
              for j in 0..5
                y[i, j] = sigmoid(p[i, j] + bias[j])
        "#]],
    );
}

#[test]
fn max_pool_and_its_gradient() {
    check(
        "
        kept x: f32[2, 6]
        kept dm: f32[2, 3]
        kept dx: f32[2, 6]
        kept out: f32[2, 3]
        local r: f32[2, 6]
        local m: f32[2, 3]
        local dr: f32[2, 6]

        # r = exp x
        for b in 0..2
          for i in 0..6
            r[b, i] = exp(x[b, i])

        m = -inf everywhere

        # m = max r
        for b in 0..2
          for i in 0..3
            for k in 0..2
              m[b, i] max= r[b, 2*i + k]

        # out = m * 2
        for b in 0..2
          for i in 0..3
            out[b, i] = m[b, i] * 2

        dr = 0 everywhere

        # dr += dm where r == m
        for b in 0..2
          for i in 0..3
            for k in 0..2
              dr[b, 2*i + k] += where(r[b, 2*i + k] == m[b, i], dm[b, i], 0)

        # dx = dr * r
        for b in 0..2
          for i in 0..6
            dx[b, i] = dr[b, i] * r[b, i]
        ",
        expect![[r#"
            # r = exp x; m = max r; out = m * 2; dr += dm where r == m; dx = dr * r
            parallel for b in 0..2
              for i in 0..6
                r[b, i] = exp(x[b, i])
              for i in 0..3
                let t0 = -inf
                for k in 0..2
                  t0 max= r[b, 2*i + k]
                out[b, i] = t0 * 2
                for k in 0..2
                  dr[b, 2*i + k] = where(r[b, 2*i + k] == t0, dm[b, i], 0)
              for i in 0..6
                dx[b, i] = dr[b, i] * r[b, i]
        "#]],
    );
}

#[test]
fn an_embedding() {
    check(
        "
        kept table: f64[5, 3]
        kept index: i64[4]
        kept dout: f64[4, 3]
        kept out: f64[4, 3]
        local index2: i64[4]
        local rows: f64[4, 3]
        local dtable: f64[5, 3]

        # index2 = max(index, 0)
        for i in 0..4
          index2[i] = max(index[i], 0)

        # check
        for i in 0..4
          check index2[i] < 5, an index of table

        # rows = table[index2]
        for i in 0..4
          for j in 0..3
            rows[i, j] = table[index2[i], j]

        # out = rows * 2
        for i in 0..4
          for j in 0..3
            out[i, j] = rows[i, j] * 2

        dtable = 0 everywhere

        # dtable[index2] += dout
        for i in 0..4
          for j in 0..3
            dtable[index2[i], j] += dout[i, j]

        # table -= dtable
        for i in 0..5
          for j in 0..3
            table[i, j] -= dtable[i, j]
        ",
        expect![[r#"
            # index2 = max(index, 0)
            parallel for i in 0..4
              index2[i] = max(index[i], 0)

            # check
            for i in 0..4
              check index2[i] < 5, an index of table

            # out = rows * 2
            parallel for i in 0..4
              for j in 0..3
                out[i, j] = table[index2[i], j] * 2

            # 
            dtable = 0 everywhere

            # dtable[index2] += dout
            for i in 0..4
              for j in 0..3
                dtable[index2[i], j] += dout[i, j]

            # table -= dtable
            parallel for i in 0..5
              for j in 0..3
                table[i, j] -= dtable[i, j]
        "#]],
    );
}

#[test]
fn constants_and_seeds() {
    check(
        "
        kept x: f64[3, 1]
        kept g: f64[3, 1]
        local seed: f64[]
        local dl: f64[3, 1]

        seed = 1 everywhere

        dl = 0 everywhere

        # dl += seed / 3
        for i in 0..3
          for j in 0..1
            dl[i, j] += (seed * 0.5) + 0

        # g = dl * 2 x
        for i in 0..3
          for j in 0..1
            g[i, j] = dl[i, j] * ((2 * x[i, j]) ** 1)
        ",
        expect![[r#"
            # g = dl * 2 x
            parallel for i in 0..3
              g[i, 0] = 0.5 * (2 * x[i, 0])
        "#]],
    );
}

#[test]
fn equal_nests_are_computed_once() {
    check(
        "
        kept x: f64[3, 4]
        kept y: f64[3, 4]
        kept z: f64[4, 3]
        local a: f64[3, 4]
        local b: f64[3, 4]

        for i in 0..3
          for j in 0..4
            a[i, j] = exp(x[i, j])

        for k in 0..3
          for l in 0..4
            b[k, l] = exp(x[k, l])

        for i in 0..3
          for j in 0..4
            y[i, j] = a[i, j] * b[i, j]

        for i in 0..4
          for j in 0..3
            z[i, j] = a[j, i] / (1 + b[j, i])
        ",
        expect![[r#"
            # 
            parallel for i in 0..3
              for j in 0..4
                let t0 = exp(x[i, j])
                a[i, j] = t0
                y[i, j] = t0 * t0

            # 
            parallel for i in 0..4
              for j in 0..3
                z[i, j] = a[j, i] / (1 + a[j, i])
        "#]],
    );
}

#[test]
fn the_text_of_a_program_is_read_back() {
    for program in [parse(SOFTMAX), optimise(&parse(SOFTMAX), &PassOptions::all())] {
        assert_eq!(parse(&program.to_string()).to_string(), program.to_string());
    }
}

/// Over many random programs, every pass finds something to change.
#[test]
fn every_pass_has_work() {
    let mut work: Vec<(&str, usize)> = Vec::new();
    let drawn =
        (0..1000).map(|seed| (seed, sample(seed))).chain((0..100).map(|seed| (seed, descending(seed))));
    for (seed, sample) in drawn {
        let (_, report) = optimise_with_report(&sample.program, &PassOptions::all());
        assert!(!report.passes.is_empty(), "seed {seed} is not well-formed");
        for (name, changes) in report.passes {
            match work.iter_mut().find(|(known, _)| *known == name) {
                Some((_, total)) => *total += changes,
                None => work.push((name, changes)),
            }
        }
    }
    assert!(work.iter().all(|(_, changes)| *changes > 10), "{work:?}");
}

/// Time grows linearly with the program: each of many layers costs the same.
#[test]
fn long_programs() {
    let mut text = String::from("kept x0: f64[8, 8]\n");
    let layers = 3000;
    (1..=layers).for_each(|at| text.push_str(&format!("local x{at}: f64[8, 8]\nlocal s{at}: f64[8]\n")));
    text.push_str("kept y: f64[8, 8]\n\n");
    for at in 1..=layers {
        let before = at - 1;
        text.push_str(&format!("s{at} = 0 everywhere\n\n"));
        text.push_str(&format!("for i in 0..8\n  for j in 0..8\n    s{at}[i] += x{before}[i, j]\n\n"));
        text.push_str(&format!(
            "for i in 0..8\n  for j in 0..8\n    x{at}[i, j] = tanh(x{before}[i, j] - s{at}[j])\n\n"
        ));
    }
    text.push_str(&format!("for i in 0..8\n  for j in 0..8\n    y[i, j] = x{layers}[i, j]\n"));
    let program = parse(&text);
    let optimised = optimise(&program, &PassOptions::all());
    assert!(optimised.nests.len() < program.nests.len());
}
