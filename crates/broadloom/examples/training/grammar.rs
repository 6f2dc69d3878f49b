//! A transformer learns a small language whose entropy is known.
//!
//! A sentence is any number of adjectives, a noun in the singular or plural, any number of adverbs,
//! a verb that agrees with the noun, and a full stop. Predicting the verb requires looking back
//! over the adverbs.

use broadloom::blocks::{Mode, Positions, TransformerConfig, decoder_only, next_token_loss};
use broadloom::random::{key_of, uniform_f64};
use broadloom::{Adam, Array, Builder, Error, Routine, Session, Settings};

const BATCH: u64 = 32;
const LENGTH: u64 = 32;
/// Full stop, 3 adjectives, 4 nouns in the singular and 4 in the plural, 2 adverbs, 3 verbs for each.
const WORDS: u64 = 20;

/// The state of a sentence, which decides the possible next words.
#[derive(Clone, Copy)]
enum State {
    Start,
    Noun { plural: bool },
    Verb,
}

/// The words that may come next, each with its probability and the state after it.
fn choices(state: State) -> Vec<(u64, f64, State)> {
    let each = |words: std::ops::Range<u64>, all: f64, next: State| {
        let share = all / (words.end - words.start) as f64;
        words.map(move |word| (word, share, next)).collect::<Vec<_>>()
    };
    match state {
        State::Start => [
            each(1..4, 0.4, State::Start),
            each(4..8, 0.3, State::Noun { plural: false }),
            each(8..12, 0.3, State::Noun { plural: true }),
        ]
        .concat(),
        State::Noun { plural } => {
            let verbs = if plural { 17..20 } else { 14..17 };
            [each(12..14, 0.4, state), each(verbs, 0.6, State::Verb)].concat()
        }
        State::Verb => each(0..1, 1.0, State::Start),
    }
}

/// A batch of texts, and the mean surprise of their words, except the first, to a reader who knows
/// the language.
fn texts(name: &str, batch: u64) -> Result<(Array, f64), Error> {
    let key = key_of(batch, name);
    let (mut words, mut surprise) = (Vec::new(), 0.0);
    for text in 0..BATCH {
        let mut state = State::Start;
        for place in 0..LENGTH {
            let mut left = uniform_f64(key, text * LENGTH + place);
            let all = choices(state);
            let chosen = all.iter().find(|(_, chance, _)| {
                left -= chance;
                left < 0.0
            });
            let (word, chance, next) = *chosen.unwrap_or(&all[all.len() - 1]);
            words.push(word as i64);
            surprise -= if place > 0 { chance.ln() } else { 0.0 };
            state = next;
        }
    }
    let entropy = surprise / (BATCH * (LENGTH - 1)) as f64;
    Ok((Array::from_slice(&[BATCH, LENGTH], &words)?, entropy))
}

/// Trains a transformer; returns its loss on texts it has not seen, and their entropy.
pub fn train(settings: Settings) -> Result<(f64, f64), Error> {
    let b = Builder::new();
    let words = b.data("words", &format!("{BATCH}, {LENGTH} |"));
    let config = TransformerConfig { positions: Positions::Rotary, ..TransformerConfig::new(2, 2, 64) };
    let scores = decoder_only(&b, "model", WORDS, 32, &config).apply(words, Mode::Training);
    let loss = next_token_loss(scores, words).named("loss");
    let (words, loss) = (words.tensor(), loss.tensor());

    let mut graph = b.finish()?;
    let mut step = Routine::new("step");
    step.backward(&mut graph, loss)?;
    let (rate, params) = (graph.data("rate", "")?, graph.params());
    Adam::default().update(&mut graph, &mut step, &params, rate)?;
    let mut measure = Routine::new("measure");
    measure.forward(loss);

    let mut session = Session::with(graph, settings)?;
    let steps = 400;
    for number in 0..steps {
        session.set(words, &texts("training", number)?.0)?;
        // Slower towards the end.
        let part = number as f64 / steps as f64;
        session.set(rate, &Array::scalar((0.01 * (1.0 - part)) as f32))?;
        session.run(&step)?;
        if number % 50 == 0 {
            println!("step {number:3}  loss {:.4}", session.item(loss)?);
        }
    }

    let (mut total, mut entropy) = (0.0, 0.0);
    for number in 0..8 {
        let (batch, surprise) = texts("test", number)?;
        session.set(words, &batch)?;
        session.run(&measure)?;
        total += session.item(loss)? / 8.0;
        entropy += surprise / 8.0;
    }
    Ok((total, entropy))
}
