//! Certificates for all sizes of names: at sizes that their conditions allow they are certificates for one size, which the judge
//! accepts. What Lean's checker will say is known, and it says no to changed ones.

use broadloom::certificate::{Certificate, Dim};
use broadloom_testing::Dice;

use super::judge::{Fault, judge};
use super::read::{Family, File, Value, read};
use crate::symbolic::draw::{Drawn, Purpose, draw};
use crate::symbolic::judge::Counts;

fn whole(value: &Value) -> i128 {
    match value {
        Value::Number(number) => *number as i128,
        Value::Negative(number) => -(*number as i128),
        other => panic!("{other:?} is no number"),
    }
}

fn parts(value: &Value) -> &[Value] {
    match value {
        Value::Tuple(parts) | Value::List(parts) | Value::Apply(_, parts) => parts,
        other => panic!("{other:?} has no parts"),
    }
}

/// The value of an expression: numerator and denominator.
fn value_at(form: &Value, sizes: &[u64]) -> (i128, i128) {
    let [terms, over] = parts(form) else { panic!("{form:?} is no expression") };
    let term = |term: &Value| {
        let [factor, names] = parts(term) else { panic!("{term:?} is no summand") };
        let names = parts(names).iter().map(|name| i128::from(sizes[whole(name) as usize]));
        whole(factor) * names.product::<i128>()
    };
    (parts(terms).iter().map(term).sum(), whole(over))
}

/// Returns true if sizes are in the ranges and meet the conditions.
fn admits(family: &Family, sizes: &[u64]) -> bool {
    let in_range = |(range, size): (&Value, &u64)| {
        let [least, most] = parts(range) else { panic!("{range:?} is no range") };
        let most = match most {
            Value::Apply(head, most) if head == "some" => Some(whole(&most[0])),
            _ => None,
        };
        whole(least) <= i128::from(*size) && most.is_none_or(|most| i128::from(*size) <= most)
    };
    let holds = |condition: &Value| {
        let [form, Value::Apply(need, limit)] = parts(condition) else { panic!("{condition:?}") };
        let (value, over) = value_at(form, sizes);
        match (need.as_str(), limit.as_slice()) {
            (".whole", []) => value % over == 0,
            (".zero", []) => value == 0,
            (".atLeast", [least]) => value >= whole(least) * over,
            (".atMost", [most]) => value <= whole(most) * over,
            _ => panic!("{need} is no condition"),
        }
    };
    family.ranges.iter().zip(sizes).all(in_range) && family.conditions.iter().all(holds)
}

/// The value with sizes in the place of expressions; `None` if one is no size.
fn settled(value: &Value, family: &Family, sizes: &[u64]) -> Option<Value> {
    let all =
        |values: &[Value]| values.iter().map(|value| settled(value, family, sizes)).collect::<Option<_>>();
    Some(match value {
        Value::Apply(head, place) if head == "form" => {
            let (value, over) = value_at(&family.forms[whole(&place[0]) as usize], sizes);
            Value::Number(u128::try_from(value / over).ok().filter(|_| value % over == 0)?)
        }
        Value::Apply(head, values) => Value::Apply(head.clone(), all(values)?),
        Value::List(values) => Value::List(all(values)?),
        Value::Tuple(values) => Value::Tuple(all(values)?),
        other => other.clone(),
    })
}

/// The verdict on a certificate at sizes of its names.
pub fn judge_at(file: &File, sizes: &[u64]) -> Result<(), Fault> {
    let family = file.family.as_ref().expect("names");
    let all = |values: &[Value]| {
        let values = values.iter().map(|value| settled(value, family, sizes));
        values.collect::<Option<Vec<_>>>().ok_or_else(|| Fault::Text(format!("no size at {sizes:?}")))
    };
    let (constraints, dims) = (all(&file.constraints)?, all(&file.dims)?);
    let (rows, shapes) = (all(&file.rows)?, all(&file.shapes)?);
    judge(&File { constraints, dims, rows, shapes, ..file.clone() })
}

/// Some sizes of the names that are allowed.
fn admitted(random: &mut Dice, certificate: &Certificate, family: &Family) -> Vec<Vec<u64>> {
    let names = &certificate.family.as_ref().expect("names").names;
    let mut all: Vec<Vec<u64>> = vec![certificate.family.as_ref().expect("names").sample.clone()];
    for round in 0..40 {
        let size = |random: &mut Dice| [1, 12, 2][round % 3] * (1 + random.below(30) as u64);
        let within = |(least, most): (u64, Option<u64>), size: u64| match (round % 5, most) {
            (0, _) => least,
            (1, Some(most)) => most,
            _ => size.clamp(least, most.unwrap_or(u64::MAX)),
        };
        all.push(names.iter().map(|name| within(name.range, size(random))).collect());
    }
    all.retain(|sizes| admits(family, sizes));
    all
}

