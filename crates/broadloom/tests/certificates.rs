//! Certificates are right: an independent reader and judge accept those of many programs, and
//! reject changed ones. `BROADLOOM_PROGRAMS=5000` tests more programs.

use crate::programs::draw;
#[allow(dead_code, reason = "programs are only built here")]
use broadloom_testing::{Dice, setting};
mod judge;
#[allow(dead_code, reason = "programs are only built here")]
mod ranges;
mod read;
use crate::support;

use broadloom::certificate::{Constraint, Dim, DimTerm, module_name};
use broadloom::{Certificate, Dtype, Graph};
use draw::draw;
use judge::{Fault, judge};
use read::read;
use support::case::cases;
use support::run::Run;

/// The verdict of the judge on the Lean text of a certificate.
fn judged(certificate: &Certificate) -> Result<(), Fault> {
    judge(&read(&certificate.to_lean("program")).map_err(Fault::Text)?)
}

/// The certificates of random programs in which every tensor has a name.
fn random_certificates(seeds: impl Iterator<Item = u64>) -> impl Iterator<Item = (u64, Certificate)> {
    seeds.map(|seed| {
        let mut graph = draw(seed, false).build(Dtype::F64).expect("it was drawn").graph;
        for tensor in graph.tensors() {
            graph.name(tensor, &format!("t{}", tensor.index()));
        }
        (seed, graph.certificate().expect("it has shapes"))
    })
}

fn programs() -> u64 {
    setting("BROADLOOM_PROGRAMS", 1000)
}

/// Two tests, so that they run in parallel.
#[test]
fn certificates_of_random_programs_are_accepted() {
    for (seed, certificate) in random_certificates((0..programs()).step_by(2)) {
        assert_eq!(judged(&certificate), Ok(()), "program {seed}: {}", certificate.to_lean("program"));
    }
}

/// Counts of changed and rejected certificates.
#[derive(Default, Debug)]
struct Tally {
    changed: usize,
    rejected: usize,
}

impl Tally {
    fn count(&mut self, rejected: bool) {
        self.changed += 1;
        self.rejected += usize::from(rejected);
    }

    fn at_least(&self, percent: usize) {
        assert!(self.changed > 20 && self.rejected * 100 >= self.changed * percent, "{self:?}");
    }
}

#[test]
fn changed_certificates_are_rejected() {
    let (mut sizes, mut axes, mut said) = (Tally::default(), Tally::default(), Tally::default());
    for (seed, certificate) in random_certificates((1..programs()).step_by(2)) {
        assert_eq!(judged(&certificate), Ok(()), "program {seed}: {}", certificate.to_lean("program"));
        let mut random = Dice::new(seed);
        // Without the shapes, which repeat the solution: the constraints alone have to detect the
        // change.
        let bare = Certificate { shapes: Vec::new(), ..certificate.clone() };
        for _ in 0..4 {
            if let Some(changed) = other_size(&mut random, &bare) {
                sizes.count(judged(&changed).is_err());
            }
            if let Some(changed) = fewer_axes(&mut random, &bare) {
                axes.count(judged(&changed).is_err());
            }
            if let Some((changed, at)) = other_literal(&mut random, &certificate) {
                let verdict = judged(&changed);
                // The change may leave the constraint true; no other constraint can become false.
                assert!(verdict.is_ok() || verdict == Err(Fault::Constraint(at)), "{seed}: {verdict:?}");
                said.count(verdict.is_err());
            }
        }
        // With the shapes every change of them is detected.
        if let Some(shape) = certificate.shapes.iter().position(|shape| !shape.axes.is_empty()) {
            let mut changed = certificate.clone();
            changed.shapes[shape].axes.pop();
            assert_eq!(judged(&changed), Err(Fault::Shape(changed.shapes[shape].name.clone())));
        }
    }
    sizes.at_least(95);
    axes.at_least(95);
    // Some numbers do not matter, such as the dilation of a padded window.
    said.at_least(80);
}

