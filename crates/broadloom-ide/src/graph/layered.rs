//! Layered drawings of graphs (Sugiyama, Tagawa, Toda 1981), in which edges go down and cross
//! little.
//!
//! 1. *Ranks*: a box is below everything it reads; a leaf is right above its first reader.
//! 2. *Order* in each rank: edges over several ranks get a place in each; then sweeps up and down put everything at the
//!    median of its neighbours, and neighbours are swapped where that helps. The order with the fewest crossings stays.
//! 3. *Places*: each box is drawn towards its neighbours, long edges more than others so that they
//!    are straight. In one rank the best places under a given order and given distances are an
//!    isotonic regression (pool adjacent violators), which takes linear time.

use std::cmp::Ordering;

/// A box to be placed.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlacedBox {
    pub width: f64,
    pub height: f64,
    pub role: Role,
}

/// The kind of a box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Role {
    Usual,
    /// Belongs right above its first reader.
    Leaf,
    /// Lies on the upper edge of the drawing.
    Top,
    /// Lies on the lower edge of the drawing.
    Bottom,
}

/// An edge, with its start and end relative to the middles of the boxes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub from: usize,
    pub to: usize,
    pub from_x: f64,
    pub to_x: f64,
}

/// The positions of everything. The upper left corner is at 0, 0.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// The middle of the upper side of each box.
    pub places: Vec<(f64, f64)>,
    /// The points of each edge: from the lower side of a box to the upper side of another.
    pub paths: Vec<Vec<(f64, f64)>>,
    pub width: f64,
    pub height: f64,
}

/// The distance between boxes of a rank.
const APART: f64 = 22.0;
/// The distance between edges that pass through a rank.
const EDGES_APART: f64 = 12.0;
/// The distance between ranks. An edge first goes straight down, which leaves room for its label.
const BETWEEN: f64 = 50.0;
const STRAIGHT: f64 = 20.0;
/// The number of times that the order and the places are improved.
const ORDER_SWEEPS: usize = 16;
const PLACE_SWEEPS: usize = 40;
/// Large drawings are improved less often: this is about the total number of steps, each for one
/// spot.
const STEPS: usize = 400_000;

/// Lays out a graph. Edges must go from smaller to larger numbers, except from leaves; other edges
/// are drawn, but do not affect the layout.
pub(super) fn layout(items: &[PlacedBox], edges: &[Edge]) -> Layout {
    if items.is_empty() {
        return Layout::default();
    }
    let ranks = ranks(items, edges);
    let mut graph = Ranked::new(items, edges, &ranks);
    graph.order();
    graph.place();
    graph.finish(items, edges)
}

fn ranks(items: &[PlacedBox], edges: &[Edge]) -> Vec<usize> {
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); items.len()];
    for edge in edges.iter().filter(|edge| goes_down(items, edge)) {
        below[edge.from].push(edge.to);
    }
    let mut ranks = vec![0usize; items.len()];
    // Leaves and inputs first: they read nothing.
    let early = |at: &usize| matches!(items[*at].role, Role::Leaf | Role::Top);
    let order = (0..items.len()).filter(early).chain((0..items.len()).filter(|at| !early(at)));
    for at in order {
        for next in &below[at] {
            ranks[*next] = ranks[*next].max(ranks[at] + 1);
        }
    }
    for at in 0..items.len() {
        let first = below[at].iter().map(|next| ranks[*next]).min();
        if let (Role::Leaf, Some(first)) = (items[at].role, first) {
            ranks[at] = first.saturating_sub(1);
        }
    }
    let others = (0..items.len()).filter(|at| items[*at].role != Role::Bottom);
    let last = others.map(|at| ranks[at] + 1).max().unwrap_or(0);
    for at in 0..items.len() {
        match items[at].role {
            Role::Top => ranks[at] = 0,
            Role::Bottom => ranks[at] = last,
            Role::Usual | Role::Leaf => {}
        }
    }
    // Nothing else may be in the rank of the items on the upper edge.
    if items.iter().any(|item| item.role == Role::Top) {
        let beside = items.iter().zip(&ranks).any(|(item, rank)| item.role != Role::Top && *rank == 0);
        if beside {
            for (rank, item) in ranks.iter_mut().zip(items) {
                *rank += usize::from(item.role != Role::Top);
            }
        }
    }
    ranks
}

