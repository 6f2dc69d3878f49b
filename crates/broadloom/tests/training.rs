//! Three models train to a required quality.

#[path = "../examples/training/digits.rs"]
mod digits;
#[path = "../examples/training/grammar.rs"]
mod grammar;
#[path = "../examples/training/moons.rs"]
mod moons;

use broadloom::Settings;

#[test]
fn a_perceptron_tells_moons_apart() {
    let accuracy = moons::train(Settings::default()).expect("it trains");
    assert!(accuracy > 0.97, "{accuracy}");
    // The same seed gives the same result.
    assert_eq!(moons::train(Settings::default()).expect("it trains"), accuracy);
}

#[test]
fn a_convolutional_net_reads_digits() {
    let accuracy = digits::train(Settings::default()).expect("it trains");
    assert!(accuracy > 0.95, "{accuracy}");
}

#[test]
fn a_transformer_learns_a_language() {
    let (loss, entropy) = grammar::train(Settings::default()).expect("it trains");
    assert!(loss < 1.05 * entropy, "{loss} for an entropy of {entropy}");
}