/// All sizes of a solution.
fn sizes(certificate: &mut Certificate) -> Vec<&mut u64> {
    let Certificate { dims, rows, .. } = certificate;
    let rows = rows.iter_mut().flat_map(|row| row.lead.iter_mut().chain(&mut row.trail));
    dims.iter_mut()
        .chain(rows)
        .filter_map(|dim| match dim {
            Dim::Atom { size, .. } => Some(size),
            Dim::Unit | Dim::Form { .. } => None,
        })
        .collect()
}

/// The certificate with one size increased or decreased by 1.
fn other_size(random: &mut Dice, certificate: &Certificate) -> Option<Certificate> {
    let mut changed = certificate.clone();
    let more = random.below(2) == 0;
    let mut sizes = sizes(&mut changed);
    let count = sizes.len();
    let size = sizes.get_mut(random.below(count.max(1)))?;
    **size = if more || **size == 0 { **size + 1 } else { **size - 1 };
    Some(changed)
}

/// The certificate with an axis removed from a row.
fn fewer_axes(random: &mut Dice, certificate: &Certificate) -> Option<Certificate> {
    let mut changed = certificate.clone();
    let flanks = changed.rows.iter_mut().flat_map(|row| [&mut row.lead, &mut row.trail]);
    let mut flanks: Vec<_> = flanks.filter(|flank| !flank.is_empty()).collect();
    let count = flanks.len();
    let flank = flanks.get_mut(random.below(count.max(1)))?;
    flank.remove(random.below(flank.len()));
    Some(changed)
}

/// The numbers and sizes in a constraint.
fn literals(constraint: &mut Constraint) -> Vec<&mut u64> {
    fn of(term: &mut DimTerm) -> Option<&mut u64> {
        match term {
            DimTerm::Dim(Dim::Atom { size, .. }) => Some(size),
            _ => None,
        }
    }
    match constraint {
        Constraint::DimEq(a, b) | Constraint::DimLe(a, b) => [a, b].into_iter().filter_map(of).collect(),
        Constraint::RowEq(a, b) | Constraint::RowLe(a, b) => {
            let flanks = [&mut a.lead, &mut a.trail, &mut b.lead, &mut b.trail];
            flanks.into_iter().flatten().filter_map(of).collect()
        }
        Constraint::MadeOf(res, opnds) => {
            let rows = opnds.iter_mut().chain([res]);
            rows.flat_map(|row| row.lead.iter_mut().chain(&mut row.trail)).filter_map(of).collect()
        }
        Constraint::Affine { axis, over, stride, offset, window } => {
            let window =
                window.iter_mut().flat_map(|window| [Some(&mut window.dilation), of(&mut window.kernel)]);
            let numbers = [Some(stride), Some(offset), of(axis), of(over)];
            numbers.into_iter().chain(window).flatten().collect()
        }
        Constraint::Concat { axis, components, literal } => {
            let terms = components.iter_mut().filter_map(of);
            [Some(literal), of(axis)].into_iter().flatten().chain(terms).collect()
        }
        Constraint::AtLeast(axis, bound) | Constraint::AtMost(axis, bound) => {
            [Some(bound), of(axis)].into_iter().flatten().collect()
        }
        Constraint::Count { coeff, denom, .. } => vec![coeff, denom],
        Constraint::Exact(_, axes) => axes.iter_mut().filter_map(of).collect(),
    }
}

/// The certificate with another number in a constraint, and the index of the constraint.
fn other_literal(random: &mut Dice, certificate: &Certificate) -> Option<(Certificate, usize)> {
    let mut changed = certificate.clone();
    let constraints = changed.steps.iter_mut().flat_map(|step| &mut step.constraints).enumerate();
    let mut numbers: Vec<(usize, &mut u64)> = constraints
        .flat_map(|(at, constraint)| literals(constraint).into_iter().map(move |number| (at, number)))
        .collect();
    let count = numbers.len();
    let (at, number) = numbers.get_mut(random.below(count.max(1)))?;
    let at = *at;
    **number += 1;
    Some((changed, at))
}