/// The certificates of random programs with named sizes.
fn certificates(seeds: std::ops::Range<u64>) -> impl Iterator<Item = (u64, Certificate)> {
    seeds.filter_map(|seed| {
        let Drawn { program, .. } = draw(seed, Purpose::Shapes, &mut Counts::default()).ok()?;
        let mut graph = program.build(None).ok()?.graph;
        for tensor in graph.tensors() {
            graph.name(tensor, &format!("t{}", tensor.index()));
        }
        let certificate = graph.certificate_for_all_sizes().ok()?;
        certificate.family.is_some().then_some((seed, certificate))
    })
}

#[test]
fn certificates_hold_at_all_sizes() {
    let (mut proved, mut unproved, mut judged) = (0, Vec::new(), 0);
    for (seed, certificate) in certificates(0..150) {
        let text = certificate.to_lean("program");
        let file = read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let sizes = admitted(&mut Dice::new(seed), &certificate, file.family.as_ref().expect("names"));
        for sizes in &sizes {
            assert_eq!(judge_at(&file, sizes), Ok(()), "program {seed} at {sizes:?}\n{text}");
            judged += 1;
        }
        match certificate.unproved() {
            None => proved += 1,
            Some(what) => unproved.push((seed, what)),
        }
    }
    assert!(proved > 90 && judged > 1000, "{proved} proved, {judged} judged");
    assert!(unproved.len() * 20 < proved, "{} not proved, {proved} proved: {unproved:#?}", unproved.len());
}

/// A certificate that the procedure of Lean's checker accepts holds, even of certificates that are wrong; and it accepts few of them.
#[test]
fn changed_certificates_are_not_proved() {
    let (mut changed, mut rejected) = ([0; 3], [0; 3]);
    for (seed, certificate) in certificates(400..460).filter(|(_, it)| it.unproved().is_none()) {
        let mut random = Dice::new(seed);
        for way in [0, 1, 2].repeat(3) {
            let Some(other) = wrong(&mut random, &certificate, way) else { continue };
            changed[way] += 1;
            if other.unproved().is_some() {
                rejected[way] += 1;
                continue;
            }
            let file = read(&other.to_lean("program")).expect("it can be read");
            for sizes in admitted(&mut random, &other, file.family.as_ref().expect("names")) {
                assert_eq!(judge_at(&file, &sizes), Ok(()), "program {seed}, change {way}, at {sizes:?}");
            }
        }
    }
    // A size that nothing else restricts may as well be twice as large.
    for (way, percent) in [(0, 40), (1, 75), (2, 75)] {
        assert!(
            changed[way] > 50 && rejected[way] * 100 >= changed[way] * percent,
            "{changed:?} {rejected:?}"
        );
    }
}

/// The certificate with another coefficient, with two sizes exchanged, or with a wider range.
fn wrong(random: &mut Dice, certificate: &Certificate, way: usize) -> Option<Certificate> {
    let mut changed = certificate.clone();
    changed.shapes.clear();
    let family = changed.family.as_mut()?;
    match way {
        0 => {
            let at = random.below(family.forms.len().max(1));
            let form = family.forms.get_mut(at)?;
            *form = form.plus(form)?;
        }
        1 => {
            let forms = family.forms.len();
            let mut places: Vec<&mut usize> = changed
                .dims
                .iter_mut()
                .filter_map(|dim| match dim {
                    Dim::Form { form, .. } => Some(form),
                    _ => None,
                })
                .collect();
            let count = places.len();
            let place = places.get_mut(random.below(count.max(1)))?;
            if forms < 2 {
                return None;
            }
            **place = (**place + 1) % forms;
        }
        _ => {
            let at = random.below(family.names.len().max(1));
            let name = family.names.get_mut(at)?;
            name.range = match name.range {
                (least, Some(most)) if random.below(2) == 0 => (least, Some(most + 1)),
                (least, most) if least > 1 => (least - 1, most),
                (least, Some(most)) => (least, Some(most + 1)),
                _ => return None,
            };
        }
    }
    Some(changed)
}