/// Returns true if an edge affects the layout.
fn goes_down(items: &[PlacedBox], edge: &Edge) -> bool {
    matches!(items[edge.from].role, Role::Leaf | Role::Top)
        || items[edge.to].role == Role::Bottom
        || edge.from < edge.to
}

/// An item in a rank: a box, or a place where a long edge passes.
struct Spot {
    rank: usize,
    width: f64,
    /// True if a long edge passes.
    passes: bool,
    /// True if it is a leaf, which moves towards its readers rather than the reverse.
    leaf: bool,
    /// Its neighbours in the ranks above and below: the index, and the points where the edge meets
    /// both, relative to their middles.
    above: Vec<(usize, f64, f64)>,
    below: Vec<(usize, f64, f64)>,
    x: f64,
}

struct Ranked {
    spots: Vec<Spot>,
    /// The spots of each rank from left to right.
    rows: Vec<Vec<usize>>,
    /// The position of each spot in its row.
    at: Vec<usize>,
    /// The spots of each edge.
    routes: Vec<Vec<usize>>,
}

impl Ranked {
    fn new(items: &[PlacedBox], edges: &[Edge], ranks: &[usize]) -> Ranked {
        let spot = |rank, width, passes, leaf| Spot {
            rank,
            width,
            passes,
            leaf,
            above: Vec::new(),
            below: Vec::new(),
            x: 0.0,
        };
        let mut spots: Vec<Spot> = items
            .iter()
            .zip(ranks)
            .map(|(item, rank)| spot(*rank, item.width, false, item.role == Role::Leaf))
            .collect();
        let mut routes = Vec::with_capacity(edges.len());
        for edge in edges {
            let (low, high) = (ranks[edge.from], ranks[edge.to]);
            let mut route = vec![edge.from];
            for rank in low + 1..high {
                spots.push(spot(rank, EDGES_APART, true, false));
                route.push(spots.len() - 1);
            }
            route.push(edge.to);
            if high > low {
                for (place, pair) in route.windows(2).enumerate() {
                    let from_x = if place == 0 { edge.from_x } else { 0.0 };
                    let to_x = if place + 2 == route.len() { edge.to_x } else { 0.0 };
                    spots[pair[0]].below.push((pair[1], from_x, to_x));
                    spots[pair[1]].above.push((pair[0], to_x, from_x));
                }
            }
            routes.push(route);
        }
        let mut rows = vec![Vec::new(); ranks.iter().max().map_or(0, |last| last + 1)];
        // Initially from left to right in the order in which they are read or made.
        let mut seen = vec![false; spots.len()];
        let mut stack: Vec<usize> = (0..items.len()).rev().collect();
        while let Some(next) = stack.pop() {
            if !std::mem::replace(&mut seen[next], true) {
                rows[spots[next].rank].push(next);
                stack.extend(spots[next].below.iter().rev().map(|(below, ..)| *below));
            }
        }
        let mut graph = Ranked { at: vec![0; spots.len()], spots, rows, routes };
        graph.number();
        graph
    }

    fn number(&mut self) {
        for row in &self.rows {
            for (place, spot) in row.iter().enumerate() {
                self.at[*spot] = place;
            }
        }
    }

    /// The point where an edge meets a spot, as a number that grows from left to right over the
    /// whole row.
    fn meets(&self, spot: usize, x: f64) -> f64 {
        let half = (self.spots[spot].width / 2.0).max(1.0);
        self.at[spot] as f64 + (x / half).clamp(-1.0, 1.0) * 0.4
    }

    /// The number of improvements for this drawing, which may be large.
    fn sweeps(&self, most: usize) -> usize {
        (STEPS / self.spots.len().max(1)).clamp(8, most)
    }

