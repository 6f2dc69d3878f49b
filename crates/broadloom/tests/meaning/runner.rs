//! Runs a loop nest, point by point, and checks every address.
//!
//! The product space is a product of factors. Loops of one factor run one after another, so a point
//! chooses one loop of each factor and a position of it. A tensor takes part in a point if all its
//! indices exist there: those of loops that run. The value of a point is the product of the
//! operands that take part, nothing if none does; it is added to the results that take part. (An
//! [`Arithmetic`] can replace both functions.)
//!
//! An address outside its axis is an error, except where the notation pads: there a read is 0 and a write
//! is lost.

use broadloom::Projected;
use broadloom_core::projection::AxisIndex;

use crate::meaning::array::{Array, each_point};

/// The functions that combine numbers.
#[derive(Clone, Copy)]
pub struct Arithmetic {
    /// Combines the operands of a point.
    pub combine: fn(f64, f64) -> f64,
    /// Accumulates the values for a cell.
    pub accumulate: fn(f64, f64) -> f64,
    /// The neutral value, for cells that are not written and reads of the padding.
    pub neutral: f64,
}

/// Sums of products.
pub const SUM: Arithmetic = Arithmetic { combine: |a, b| a * b, accumulate: |a, b| a + b, neutral: 0.0 };

/// The result of a run.
pub struct Run {
    pub results: Vec<Array>,
    /// The number of points of the product space, whether anything happens there or not.
    pub points: u64,
    /// The number of writes to each cell of each result.
    pub writes: Vec<Vec<u32>>,
}

/// The position of a point of the product space on a tensor.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Spot {
    /// An index of the tensor does not exist there.
    Absent,
    /// In the padding.
    Outside,
    At(usize),
}

/// Runs a nest. `operands` are in the order of the nest, `symbol` is every position supplied at run
/// time, and `padded` is true for each padded axis of each tensor of the nest.
pub fn run(
    nest: &Projected,
    operands: &[&Array],
    symbol: u64,
    padded: &[Vec<bool>],
    arithmetic: Arithmetic,
) -> Result<Run, String> {
    let Arithmetic { combine, accumulate, neutral } = arithmetic;
    let projection = &nest.projection;
    let entries = nest.tensors.len();
    if projection.maps.len() != entries || nest.sizes.len() != entries || padded.len() != entries {
        return Err(format!("{entries} tensors, {} maps", projection.maps.len()));
    }
    let factors = factors(nest)?;
    let mut results: Vec<Array> = (0..nest.results).map(|at| Array::zeros(nest.shape(at))).collect();
    results.iter_mut().for_each(|array| array.values.fill(neutral));
    let writes = results.iter().map(|array| vec![0; array.values.len()]).collect();
    let mut run = Run { results, points: 0, writes };
    let mut at: Vec<Option<u64>> = vec![None; projection.loops.len()];

    let choices: Vec<u64> = factors.iter().map(|factor| factor.len() as u64).collect();
    each_point(&choices, |choice| {
        let running: Vec<u32> =
            choice.iter().zip(&factors).map(|(which, factor)| factor[*which as usize]).collect();
        let extents: Vec<u64> =
            running.iter().map(|index| projection.loops[*index as usize].extent.get()).collect();
        at.fill(None);
        let points = each_point(&extents, |point| {
            for (index, position) in running.iter().zip(point) {
                at[*index as usize] = Some(*position);
            }
            let spot = |entry| spot(nest, entry, &at, symbol, &padded[entry]);
            let mut value = None;
            for (slot, operand) in operands.iter().enumerate() {
                let entry = nest.results + slot;
                let read = match spot(entry)? {
                    Spot::Absent => continue,
                    Spot::Outside => neutral,
                    Spot::At(place) => operand.values[place],
                };
                value = Some(value.map_or(read, |value| combine(value, read)));
            }
            for result in 0..nest.results {
                if let Spot::At(place) = spot(result)? {
                    let cell = &mut run.results[result].values[place];
                    *cell = value.map_or(*cell, |value| accumulate(*cell, value));
                    run.writes[result][place] += 1;
                }
            }
            Ok(())
        })?;
        run.points += points;
        Ok(())
    })?;
    Ok(run)
}

