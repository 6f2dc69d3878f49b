//! The division of every tensor that follows from requests, or the conflicts between them.

use broadloom_loops::{Index, LoopVar};

use crate::access::{Access, AxisAddressing, Kind, accesses};
use crate::{Axis, Groups, Mesh, Routine};

/// The mesh axis that each axis of a tensor is divided over, if it is.
pub type Division = Vec<Option<usize>>;

/// A request to divide the groups of some axes over a mesh axis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// The axes that were named.
    pub axes: Vec<Axis>,
    /// The mesh axis.
    pub over: usize,
    /// True if each axis was named as an axis of its tensor: if the tensor has several axes in the group, it is divided at this one.
    pub chooses: bool,
}

/// An axis with the request that divides it, by its place among the requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Claim {
    /// The axis.
    pub axis: Axis,
    /// The place of the request.
    pub request: usize,
}

/// A reason why requests cannot be followed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Conflict {
    /// Two axes of one tensor would be divided over the same mesh axis.
    TwoAxes {
        /// One axis.
        first: Claim,
        /// The other axis.
        second: Claim,
        /// True if both are in one axis group.
        joined: bool,
    },
    /// One axis group would be divided over two mesh axes.
    TwoMeshAxes {
        /// The axis that one request names.
        first: Claim,
        /// The axis that the other one names.
        second: Claim,
    },
    /// A scan goes along an axis that would be divided, turn by turn.
    Turns {
        /// The axis that was named.
        claim: Claim,
        /// The place of the routine that has the scan.
        routine: usize,
        /// The place of the nest of a turn that reads or writes there.
        nest: usize,
    },
    /// A size is no multiple of the devices along its mesh axis.
    Uneven {
        /// The axis that was named.
        claim: Claim,
        /// Its size.
        size: u64,
    },
}

impl Conflict {
    /// The axes that are in conflict, each with its request.
    fn claims(&self) -> impl Iterator<Item = Claim> {
        let (first, second) = match self {
            Conflict::TwoAxes { first, second, .. } | Conflict::TwoMeshAxes { first, second } => {
                (*first, Some(*second))
            }
            Conflict::Turns { claim, .. } | Conflict::Uneven { claim, .. } => (*claim, None),
        };
        [first].into_iter().chain(second)
    }
}