    fn order(&mut self) {
        let (mut best, mut fewest) = (self.rows.clone(), self.crossings());
        for sweep in 0..self.sweeps(ORDER_SWEEPS) {
            if fewest == 0 {
                break;
            }
            let down = sweep % 2 == 0;
            for step in 1..self.rows.len() {
                let rank = if down { step } else { self.rows.len() - 1 - step };
                self.sort_row(rank, down);
            }
            self.swap_neighbours();
            let crossings = self.crossings();
            if crossings < fewest {
                (best, fewest) = (self.rows.clone(), crossings);
            }
        }
        self.rows = best;
        self.number();
    }

    /// Sorts the spots of a row by the medians of their neighbours; spots without neighbours keep
    /// their positions.
    fn sort_row(&mut self, rank: usize, down: bool) {
        let median = |spot: usize| {
            let near = if down { &self.spots[spot].above } else { &self.spots[spot].below };
            let mut places: Vec<f64> = near.iter().map(|(other, _, x)| self.meets(*other, *x)).collect();
            places.sort_by(f64::total_cmp);
            let middle = places.len() / 2;
            match places.len() {
                0 => None,
                length if length % 2 == 1 => Some(places[middle]),
                _ => Some(f64::midpoint(places[middle - 1], places[middle])),
            }
        };
        let row = self.rows[rank].clone();
        let mut moving: Vec<(f64, usize)> =
            row.iter().filter_map(|spot| median(*spot).map(|median| (median, *spot))).collect();
        moving.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut moving = moving.into_iter();
        let is_fixed: Vec<bool> = row.iter().map(|spot| median(*spot).is_none()).collect();
        for (place, spot) in row.iter().enumerate() {
            let next = if is_fixed[place] { Some(*spot) } else { moving.next().map(|(_, spot)| spot) };
            self.rows[rank][place] = next.unwrap_or(*spot);
        }
        for (place, spot) in self.rows[rank].iter().enumerate() {
            self.at[*spot] = place;
        }
    }

    fn swap_neighbours(&mut self) {
        for rank in 0..self.rows.len() {
            for place in 1..self.rows[rank].len() {
                let (left, right) = (self.rows[rank][place - 1], self.rows[rank][place]);
                let degree = |spot: usize| self.spots[spot].above.len() + self.spots[spot].below.len();
                // Spots with many edges would take too long.
                if degree(left) * degree(right) <= 256
                    && self.crossings_of(right, left) < self.crossings_of(left, right)
                {
                    self.rows[rank].swap(place - 1, place);
                    (self.at[left], self.at[right]) = (place, place - 1);
                }
            }
        }
    }

    /// The number of crossings between the edges of two spots if the first is left of the second.
    fn crossings_of(&self, left: usize, right: usize) -> usize {
        let count = |a: &[(usize, f64, f64)], b: &[(usize, f64, f64)]| {
            let right: Vec<f64> = b.iter().map(|(other, _, x)| self.meets(*other, *x)).collect();
            let crossed = |left: f64| right.iter().filter(|right| **right < left).count();
            a.iter().map(|(other, _, x)| crossed(self.meets(*other, *x))).sum::<usize>()
        };
        let (left, right) = (&self.spots[left], &self.spots[right]);
        count(&left.above, &right.above) + count(&left.below, &right.below)
    }

    /// All crossings: in each gap, the inversions among its edges, by merging.
    fn crossings(&self) -> usize {
        let mut all = 0;
        for row in &self.rows {
            let mut edges: Vec<(f64, f64)> = Vec::new();
            for spot in row {
                let ends = self.spots[*spot].below.iter();
                edges.extend(ends.map(|(other, x, to)| (self.meets(*spot, *x), self.meets(*other, *to))));
            }
            edges.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
            let mut ends: Vec<f64> = edges.into_iter().map(|(_, end)| end).collect();
            all += inversions(&mut ends);
        }
        all
    }