/// The loops of each factor, which must be adjacent.
fn factors(nest: &Projected) -> Result<Vec<Vec<u32>>, String> {
    let mut factors: Vec<Vec<u32>> = Vec::new();
    let mut last = None;
    for (index, each) in nest.projection.loops.iter().enumerate() {
        if last != Some(each.factor) {
            if last.is_some_and(|last| each.factor < last) {
                return Err(format!("the loops of a factor are apart: {:?}", nest.projection.loops));
            }
            factors.push(Vec::new());
            last = Some(each.factor);
        }
        factors.last_mut().ok_or("no factor")?.push(index as u32);
    }
    Ok(factors)
}

/// The loops that a map mentions, in the order of its axes.
fn loops_of(nest: &Projected, entry: usize) -> Vec<u32> {
    nest.projection.maps[entry].iter().flat_map(loops_of_index).collect()
}

fn loops_of_index(index: &AxisIndex) -> Vec<u32> {
    match index {
        AxisIndex::Sum(sum) => sum.terms.iter().map(|(_, index)| *index).collect(),
        AxisIndex::Symbol(_) => Vec::new(),
        AxisIndex::Concat(segments) => segments.iter().map(|segment| segment.index).collect(),
    }
}

fn spot(
    nest: &Projected,
    entry: usize,
    at: &[Option<u64>],
    symbol: u64,
    padded: &[bool],
) -> Result<Spot, String> {
    let (map, sizes) = (&nest.projection.maps[entry], &nest.shape(entry));
    if map.len() != sizes.len() {
        return Err(format!("tensor {entry} has {} axes and {} indices", sizes.len(), map.len()));
    }
    let mut place = 0;
    let mut outside = false;
    for (axis, (index, size)) in map.iter().zip(sizes).enumerate() {
        let position = match index {
            AxisIndex::Symbol(_) => Some(symbol as i64),
            AxisIndex::Sum(sum) => {
                let start = sum.offset.as_number().unwrap_or_default();
                sum.terms.iter().try_fold(start, |total, (coefficient, index)| {
                    Some(total + coefficient.as_number()? * at[*index as usize]? as i64)
                })
            }
            AxisIndex::Concat(segments) => {
                let mut running = segments.iter().filter_map(|segment| {
                    at[segment.index as usize].map(|position| (segment.offset.get() + position) as i64)
                });
                let position = running.next();
                if running.next().is_some() {
                    return Err(format!("two parts of axis {axis} of tensor {entry} run at once"));
                }
                position
            }
        };
        let Some(position) = position else { return Ok(Spot::Absent) };
        if position < 0 || position >= *size as i64 {
            if !padded[axis] {
                return Err(format!(
                    "axis {axis} of tensor {entry} has size {size}, addressed at {position}"
                ));
            }
            outside = true;
        }
        place = place * *size as usize + position.max(0) as usize;
    }
    Ok(if outside { Spot::Outside } else { Spot::At(place) })
}

/// Checks the order of loops: by first appearance, results first, each tensor in memory order. The
/// loops of one factor are adjacent, in any order; so are the loops of one sum.
pub fn check_order(nest: &Projected) -> Result<(), String> {
    let projection = &nest.projection;
    let mut seen: Vec<u32> = Vec::new();
    let mut next = 0;
    for (entry, map) in projection.maps.iter().enumerate() {
        for index in map {
            let mut new: Vec<u32> = Vec::new();
            for each in loops_of_index(index) {
                let factor = projection.loops.get(each as usize).ok_or("a loop that is not there")?.factor;
                if !seen.contains(&factor) && !new.contains(&factor) {
                    new.push(factor);
                }
            }
            new.sort_unstable();
            for factor in new {
                if factor != next {
                    return Err(format!("factor {factor} of tensor {entry} comes out of order"));
                }
                seen.push(factor);
                next += 1;
            }
        }
    }
    if let Some(each) = projection.loops.iter().find(|each| !seen.contains(&each.factor)) {
        return Err(format!("a factor that nothing mentions: {each:?}"));
    }
    for result in 0..nest.results {
        let mentioned = loops_of(nest, result);
        let missing: Vec<u32> =
            (0..projection.loops.len() as u32).filter(|index| !mentioned.contains(index)).collect();
        if projection.missing(result) != missing {
            return Err(format!(
                "reductions {:?}, but the map leaves {missing:?}",
                projection.missing(result)
            ));
        }
    }
    Ok(())
}
