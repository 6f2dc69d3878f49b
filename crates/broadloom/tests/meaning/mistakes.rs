//! Checks that these tests notice anything: mistakes are put into nests, and have to be found.

use std::sync::Arc;

use broadloom::{Graph, Projected};
use broadloom_core::projection::AxisIndex;
use broadloom_testing::Dice;

use crate::meaning::case::{Case, Outcome};
use crate::meaning::random_spec::Taste;
use crate::meaning::{random_broadcast, random_concat, random_spec};

/// Changes one index of one tensor, if a change can have an effect.
fn mistake(nest: &mut Projected, random: &mut Dice) -> Option<&'static str> {
    let extents = nest.projection.extents();
    let entry = random.below(nest.projection.maps.len());
    let map = &mut Arc::make_mut(&mut nest.projection).maps[entry];
    if map.is_empty() {
        return None;
    }
    let axis = random.below(map.len());
    match &mut map[axis] {
        AxisIndex::Sum(sum) => {
            let terms: Vec<usize> =
                (0..sum.terms.len()).filter(|term| extents[sum.terms[*term].1 as usize] > 1).collect();
            if terms.is_empty() || random.percent(25) {
                sum.offset += if random.percent(50) { 1 } else { -1 };
                return Some("another offset");
            }
            let term = random.pick(&terms);
            let (coefficient, own) = sum.terms[term];
            let same: Vec<u32> = (0..extents.len() as u32)
                .filter(|other| *other != own && extents[*other as usize] == extents[own as usize])
                .collect();
            if !same.is_empty() {
                sum.terms[term] = (coefficient, random.pick(&same));
                return Some("another loop");
            }
            sum.terms.remove(term);
            Some("a loop forgotten")
        }
        AxisIndex::Concat(segments) => {
            let segment = random.below(segments.len());
            segments[segment].offset = segments[segment].offset.get().checked_sub(1).unwrap_or(1).into();
            Some("another beginning")
        }
        AxisIndex::Symbol(_) => None,
    }
}

#[test]
fn mistakes_are_noticed() {
    let affine = Taste { affine: true, padded_results: false, axes: 2 };
    let mut graph = Graph::new();
    let mut counts: Vec<(&str, u32, u32)> = Vec::new();
    for seed in 0..3000 {
        let mut random = Dice::new(99 << 32 | seed);
        let case: Case = match seed % 5 {
            0 => random_broadcast::pointwise(&mut random),
            1 => random_broadcast::compose(&mut random),
            2 => random_broadcast::slice(&mut random),
            3 => random_spec::einsum(&mut random, affine),
            _ => random_concat::concat(&mut random, random_concat::Taste::Plain),
        };
        let mut made = None;
        let outcome = case.check_after(&mut graph, &mut random, |nest, random| made = mistake(nest, random));
        let Some(kind) = made else { continue };
        let noticed = u32::from(!matches!(outcome, Ok(Outcome::Agreed { .. } | Outcome::Clashed)));
        match counts.iter_mut().find(|(known, ..)| *known == kind) {
            Some((_, all, found)) => (*all, *found) = (*all + 1, *found + noticed),
            None => counts.push((kind, 1, noticed)),
        }
    }
    println!("{counts:?}");
    for (kind, all, found) in &counts {
        assert!(found * 100 >= all * 95, "{kind}: {found} of {all} mistakes noticed");
    }
}