    fn place(&mut self) {
        for row in 0..self.rows.len() {
            let mut x = 0.0;
            for place in 0..self.rows[row].len() {
                let spot = self.rows[row][place];
                x += if place == 0 { 0.0 } else { self.apart(self.rows[row][place - 1], spot) };
                self.spots[spot].x = x;
            }
        }
        let sweeps = self.sweeps(PLACE_SWEEPS);
        for sweep in 0..sweeps {
            let last = sweep + 4 >= sweeps;
            for step in 0..self.rows.len() {
                let down = sweep % 2 == 0;
                let rank = if down { step } else { self.rows.len() - 1 - step };
                self.place_row(rank, down || last, !down || last);
            }
        }
    }

    /// The least distance between the middles of two neighbours.
    fn apart(&self, left: usize, right: usize) -> f64 {
        let (left, right) = (&self.spots[left], &self.spots[right]);
        let gap = if left.passes && right.passes { 0.0 } else { APART };
        f64::midpoint(left.width, right.width) + gap
    }

    /// The best places for a row: they minimise the sum of squared distances from the preferred
    /// positions.
    fn place_row(&mut self, rank: usize, above: bool, below: bool) {
        let row = &self.rows[rank];
        let mut offsets = Vec::with_capacity(row.len());
        let mut offset = 0.0;
        for (place, spot) in row.iter().enumerate() {
            offset += if place == 0 { 0.0 } else { self.apart(row[place - 1], *spot) };
            offsets.push(offset);
        }
        // With the distances subtracted, only the order remains: places must not decrease.
        let mut pools: Vec<(f64, f64, usize)> = Vec::new();
        for (spot, offset) in row.iter().zip(&offsets) {
            let (wanted, weight) = self.wanted(*spot, above, below);
            pools.push((wanted - offset, weight, 1));
            while let [.., (a, wa, na), (b, wb, nb)] = pools[..] {
                if a <= b {
                    break;
                }
                let weight = wa + wb;
                pools.truncate(pools.len() - 2);
                pools.push(((a * wa + b * wb) / weight, weight, na + nb));
            }
        }
        let places: Vec<f64> =
            pools.iter().flat_map(|(place, _, count)| std::iter::repeat_n(*place, *count)).collect();
        let moves: Vec<(usize, f64)> = row
            .iter()
            .zip(places.iter().zip(&offsets))
            .map(|(spot, (place, offset))| (*spot, place + offset))
            .collect();
        for (spot, x) in moves {
            self.spots[spot].x = x;
        }
    }

    /// The preferred position of a spot, and its weight.
    fn wanted(&self, spot: usize, above: bool, below: bool) -> (f64, f64) {
        let this = &self.spots[spot];
        let above = if above { &this.above[..] } else { &[] };
        let below = if below { &this.below[..] } else { &[] };
        let (mut sum, mut weights) = (0.0, 0.0);
        for (other, own_x, other_x) in above.iter().chain(below) {
            let that = &self.spots[*other];
            let weight = match (this.passes, that.passes) {
                (true, true) => 8.0,
                (false, false) if that.leaf && !this.leaf => 0.1,
                (false, false) => 1.0,
                _ => 2.0,
            };
            sum += weight * (that.x + other_x - own_x);
            weights += weight;
        }
        // A leaf yields to computed tensors.
        let force = if this.leaf { 0.05 } else { 1.0 };
        if weights == 0.0 { (this.x, 0.05 * force) } else { (sum / weights, weights * force) }
    }

