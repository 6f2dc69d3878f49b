//! Smaller programs that fail in the same way.

use broadloom_testing::Dice;

use super::answer::{Answer, Difference, answer, compare_programs};
use super::program::{Kind, Program, Statement};
use super::rewriting::{Rewriting, Rewritten};

/// A program, another form of it, and the difference between their answers.
pub struct Failure {
    /// The program.
    pub program: Program,
    /// Its answer.
    pub answer: Answer,
    /// Its other form.
    pub rewritten: Rewritten,
    /// The answer of the other form.
    pub other: Answer,
    /// The difference between the answers.
    pub difference: Difference,
}

/// The number of choices of a rewriting that are tried on a smaller program.
const CHOICES: u64 = 12;

/// Rewrites a program, and compares. Returns `None` if
/// the answers agree or the rewriting does not apply.
pub fn attempt(
    program: &Program,
    answered: &Answer,
    rewriting: Rewriting,
    dice: &mut Dice,
) -> Option<Failure> {
    let rewritten = rewriting(program, answered, dice)?;
    let other = answer(&rewritten.program);
    let difference = compare_programs((program, answered), (&rewritten.program, &other), &rewritten.allowed)?;
    Some(Failure { program: program.clone(), answer: answered.clone(), rewritten, other, difference })
}

/// Shrinks a failure as far as possible by leaving out statements and parts of expressions.
pub fn shrink(mut failure: Failure, rewriting: Rewriting) -> Failure {
    'smaller: loop {
        for program in smaller(&failure.program) {
            let answered = answer(&program);
            for choice in 0..CHOICES {
                let found = attempt(&program, &answered, rewriting, &mut Dice::new(choice));
                if let Some(found) = found.filter(|found| found.difference == failure.difference) {
                    failure = found;
                    continue 'smaller;
                }
            }
        }
        return failure;
    }
}

/// The programs that are one step smaller: without a statement and everything that needs it, or
/// with a part in place of an expression.
fn smaller(program: &Program) -> Vec<Program> {
    let mut found: Vec<Program> = (0..program.statements.len()).map(|at| without(program, at)).collect();
    for (at, statement) in program.statements.iter().enumerate() {
        let Some(value) = statement.value() else { continue };
        for place in 0..value.len() {
            let mut count = 0;
            loop {
                let mut copy = program.clone();
                let Some(expr) = copy.statements[at].value_mut().and_then(|value| value.at_mut(place)) else {
                    break;
                };
                let Some(part) = expr.parts.get(count).cloned() else { break };
                *expr = part;
                count += 1;
                found.push(closed(copy));
            }
        }
    }
    // A statement that is only a name is not smaller than none.
    found.retain(|program| program.statements.iter().all(|statement| !trivial(statement)));
    found
}

fn trivial(statement: &Statement) -> bool {
    matches!(&statement.kind, Kind::Let { value, .. } if value.parts.is_empty())
}

fn without(program: &Program, at: usize) -> Program {
    let mut program = program.clone();
    program.statements.remove(at);
    closed(program)
}

/// Removes statements that use names which are no longer defined.
fn closed(mut program: Program) -> Program {
    let prefixed = |name: &str| {
        let digits = name.trim_start_matches(|letter: char| letter.is_ascii_lowercase());
        name.len() == digits.len() + 1
            && !digits.is_empty()
            && digits.chars().all(|digit| digit.is_ascii_digit())
    };
    loop {
        let defined: Vec<String> = program.statements.iter().flat_map(Statement::defines).collect();
        let known =
            |name: &String| defined.contains(name) || !(prefixed(name) || OWN.contains(&name.as_str()));
        let before = program.statements.len();
        program.statements.retain(|statement| statement.uses().iter().all(known));
        if program.statements.len() == before {
            return program;
        }
    }
}

/// Names without a number that only the program defines.
const OWN: &[&str] = &["n", "dense", "twice", "gate", "centred", "share", "scaled", "mapped"];