/// Divides tensors as requests say. Each request has at least one axis.
///
/// An axis that is the highest digit of a divided one is divided with it, where devices can share its positions evenly: the groups of keys
/// with the heads that read them. It stays whole where that would be in conflict with something else, because nobody has asked for it.
pub fn divide(
    groups: &Groups,
    mesh: &Mesh,
    requests: &[Request],
    routines: &[Routine<'_>],
) -> Result<Vec<Division>, Vec<Conflict>> {
    let (asked, mut conflicts) = claimed(groups, requests);
    for claim in asked.iter().flatten() {
        let (size, parts) = (groups.size(claim.axis), mesh.size(requests[claim.request].over));
        if !size.is_multiple_of(parts) {
            conflicts.push(Conflict::Uneven { claim: *claim, size });
        }
    }
    conflicts.extend(divided_turns(groups, &asked, routines));
    if !conflicts.is_empty() {
        return Err(conflicts);
    }
    let mut whole = vec![false; asked.len()];
    loop {
        let claims = with_digits(groups, mesh, requests, (&asked, &whole));
        let mut conflicts = divided_turns(groups, &claims, routines);
        let made = by_claims(groups, mesh, (requests, &claims), routines);
        conflicts.extend(made.as_ref().err().into_iter().flatten().cloned());
        let mut given_up = false;
        for claim in conflicts.iter().flat_map(Conflict::claims) {
            let group = groups.of(claim.axis);
            if asked[group].is_none() {
                whole[group] = true;
                given_up = true;
            }
        }
        if !given_up {
            return made;
        }
    }
}

/// The claims, and more for axes that are the highest digit of a claimed one, except for those that stay whole.
fn with_digits(
    groups: &Groups,
    mesh: &Mesh,
    requests: &[Request],
    (asked, whole): (&[Option<Claim>], &[bool]),
) -> Vec<Option<Claim>> {
    let mut claims = asked.to_vec();
    loop {
        let mut changed = false;
        for (axis, highest) in groups.digits() {
            let Some(Claim { request, .. }) = claims[groups.of(*axis)] else { continue };
            let (group, parts) = (groups.of(*highest), mesh.size(requests[request].over));
            if claims[group].is_none() && !whole[group] && groups.size(*highest).is_multiple_of(parts) {
                claims[group] = Some(Claim { axis: *highest, request });
                changed = true;
            }
        }
        if !changed {
            return claims;
        }
    }
}

/// The division of every tensor by claims on axis groups.
fn by_claims(
    groups: &Groups,
    mesh: &Mesh,
    (requests, claims): (&[Request], &[Option<Claim>]),
    routines: &[Routine<'_>],
) -> Result<Vec<Division>, Vec<Conflict>> {
    let mut conflicts = Vec::new();
    let mut wanted: Vec<Division> = groups.sizes().iter().map(|sizes| vec![None; sizes.len()]).collect();
    for axis in groups.axes() {
        wanted[axis.tensor][axis.place] = claims[groups.of(axis)].map(|claim| requests[claim.request].over);
    }
    let mut choices = Choices { groups, wanted: &wanted, chosen: vec![Vec::new(); wanted.len()] };
    choices.request(requests);
    choices.spread(routines);
    let chosen = choices.chosen;
    for (tensor, division) in wanted.iter_mut().enumerate() {
        for over in 0..mesh.axes.len() {
            let places = places(division, over);
            let [first, second, ..] = places[..] else { continue };
            match chosen[tensor].iter().find(|(known, _)| *known == over) {
                Some((_, place)) => {
                    conflicts.extend(chosen_twice(groups, requests, (tensor, over)));
                    places.iter().filter(|each| *each != place).for_each(|each| division[*each] = None);
                }
                None => {
                    let claim = |place| {
                        let axis = Axis { tensor, place };
                        claims[groups.of(axis)].map(|Claim { request, .. }| Claim { axis, request })
                    };
                    let (Some(first), Some(second)) = (claim(first), claim(second)) else { continue };
                    let joined = groups.of(first.axis) == groups.of(second.axis);
                    conflicts.push(Conflict::TwoAxes { first, second, joined });
                }
            }
        }
    }
    if conflicts.is_empty() { Ok(wanted) } else { Err(conflicts) }
}

/// The conflict between requests that choose two axes of a tensor for one mesh axis.
fn chosen_twice(groups: &Groups, requests: &[Request], (tensor, over): (usize, usize)) -> Option<Conflict> {
    let choices = requests.iter().enumerate().filter(|(_, request)| request.chooses && request.over == over);
    let mut claims = choices.flat_map(|(request, Request { axes, .. })| {
        axes.iter().filter(|axis| axis.tensor == tensor).map(move |axis| Claim { axis: *axis, request })
    });
    let first = claims.next()?;
    let second = claims.find(|second| second.axis != first.axis)?;
    Some(Conflict::TwoAxes { first, second, joined: groups.of(first.axis) == groups.of(second.axis) })
}

/// The claim on each group, by the number of the group, and conflicts between claims.
fn claimed(groups: &Groups, requests: &[Request]) -> (Vec<Option<Claim>>, Vec<Conflict>) {
    let mut claims: Vec<Option<Claim>> = vec![None; groups.axes().count()];
    let mut conflicts = Vec::new();
    for (request, Request { axes, over, .. }) in requests.iter().enumerate() {
        for axis in axes {
            let second = Claim { axis: *axis, request };
            match claims[groups.of(*axis)] {
                None => claims[groups.of(*axis)] = Some(second),
                Some(first) if requests[first.request].over != *over => {
                    conflicts.push(Conflict::TwoMeshAxes { first, second });
                }
                Some(_) => {}
            }
        }
    }
    (claims, conflicts)
}

/// The claims on axes that scans go along: a turn needs what the one before it has made, wherever that is.
fn divided_turns(groups: &Groups, claims: &[Option<Claim>], routines: &[Routine<'_>]) -> Vec<Conflict> {
    let mut found: Vec<Conflict> = Vec::new();
    for (number, routine) in routines.iter().enumerate().filter(|(_, each)| !each.program.repeats.is_empty())
    {
        for access in accesses(routine.program) {
            let repeats = routine.program.repeats.iter().filter(|each| each.nests.contains(&access.nest));
            let counted: Vec<u32> = repeats.map(|repeat| repeat.symbol).collect();
            for cell in [access.cell].into_iter().chain(&access.reads) {
                for (place, index) in cell.index.iter().enumerate() {
                    let along = Axis { tensor: routine.tensors[cell.buffer.index()], place };
                    let is_turn = matches!(index, Index::Symbol(symbol) if counted.contains(symbol));
                    let Some(claim) = claims[groups.of(along)].filter(|_| is_turn) else { continue };
                    let is_known = |each: &Conflict| matches!(each, Conflict::Turns { claim: known, .. } if *known == claim);
                    if !found.iter().any(is_known) {
                        found.push(Conflict::Turns { claim, routine: number, nest: access.nest });
                    }
                }
            }
        }
    }
    found
}

fn places(division: &Division, over: usize) -> Vec<usize> {
    (0..division.len()).filter(|place| division[*place] == Some(over)).collect()
}

/// For tensors that could be divided at several axes, the axis that was chosen for a mesh axis.
struct Choices<'g> {
    groups: &'g Groups,
    wanted: &'g [Division],
    chosen: Vec<Vec<(usize, usize)>>,
}

impl Choices<'_> {
    fn is_open(&self, tensor: usize, over: usize) -> bool {
        let several = places(&self.wanted[tensor], over).len() > 1;
        several && self.chosen[tensor].iter().all(|(known, _)| *known != over)
    }

    fn request(&mut self, requests: &[Request]) {
        for Request { axes, over, .. } in requests.iter().filter(|request| request.chooses) {
            for Axis { tensor, place } in axes {
                if self.is_open(*tensor, *over) {
                    self.chosen[*tensor].push((*over, *place));
                }
            }
        }
    }

    /// A tensor that is computed with a divided one, by the same loop, is divided at the axis of that loop: the gradient of a square
    /// map and the states of its optimiser follow the map.
    fn spread(&mut self, routines: &[Routine<'_>]) {
        if (0..self.wanted.len()).all(|tensor| self.chosen[tensor].is_empty()) {
            return;
        }
        let all: Vec<(&Routine<'_>, Access<'_>)> = routines
            .iter()
            .flat_map(|routine| accesses(routine.program).into_iter().map(move |access| (routine, access)))
            .filter(|(_, access)| access.kind != Kind::Check)
            .collect();
        let mut changed = true;
        while changed {
            changed = false;
            for (routine, access) in &all {
                changed |= self.spread_in(routine, access);
            }
        }
    }

    /// Spreads choices between the cells of one store. Returns true if there is a new one.
    fn spread_in(&mut self, routine: &Routine<'_>, access: &Access<'_>) -> bool {
        let along: Vec<(LoopVar, Axis)> = [access.cell]
            .into_iter()
            .chain(&access.reads)
            .flat_map(|cell| {
                let tensor = routine.tensors[cell.buffer.index()];
                let sizes = &self.groups.sizes()[tensor];
                cell.index.iter().zip(sizes).enumerate().filter_map(
                    move |(place, (index, size))| match access.way(index, *size) {
                        AxisAddressing::Along(var) => Some((var, Axis { tensor, place })),
                        AxisAddressing::Highest(_) | AxisAddressing::Other => None,
                    },
                )
            })
            .collect();
        let mut found = Vec::new();
        for (var, from) in &along {
            for (over, place) in &self.chosen[from.tensor] {
                if *place == from.place {
                    let same = along.iter().filter(|(other, to)| other == var && to.tensor != from.tensor);
                    found.extend(same.map(|(_, to)| (*over, *to)));
                }
            }
        }
        let mut changed = false;
        for (over, Axis { tensor, place }) in found {
            if self.wanted[tensor][place] == Some(over) && self.is_open(tensor, over) {
                self.chosen[tensor].push((over, place));
                changed = true;
            }
        }
        changed
    }
}