    fn finish(self, items: &[PlacedBox], edges: &[Edge]) -> Layout {
        let left = self.spots.iter().map(|spot| spot.x - spot.width / 2.0).fold(f64::INFINITY, f64::min);
        let right = self.spots.iter().map(|spot| spot.x + spot.width / 2.0).fold(f64::NEG_INFINITY, f64::max);
        let mut tops = vec![0.0; self.rows.len()];
        let mut heights = vec![0.0f64; self.rows.len()];
        for (item, spot) in items.iter().zip(&self.spots) {
            heights[spot.rank] = heights[spot.rank].max(item.height);
        }
        let mut y = 0.0;
        for rank in 0..self.rows.len() {
            tops[rank] = y;
            let edge_of_drawing = heights[rank] == 0.0;
            y += heights[rank] + if edge_of_drawing { BETWEEN - STRAIGHT } else { BETWEEN };
        }
        let height = tops.last().copied().unwrap_or(0.0) + heights.last().copied().unwrap_or(0.0);
        // Leaves are placed low, close to their readers; other boxes are centred in their rank.
        let top = |at: usize| {
            let spot = &self.spots[at];
            let slack = heights[spot.rank] - items[at].height;
            tops[spot.rank] + if items[at].role == Role::Leaf { slack } else { slack / 2.0 }
        };
        let places: Vec<(f64, f64)> = (0..items.len()).map(|at| (self.spots[at].x - left, top(at))).collect();
        let mut paths = Vec::with_capacity(edges.len());
        for (edge, route) in edges.iter().zip(&self.routes) {
            let (from, to) = (places[edge.from], places[edge.to]);
            let start = (from.0 + edge.from_x, from.1 + items[edge.from].height);
            let rank = self.spots[edge.from].rank;
            let mut path = vec![start];
            if items[edge.from].height > 0.0 {
                path.push((start.0, tops[rank] + heights[rank] + STRAIGHT));
            }
            for spot in &route[1..route.len() - 1] {
                let Spot { rank, x, .. } = self.spots[*spot];
                path.push((x - left, tops[rank]));
                path.push((x - left, tops[rank] + heights[rank] + STRAIGHT));
            }
            path.push((to.0 + edge.to_x, to.1));
            paths.push(path);
        }
        Layout { places, paths, width: right - left, height }
    }
}

/// The number of pairs in the wrong order. Sorts the values in the process.
fn inversions(values: &mut [f64]) -> usize {
    if values.len() < 2 {
        return 0;
    }
    let (left, right) = values.split_at_mut(values.len() / 2);
    let mut found = inversions(left) + inversions(right);
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut a, mut b) = (0, 0);
    while a < left.len() || b < right.len() {
        let from_left =
            b == right.len() || (a < left.len() && left[a].total_cmp(&right[b]) != Ordering::Greater);
        if from_left {
            merged.push(left[a]);
            a += 1;
        } else {
            merged.push(right[b]);
            found += left.len() - a;
            b += 1;
        }
    }
    values.copy_from_slice(&merged);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxes(count: usize) -> Vec<PlacedBox> {
        vec![PlacedBox { width: 40.0, height: 20.0, role: Role::Usual }; count]
    }

    fn edge(from: usize, to: usize) -> Edge {
        Edge { from, to, from_x: 0.0, to_x: 0.0 }
    }

    /// Two independent chains, given crosswise, are drawn side by side; every edge goes down.
    #[test]
    fn crossings_are_removed() {
        let edges = [edge(0, 3), edge(1, 2), edge(2, 5), edge(3, 4)];
        let layout = layout(&boxes(6), &edges);
        for path in &layout.paths {
            assert!(path.windows(2).all(|pair| pair[0].1 <= pair[1].1), "{path:?}");
            assert!((path[0].0 - path[path.len() - 1].0).abs() < 0.5, "straight: {path:?}");
        }
    }

    /// No two boxes of a rank overlap.
    #[test]
    fn boxes_are_apart() {
        let edges: Vec<Edge> = (1..40).map(|at| edge(at / 3, at)).collect();
        let Layout { places, .. } = layout(&boxes(40), &edges);
        for (at, a) in places.iter().enumerate() {
            for b in &places[at + 1..] {
                assert!((a.1 - b.1).abs() > 1.0 || (a.0 - b.0).abs() >= 40.0 + APART - 1e-6, "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn inversions_are_counted() {
        assert_eq!(inversions(&mut [3.0, 1.0, 2.0, 0.0]), 5);
        assert_eq!(inversions(&mut [1.0, 1.0, 2.0]), 0);
    }
}
