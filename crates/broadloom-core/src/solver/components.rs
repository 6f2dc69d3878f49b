//! Strongly connected components, with an explicit stack (Tarjan's algorithm).

use crate::ids::{Id, IdVec, NIL, ids};

ids! {
    /// A component. The numbers grow from successors to predecessors.
    pub(crate) ComponentId "component";
}

/// The components of a graph whose nodes are things of one kind.
pub(crate) struct Components<I> {
    /// The component of every node.
    pub of: IdVec<I, ComponentId>,
    /// Every node, members of a component together, after all its successors in other components.
    pub order: Vec<I>,
}

/// Finds the components. `successors` appends the successors of a node to a list.
///
/// For example, with edges 0 → 1, 1 → 2 and 2 → 1, nodes 1 and 2 share a component and node 0 comes
/// last.
pub(crate) fn components<I: Id>(count: usize, mut successors: impl FnMut(I, &mut Vec<I>)) -> Components<I> {
    let mut found = IdVec::filled(ComponentId::NIL, count);
    let mut finished = Vec::with_capacity(count);
    // The order of discovery, and the earliest node on the path that can be reached.
    let (mut order, mut low) = (IdVec::filled(NIL, count), IdVec::filled(NIL, count));
    let (mut clock, mut next_component) = (0, ComponentId(0));
    let (mut path, mut pending, mut frames) = (Vec::new(), Vec::new(), Vec::new());
    for start in found.ids() {
        let mut entering = (order[start] == NIL).then_some(start);
        loop {
            if let Some(node) = entering.take() {
                (order[node], low[node]) = (clock, clock);
                clock += 1;
                path.push(node);
                frames.push((node, pending.len()));
                successors(node, &mut pending);
            }
            let Some((node, begin)) = frames.last().copied() else { break };
            if pending.len() > begin {
                let Some(next) = pending.pop() else { break };
                if order[next] == NIL {
                    entering = Some(next);
                } else if found[next] == ComponentId::NIL {
                    low[node] = low[node].min(order[next]);
                }
                continue;
            }
            frames.pop();
            if let Some((parent, _)) = frames.last() {
                low[*parent] = low[*parent].min(low[node]);
            }
            if low[node] == order[node] {
                while let Some(member) = path.pop() {
                    found[member] = next_component;
                    finished.push(member);
                    if member == node {
                        break;
                    }
                }
                next_component.0 += 1;
            }
        }
    }
    Components { of: found, order: finished }
}

#[cfg(test)]
mod tests {
    use super::components;
    use crate::term::RowVar;

    #[test]
    fn successors_come_first_and_cycles_are_one() {
        let edges: [&[u32]; 5] = [&[1], &[2, 3], &[1], &[], &[0]];
        let found = components(5, |node: RowVar, out| {
            out.extend(edges[node.index()].iter().map(|next| RowVar(*next)));
        });
        assert_eq!(found.of[RowVar(1)], found.of[RowVar(2)]);
        let place = |node: u32| found.order.iter().position(|member| *member == RowVar(node));
        assert!(place(3) < place(1) && place(1) < place(0) && place(2) < place(0) && place(0) < place(4));
    }
}