/// The programs of the other tests, which have counts, lists of axes, bases and parameters without shapes.
#[test]
fn certificates_of_all_cases_are_accepted() {
    let (mut counts, mut lists, mut bases) = (0, 0, 0);
    for case in cases("shapes").into_iter().chain(cases("nests")) {
        let mut run = Run::of(&case.read().expect("a program")).unwrap_or_else(|stop| panic!("{stop}"));
        let Ok(certificate) = run.graph.certificate() else { continue };
        let verdict = judged(&certificate);
        assert_eq!(verdict, Ok(()), "{}: {}", case.name(), certificate.to_lean("program"));
        counts += certificate.constraints().filter(|it| matches!(it, Constraint::Count { .. })).count();
        lists += certificate.constraints().filter(|it| matches!(it, Constraint::Exact(..))).count();
        bases += certificate.bases.len();
    }
    assert!(counts > 0 && lists > 0 && bases > 0, "{counts} counts, {lists} lists, {bases} bases");
}

/// `verification/check` accepts the text whatever the names of tensors are.
#[test]
fn names_are_harmless() {
    let check = concat!(env!("CARGO_MANIFEST_DIR"), "/../../verification/check");
    let check = std::fs::read_to_string(check).expect("the command that checks");
    let lists = check.lines().filter(|line| {
        ["gaps=", "gaps+=", "tricks=", "tricks+="].iter().any(|start| line.starts_with(start))
    });
    let quoted = lists.filter_map(|line| line.split('\'').nth(1));
    let words: Vec<&str> =
        quoted.flat_map(|words| words.split('|')).filter(|word| !word.is_empty()).collect();
    assert!(words.len() > 30 && words.contains(&"sorry") && words.contains(&"meta"), "{words:?}");
    let others =
        ["import", "x.import.y", "#eval x", "a@[simp]", "say \"no\" \\", "two\nlines -/ /- --", "Größe"];
    for name in words.iter().chain(&others) {
        let mut graph = Graph::new();
        let x = graph.data(name, "3").expect("a shape");
        let y = graph.add(x, x).expect("a sum");
        graph.name(y, &format!("{name}2 {name}"));
        let certificate = graph.certificate().expect("shapes");
        assert_eq!(judged(&certificate), Ok(()), "{name}");
        let text = certificate.to_lean(name);
        let body = text.split_once("namespace").expect("a namespace").1;
        let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let mut found = body.split(|letter| !is_word(letter));
        let refused = found.find(|word| words.contains(word) || *word == "import");
        assert_eq!(refused, None, "{text}");
        assert!(!body.contains("@[") && !body.contains('\u{7}'), "{text}");
        let hashes = body.split('#').skip(1);
        assert!(hashes.into_iter().all(|after| !after.starts_with(char::is_alphabetic)), "{text}");
        let name = module_name(name);
        assert!(name.starts_with(|letter: char| letter.is_ascii_uppercase()), "{name}");
        assert!(name.chars().all(is_word), "{name}");
    }
}

/// The handwritten example is accepted, and the wrong one is not.
#[test]
fn the_judge_agrees_about_the_examples() {
    for (name, right) in [("Good", true), ("Wrong", false), ("GoodRange", true), ("WrongRange", false)] {
        let file = format!("{}/../../verification/lean/examples/{name}.lean", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(file).expect("an example");
        // Their comment is at a place where generated certificates have none.
        let (above, below) = text.split_once("/-!").expect("a comment");
        let (_, below) = below.split_once("-/\n\n").expect("the end of the comment");
        let below = below.replace(&format!("namespace {name}\n\n"), &format!("namespace {name}\n"));
        let file = read(&format!("{above}{below}")).unwrap_or_else(|error| panic!("{name}: {error}"));
        let verdict = if file.family.is_some() { ranges::judge_at(&file, &[3, 24]) } else { judge(&file) };
        assert_eq!(verdict.is_ok(), right, "{name}");
    }
}
