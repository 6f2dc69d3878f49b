//! Functions of numbers.

use super::golden::{check, compiled, run};

#[test]
fn activations() {
    for name in ["relu", "sigmoid", "tanh", "silu", "gelu"] {
        let text = format!("data x : ... | _ = load(\"CASE\", \"x\")\nlet y = {name}(x)");
        check(name, &text, &[("x", "x")]);
    }
    for name in ["softmax", "log_softmax"] {
        let text = format!("data x : ... | _ = load(\"CASE\", \"x\")\nlet y = {name}(\"... | v\")(x)");
        check(name, &text, &[("x", "x")]);
    }
}

/// Functions without golden values, with results computed by hand.
#[test]
fn small_functions() {
    let text = "
data x : 4 = [-2, -0.5, 0, 3]
print softplus(x)
print leaky_relu(0.1)(x)
print elu(x)
print huber()(x, 0)
data t : 4 = [0, 1, 0, 1]
print binary_cross_entropy(x, t)
print mse(x, t), mae(x, t)
data logits : 3 | 4 = [[1, 5, 2, 5], [0, 0, 0, 1], [9, 1, 1, 1]]
data targets : 3 | = [1, 2, 0]
print argmax(logits)
print accuracy(logits, targets)
print one_hot(targets) * logits
print inference(dropout(0.9))(x)
print warmup(10)(1), warmup(10)(99), cosine(10)(0), cosine(10)(10)
";
    let (_, printed) = run(compiled(text), Vec::new());
    let wanted = [
        "[0.126928 0.474077 0.693147  3.04859]",
        "[ -0.2 -0.05     0     3]",
        "[-0.864665 -0.393469         0         3]",
        "[  1.5 0.125     0   2.5]",
        "[ 0.126928  0.974077  0.693147 0.0485874]",
        "2.5625 1.375",
        "[1 3 0]",
        "0.666667",
        "[[0 5 0 0]\n [0 0 0 0]\n [9 0 0 0]]",
        "[  -2 -0.5    0    3]",
        "0.2 1 1 0",
    ];
    assert_eq!(printed, wanted);
}
