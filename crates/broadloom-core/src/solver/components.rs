//! Strongly connected components, with an explicit stack (Tarjan's algorithm).

use crate::ids::NIL;

/// The components of a graph.
pub(crate) struct Components {
    /// The component of every node.
    pub of: Vec<u32>,
    /// Every node, members of a component together, after all its successors in other components.
    pub order: Vec<u32>,
}

/// Finds the components. `successors` appends the successors of a node to a list.
///
/// For example, with edges 0 → 1, 1 → 2 and 2 → 1, nodes 1 and 2 share a component and node 0 comes
/// last.
pub(crate) fn components(count: usize, mut successors: impl FnMut(u32, &mut Vec<u32>)) -> Components {
    let mut found = vec![NIL; count];
    let mut finished = Vec::with_capacity(count);
    // The order of discovery, and the earliest node on the path that can be reached.
    let (mut order, mut low) = (vec![NIL; count], vec![NIL; count]);
    let (mut clock, mut next_component) = (0, 0);
    let (mut path, mut pending, mut frames) = (Vec::new(), Vec::new(), Vec::new());
    for start in 0..count as u32 {
        let mut entering = (order[start as usize] == NIL).then_some(start);
        loop {
            if let Some(node) = entering.take() {
                (order[node as usize], low[node as usize]) = (clock, clock);
                clock += 1;
                path.push(node);
                frames.push((node, pending.len()));
                successors(node, &mut pending);
            }
            let Some((node, begin)) = frames.last().copied() else { break };
            if pending.len() > begin {
                let Some(next) = pending.pop() else { break };
                if order[next as usize] == NIL {
                    entering = Some(next);
                } else if found[next as usize] == NIL {
                    low[node as usize] = low[node as usize].min(order[next as usize]);
                }
                continue;
            }
            frames.pop();
            if let Some((parent, _)) = frames.last() {
                low[*parent as usize] = low[*parent as usize].min(low[node as usize]);
            }
            if low[node as usize] == order[node as usize] {
                while let Some(member) = path.pop() {
                    found[member as usize] = next_component;
                    finished.push(member);
                    if member == node {
                        break;
                    }
                }
                next_component += 1;
            }
        }
    }
    Components { of: found, order: finished }
}

#[cfg(test)]
mod tests {
    use super::components;

    #[test]
    fn successors_come_first_and_cycles_are_one() {
        let edges: [&[u32]; 5] = [&[1], &[2, 3], &[1], &[], &[0]];
        let found = components(5, |node, out| out.extend_from_slice(edges[node as usize]));
        assert_eq!(found.of[1], found.of[2]);
        let place = |node: u32| found.order.iter().position(|member| *member == node);
        assert!(place(3) < place(1) && place(1) < place(0) && place(2) < place(0) && place(0) < place(4));
    }
}
