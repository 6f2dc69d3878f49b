//! Operations of one's own.

use super::*;

fn softsign() -> Operation {
    let operation = Operation::new("softsign", 1).forward("v = v1 / (1 + abs(v1))");
    operation
        .and_then(|made| made.gradient("g1 =+ g / ((1 + abs(v1)) * (1 + abs(v1)))"))
        .expect("well written")
}

fn distance() -> Operation {
    let operation = Operation::new("distance", 2).forward("v =:+ (v1 - v2) * (v1 - v2)");
    let gradient = "g1 =+ 2 * g * (v1 - v2); g2 =- 2 * g * (v1 - v2)";
    operation.and_then(|made| made.gradient(gradient)).expect("well written")
}

/// The greatest, with a tensor of its own: where it is.
fn greatest() -> Operation {
    let operation = Operation::new("greatest", 1).forward("v =:max v1");
    operation
        .and_then(|made| made.gradient("ties_rhs1 = v1 == v; g1 =+ ties_rhs1 * g"))
        .expect("well written")
}

/// The greatest, whose gradient is divided among all that share it.
fn shared_out() -> Operation {
    let operation = Operation::new("shared_out", 1).forward("v =:max v1");
    let gradient = "ties =:+ v1 == v; g1 =+ where(v1 == v, g / ties, 0)";
    operation.and_then(|made| made.gradient(gradient)).expect("well written")
}

#[test]
fn divided_among_ties() -> Result<(), Error> {
    exactly(
        ["2, 3"],
        |m, [a]| m.apply_by(&shared_out(), "i j => i", &[a - a.stop_gradient()]),
        |_, weights| vec![weights.iter().flat_map(|weight| [weight / 3.0; 3]).collect()],
    )?;
    exactly(
        ["4"],
        |m, [a]| m.apply_by(&shared_out(), "2*o<+k => o", &[a - a.stop_gradient()]).set_size("k", 2),
        |_, weights| vec![weights.iter().flat_map(|weight| [weight / 2.0; 2]).collect()],
    )
}

/// A product, with tensors of its own like each operand and like the result.
fn shared() -> Operation {
    let operation = Operation::new("shared", 2).forward("twice_rhs2 = 2 * v2; v =:+ v1 * twice_rhs2");
    let gradient = "doubled = 2 * g; half_rhs1 = v1 / 2; g1 =+ doubled * v2; g2 =+ 2 * doubled * half_rhs1";
    operation.and_then(|made| made.gradient(gradient)).expect("well written")
}

cases! {
    softsigns ["2 | 5"] |m, [a]| m.builder.apply(&softsign(), &[a]);
    softsigns_of_sums ["4", "2 | 4"] |m, [a, b]| m.builder.apply(&softsign(), &[a + b]);
    softsigns_at_a_stride ["6"] |m, [a]| m.apply_by(&softsign(), "2*i+1 => i", &[a]);
    distances ["3, 2", "4, 2"] |m, [a, b]| m.apply_by(&distance(), "i k; j k => i j", &[a, b]);
    distances_of_windows ["6", "3"] |m, [a, b]| m.apply_by(&distance(), "o<+k; k => o", &[a, b]);
    distances_to_itself ["3, 2"] |m, [a]| m.apply_by(&distance(), "i k; j k => i j", &[a, a]);
    greatest_by_a_spec ["3, 4"] |m, [a]| m.apply_by(&greatest(), "i j => i", &[a]);
    greatest_shared_out ["3, 4"] |m, [a]| m.apply_by(&shared_out(), "i j => i", &[a.exp()]);
    greatest_shared_out_of_windows ["7"] |m, [a]| m.apply_by(&shared_out(), "2*o<+k => o", &[a]).set_size("k", 3);
    greatest_of_windows ["8"] |m, [a]| m.apply_by(&greatest(), "2*o<+k => o", &[a]).set_size("k", 2);
    tensors_of_its_own ["3, 4", "4, 2"] |m, [a, b]| m.apply_by(&shared(), "i j; j k => i k", &[a, b]);
    tensors_of_its_own_pointwise ["3, 4", "4"] |m, [a, b]| m.builder.apply(&shared(), &[a, b]);
}
