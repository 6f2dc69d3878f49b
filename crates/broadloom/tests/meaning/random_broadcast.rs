//! Random operations that broadcast, and slices.

use broadloom::SliceIndex;
use broadloom_testing::Dice;

use crate::meaning::array::{Form, Size};
use crate::meaning::broadcast::{Broadcast, numpy_row};
use crate::meaning::case::{Case, Operation, Source};

/// The most points that an operation visits.
pub const MOST_POINTS: u64 = 1200;

/// A row of up to three axes of up to four elements.
fn row(random: &mut Dice, most: usize) -> Vec<Size> {
    let rank = random.below(most + 1);
    (0..rank).map(|_| Size::Count(1 + random.below(4) as u64)).collect()
}

fn elements(rows: &[&[Size]]) -> u64 {
    rows.iter().flat_map(|row| row.iter()).map(|size| size.count()).product()
}

/// A row that broadcasts into another: some axes left out in its middle, some of them units.
struct Smaller {
    row: Vec<Size>,
    lead: usize,
}

fn smaller(random: &mut Dice, row: &[Size], full: bool, middle: bool) -> Smaller {
    let rank = if full { row.len() } else { random.below(row.len() + 1) };
    let lead = if middle { random.below(rank + 1) } else { 0 };
    let mut kept: Vec<Size> = [&row[..lead], &row[row.len() - (rank - lead)..]].concat();
    if !full && random.percent(40) {
        for size in &mut kept {
            if random.percent(30) {
                *size = Size::Unit;
            }
        }
    }
    Smaller { row: kept, lead }
}

/// An operand with these rows and markers.
fn source(random: &mut Dice, rows: [Smaller; 3]) -> Source {
    let leads = rows.each_ref().map(|row| row.lead);
    let form = Form(rows.map(|row| row.row));
    if leads == [0; 3] && random.percent(90) {
        return Source::Data(form);
    }
    let mut trails = [0; 3];
    for (row, trail) in trails.iter_mut().enumerate() {
        *trail = random.below(form.0[row].len() - leads[row] + 1);
    }
    Source::Spread { form, leads, trails, negated: random.percent(30) }
}

pub fn pointwise(random: &mut Dice) -> Case {
    let rows = loop {
        let rows = [row(random, 3), row(random, 2), row(random, 3)];
        if elements(&[&rows[0], &rows[1], &rows[2]]) <= MOST_POINTS {
            break rows;
        }
    };
    let arity = 1 + random.below(3);
    let middle = random.percent(50);
    // One operand has the whole of a row, so that the result's row is the chosen one. Sometimes
    // none has; but a result has no more axes than its longest operand, so rows that broadcast at
    // different ends need one.
    let full = [0; 3].map(|_| if middle || random.percent(90) { random.below(arity) } else { arity });
    let mut sources: Vec<Source> = Vec::new();
    for slot in 0..arity {
        if slot > 0 && random.percent(15) {
            let same = random.below(slot);
            if matches!(sources[same], Source::Data(_) | Source::Spread { .. }) && !full.contains(&slot) {
                sources.push(Source::Same(same));
                continue;
            }
        }
        let complete = full.iter().all(|full| *full < slot);
        if complete && random.percent(10) {
            // Numbers do not determine the shape of a parameter.
            let says = rows.iter().any(|row| !row.is_empty());
            sources.push(if says && random.percent(50) { Source::Param(None) } else { Source::Constant });
            continue;
        }
        let kept = [0, 1, 2].map(|kind| smaller(random, &rows[kind], full[kind] == slot, middle));
        sources.push(source(random, kept));
    }
    let expected = numpy_form(&sources);
    Case { sources, operation: Operation::Broadcast(Broadcast::Pointwise), expected, reader: None }
}

