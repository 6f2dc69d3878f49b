//! Three small models, trained from scratch: `training [moons|digits|grammar]`.

mod digits;
mod grammar;
mod moons;

use broadloom::{Error, Settings};

fn main() -> Result<(), Error> {
    let chosen = std::env::args().nth(1);
    let wanted = |name: &str| chosen.as_deref().is_none_or(|chosen| chosen == name);
    if wanted("moons") {
        println!("Two moons, a perceptron:");
        println!("right on new points: {:.1} %\n", 100.0 * moons::train(Settings::default())?);
    }
    if wanted("digits") {
        println!("Digits, a convolutional net:");
        println!("right on new pictures: {:.1} %\n", 100.0 * digits::train(Settings::default())?);
    }
    if wanted("grammar") {
        println!("A small language, a transformer:");
        let (loss, entropy) = grammar::train(Settings::default())?;
        println!(
            "loss on new texts: {loss:.4}, entropy {entropy:.4}, {:+.1} %",
            100.0 * (loss / entropy - 1.0)
        );
    }
    Ok(())
}
