//! A spec of words that was probably meant as a spec of letters.
//!
//! One comma or `+` makes the names of a whole spec words (see [`Mode`]), which is easily overlooked. Three
//! signs of that are refused. A spec that shows one of the first two would be useless:
//!
//! - a word on one side of `=>` whose letters are all labels, but of the other side only: `ij => i+3*j`;
//! - a single operand of short words, and a result that is a new word made of their letters: `ij,jk => ik`,
//!   which is the notation of NumPy with the right arrow;
//! - a word of two to four letters that stands alone in an operand, where all other labels are letters:
//!   `ab; 2*c => ab, c`. One axis may be meant, which cannot be known; another name makes it clear.

use super::arrows::python_commas;
use crate::error::{Error, ErrorKind, quote};
use crate::mode::{Mode, multi_trigger};
use crate::names::AxisId;
use crate::span::Span;
use crate::tree::{Axis, AxisKind, Shape, Spec};

/// Refuses a spec with one of the signs.
pub(super) fn check_words(text: &str, spec: &Spec) -> Result<(), Error> {
    match spec.mode {
        Mode::Single => Ok(()),
        Mode::Multi => {
            let sides = Sides::of(spec);
            check_operands(text, spec, &sides)?;
            check_letters(text, spec, &sides)?;
            check_alone(text, spec)
        }
    }
}

/// Refuses `ij,jk => ik`.
fn check_operands(text: &str, spec: &Spec, sides: &Sides) -> Result<(), Error> {
    let ([operand], [result]) = (&spec.operands[..], &spec.results[..]) else { return Ok(()) };
    let is_plain = |shape: &Shape<Axis>| shape.batch.is_none() && shape.input.is_none();
    if !is_plain(operand) || !is_plain(result) || operand.axes().count() < 2 {
        return Ok(());
    }
    let word = |axis: &Axis| match axis.kind {
        AxisKind::Label(label) => Some((label, spec.names.axes.text(label))),
        _ => None,
    };
    let Some(operand_words) = operand.axes().map(|axis| Some(word(axis)?.1)).collect::<Option<Vec<&str>>>()
    else {
        return Ok(());
    };
    let mut result_words = result.axes().map(word);
    let (Some(Some((label, name))), None) = (result_words.next(), result_words.next()) else { return Ok(()) };
    let short = |word: &&str| word.chars().count() <= 4 && word.chars().all(char::is_alphabetic);
    let in_operand = |letter| operand_words.iter().any(|word| word.contains(letter));
    if sides.of_label(label) != Sides::RESULT
        || !is_word(name)
        || !name.chars().all(in_operand)
        || !operand_words.iter().all(short)
    {
        return Ok(());
    }
    let arrow = text.find("=>").unwrap_or(text.len());
    let comma = multi_trigger(text).unwrap_or_default();
    Err(python_commas(text, &text[..arrow], text[arrow..].trim_start_matches("=>"), comma))
}

/// Refuses `ij => i+3*j`.
fn check_letters(text: &str, spec: &Spec, sides: &Sides) -> Result<(), Error> {
    let single = |text: &str| text.chars().next().filter(|_| text.chars().nth(1).is_none());
    let letters: Vec<(char, u8)> = spec
        .names
        .axes
        .iter()
        .filter_map(|(label, name)| Some((single(&name.text)?, sides.of_label(label))))
        .collect();
    for (label, name) in spec.names.axes.iter().filter(|(_, name)| is_word(&name.text)) {
        let opposite = Sides::BOTH - sides.of_label(label);
        if opposite != 0 && name.text.chars().all(|letter| letters.contains(&(letter, opposite))) {
            return Err(run_together(text, name.first_use, &name.text));
        }
    }
    Ok(())
}

/// Refuses `ab; 2*c => ab, c`.
fn check_alone(text: &str, spec: &Spec) -> Result<(), Error> {
    let words = || spec.names.axes.iter().filter(|(_, name)| name.text.chars().nth(1).is_some());
    let (Some((label, name)), true) = (words().next(), words().count() < spec.names.axes.iter().count())
    else {
        return Ok(());
    };
    let letters: Vec<char> = name.text.chars().collect();
    let is_alone = |shape: &Shape<Axis>| {
        let mut axes = shape.axes();
        let is_label = |axis: &Axis| matches!(axis.kind, AxisKind::Label(own) if own == label);
        shape.batch.is_none()
            && shape.input.is_none()
            && axes.next().is_some_and(is_label)
            && axes.next().is_none()
    };
    // A sum or a concatenation of a word with something else, `o+kw; kw => o`, knows what it says.
    let is_part =
        |axis: &Axis| !matches!(axis.kind, AxisKind::Label(_)) && axis.labels().any(|own| own == label);
    let is_combined = spec.operands.iter().chain(&spec.results).flat_map(Shape::axes).any(is_part);
    let differ = (1..letters.len()).all(|at| !letters[..at].contains(&letters[at]));
    let is_short = letters.len() <= 4 && is_word(&name.text) && differ;
    if words().nth(1).is_some() || is_combined || !is_short || !spec.operands.iter().any(is_alone) {
        return Ok(());
    }
    let apart: Vec<String> = letters.iter().map(char::to_string).collect();
    let help = format!(
        "write `{}` for {} axes; one axis has another name here, of one letter or of five",
        apart.join(", "),
        letters.len()
    );
    Err(run_together(text, name.first_use, &name.text).help(help))
}

fn is_word(name: &str) -> bool {
    name.chars().nth(1).is_some() && name.chars().all(char::is_alphabetic)
}

fn run_together(text: &str, span: Span, word: &str) -> Error {
    let trigger = multi_trigger(text).unwrap_or_default().slice(text);
    let letters: Vec<String> = word.chars().map(String::from).collect();
    let message = format!("{} is one label here", quote(word));
    let error = Error::new(ErrorKind::LettersRunTogether, text, span, message);
    let error = error.label(format!("a word, because the spec contains `{trigger}`"));
    error.help(format!("write `{}` for {} axes", letters.join(", "), letters.len()))
}

/// The sides of `=>` on which each label is: a bit for the operands and one for the results.
struct Sides(Vec<u8>);

impl Sides {
    const OPERAND: u8 = 1;
    const RESULT: u8 = 2;
    const BOTH: u8 = 3;

    fn of(spec: &Spec) -> Sides {
        let mut sides = vec![0; spec.names.axes.len()];
        for (shapes, side) in [(&spec.operands, Sides::OPERAND), (&spec.results, Sides::RESULT)] {
            for label in shapes.iter().flat_map(Shape::axes).flat_map(Axis::labels) {
                sides[label.0 as usize] |= side;
            }
        }
        Sides(sides)
    }

    fn of_label(&self, label: AxisId) -> u8 {
        self.0[label.0 as usize]
    }
}