/// The shape of a result, if all operands are data.
fn numpy_form(sources: &[Source]) -> Option<Vec<Form>> {
    let mut forms: Vec<&Form> = Vec::new();
    for source in sources {
        match source {
            Source::Data(form) => forms.push(form),
            Source::Same(_) | Source::Constant | Source::Param(_) => {}
            Source::Spread { .. } => return None,
        }
    }
    let row = |kind: usize| numpy_row(&forms.iter().map(|form| &form.0[kind][..]).collect::<Vec<_>>());
    Some(vec![Form([row(0), row(1), row(2)])])
}

pub fn compose(random: &mut Dice) -> Case {
    let [batch, input, output, contracted] = loop {
        let rows = [row(random, 2), row(random, 2), row(random, 2), row(random, 2)];
        if elements(&rows.each_ref().map(|row| &row[..])) <= MOST_POINTS {
            break rows;
        }
    };
    let middle = random.percent(40);
    if random.percent(12) {
        return square(random, batch, input, middle);
    }
    let op = if random.percent(25) { Broadcast::ComposeAccumulate } else { Broadcast::Compose };
    let first_full = random.percent(50);
    let inner = {
        // The left side determines the contracted row; the right side broadcasts into it.
        let full = random.percent(60);
        smaller(random, &contracted, full, middle)
    };
    let sized = inner.row.iter().all(|size| *size != Size::Unit);
    let open_param = sized && inner.row.len() == contracted.len() && !contracted.is_empty();
    let whole = |random: &mut Dice, row: &[Size]| smaller(random, row, true, middle);
    let mut sources = if open_param && first_full && random.percent(10) {
        let sizes: Vec<String> = output.iter().map(|size| size.count().to_string()).collect();
        vec![Source::Param(Some(format!("... -> {}", sizes.join(", "))))]
    } else {
        let left =
            [smaller(random, &batch, first_full, middle), whole(random, &contracted), whole(random, &output)];
        vec![source(random, left)]
    };
    let right_full = !first_full || matches!(sources[0], Source::Param(_));
    let right = [smaller(random, &batch, right_full, middle), whole(random, &input), inner];
    sources.push(source(random, right));
    if op == Broadcast::ComposeAccumulate {
        let third = [&batch, &input, &output].map(|row| smaller(random, row, false, middle));
        sources.push(source(random, third));
    }
    let expected = Some(vec![Form([batch, input, output])]);
    Case { sources, operation: Operation::Broadcast(op), expected, reader: None }
}

/// `w @ w`.
fn square(random: &mut Dice, batch: Vec<Size>, row: Vec<Size>, middle: bool) -> Case {
    let mut rows = [&batch, &row, &row].map(|row| smaller(random, row, true, middle));
    if !middle {
        rows.iter_mut().for_each(|row| row.lead = 0);
    }
    let sources = vec![source(random, rows), Source::Same(0)];
    let expected = Some(vec![Form([batch, row.clone(), row])]);
    Case { sources, operation: Operation::Broadcast(Broadcast::Compose), expected, reader: None }
}

pub fn transpose(random: &mut Dice) -> Case {
    let rows = [row(random, 2), row(random, 2), row(random, 2)];
    let expected = Some(vec![Form([rows[0].clone(), rows[2].clone(), rows[1].clone()])]);
    let rows = rows.map(|row| smaller(random, &row, true, true));
    let sources = vec![source(random, rows)];
    Case { sources, operation: Operation::Broadcast(Broadcast::Transpose), expected, reader: None }
}

pub fn slice(random: &mut Dice) -> Case {
    let mut rows = [row(random, 2), row(random, 2), row(random, 2)];
    let first = 1 + random.below(4) as u64;
    let expected = Some(vec![Form(rows.clone())]);
    rows[0].insert(0, Size::Count(first));
    let rows = rows.map(|row| smaller(random, &row, true, true));
    let sources = vec![source(random, rows)];
    let position = random.below(first as usize) as u64;
    let index = match random.below(3) {
        0 => SliceIndex::Run { range: Some(first) },
        1 => SliceIndex::Run { range: None },
        _ => SliceIndex::At(position),
    };
    Case { sources, operation: Operation::Slice { position, index }, expected, reader: None }
}
