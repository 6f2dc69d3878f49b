//! Optimisers, written as assignments.

use broadloom_array::Dtype;
use broadloom_graph::lowering::Face;
use broadloom_graph::{Error, Graph, Tensor};

use crate::routine::Routine;
use crate::session::lasting;

/// Gradient descent with momentum and weight decay.
///
/// ```text
/// {delta}    = grad + decay * p
/// {momentum} = inertia * momentum + delta
/// p          =- rate * momentum
/// ```
///
/// Without inertia there is no momentum, and `p =- rate * delta`. The rate is a tensor without axes, so that it
/// can be data that changes from run to run, or a [number](Graph::number).
///
/// ```
/// use broadloom::{Graph, Routine, Sgd};
/// let mut g = Graph::new();
/// let (w, x) = (g.param_shaped("w", "... -> 2")?, g.data("x", "3")?);
/// let y = g.compose(w, x)?;
/// let y = g.square(y)?;
/// let loss = g.einsum("... => 0", &[y])?;
/// let mut train = Routine::new("train");
/// train.backward(&mut g, loss)?;
/// let rate = g.number(0.1);
/// Sgd { momentum: 0.9, ..Sgd::default() }.update(&mut g, &mut train, &[w], rate)?;
/// # Ok::<(), broadloom::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Sgd {
    /// The share of the last step that is taken again; 0 for none.
    pub momentum: f64,
    /// The strength with which parameters are drawn to 0.
    pub weight_decay: f64,
}

impl Sgd {
    /// Adds the updates of some parameters to a routine that computes their gradients.
    pub fn update(
        &self,
        graph: &mut Graph,
        routine: &mut Routine,
        params: &[Tensor],
        rate: Tensor,
    ) -> Result<(), Error> {
        let (decay, inertia) = (graph.number(self.weight_decay), graph.number(self.momentum));
        for param in params {
            let name = graph.short_name(*param);
            let grad = graph.gradient(*param)?;
            let mut names =
                vec![("p", *param), ("grad", grad), ("rate", rate), ("decay", decay), ("inertia", inertia)];
            if self.weight_decay != 0.0 {
                names[1].1 = routine.assign(graph, "{delta} = grad + decay * p", &names)?[0];
                name_freely(graph, names[1].1, &format!("{name}.delta"));
            }
            if self.momentum != 0.0 {
                let made = routine.assign(graph, "{momentum} = inertia * momentum + grad", &names)?;
                name_freely(graph, made[0], &format!("{name}.momentum"));
                names[1].1 = made[0];
            }
            routine.assign(graph, "p =- rate * grad", &names)?;
        }
        Ok(())
    }
}

/// Adam, and with `decoupled` weight decay AdamW.
///
/// ```text
/// step     =+ 1
/// {first}  = beta1 * first + (1 - beta1) * grad
/// {second} = beta2 * second + (1 - beta2) * grad * grad
/// p        =- rate * (first / (1 - beta1 ** step)) / (sqrt(second / (1 - beta2 ** step)) + epsilon)
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Adam {
    /// The decay rate of the mean of gradients.
    pub beta1: f64,
    /// The decay rate of the mean of their squares.
    pub beta2: f64,
    /// Keeps the quotient finite.
    pub epsilon: f64,
    /// The strength with which parameters are drawn to 0.
    pub weight_decay: f64,
    /// True if the decay acts on the parameter itself (AdamW) and not through the gradient.
    pub decoupled: bool,
}

impl Default for Adam {
    fn default() -> Adam {
        Adam { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weight_decay: 0.0, decoupled: false }
    }
}

impl Adam {
    /// Adds the updates of some parameters to a routine that computes their gradients.
    ///
    /// ```
    /// use broadloom::{Adam, Graph, Routine};
    /// let mut g = Graph::new();
    /// let (w, x) = (g.param_shaped("w", "... -> 2")?, g.data("x", "3")?);
    /// let y = g.compose(w, x)?;
    /// let y = g.square(y)?;
    /// let loss = g.einsum("... => 0", &[y])?;
    /// let mut train = Routine::new("train");
    /// train.backward(&mut g, loss)?;
    /// let rate = g.number(1e-3);
    /// Adam::default().update(&mut g, &mut train, &[w], rate)?;
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn update(
        &self,
        graph: &mut Graph,
        routine: &mut Routine,
        params: &[Tensor],
        rate: Tensor,
    ) -> Result<(), Error> {
        let name = free_name(graph, &format!("{}.step", routine.name()));
        let step = graph.state_shaped(&name, "")?;
        // Integers do not affect the precision of computations they are part of.
        graph.set_precision(step, Dtype::I64)?;
        routine.assign(graph, "step =+ 1", &[("step", step)])?;
        let settings = [
            ("beta1", self.beta1),
            ("beta2", self.beta2),
            ("epsilon", self.epsilon),
            ("decay", self.weight_decay),
        ];
        let settings = settings.map(|(name, value)| (name, graph.number(value)));
        for param in params {
            let grad = graph.gradient(*param)?;
            let mut names = vec![("p", *param), ("grad", grad), ("rate", rate), ("step", step)];
            names.extend(settings);
            self.update_one(graph, routine, names)?;
        }
        Ok(())
    }

    fn update_one(
        &self,
        graph: &mut Graph,
        routine: &mut Routine,
        mut names: Vec<(&'static str, Tensor)>,
    ) -> Result<(), Error> {
        let name = graph.short_name(names[0].1);
        if self.weight_decay != 0.0 && self.decoupled {
            routine.assign(graph, "p =- rate * decay * p", &names)?;
        } else if self.weight_decay != 0.0 {
            names[1].1 = routine.assign(graph, "{delta} = grad + decay * p", &names)?[0];
            name_freely(graph, names[1].1, &format!("{name}.delta"));
        }
        let made = routine.assign(
            graph,
            "{first} = beta1 * first + (1 - beta1) * grad; {second} = beta2 * second + (1 - beta2) * grad * grad",
            &names,
        )?;
        for (moment, kind) in made.iter().zip(["first", "second"]) {
            name_freely(graph, *moment, &format!("{name}.{kind}"));
            names.push((kind, *moment));
        }
        routine.assign(
            graph,
            "p =- rate * (first / (1 - beta1 ** step)) / (sqrt(second / (1 - beta2 ** step)) + epsilon)",
            &names,
        )?;
        Ok(())
    }
}

/// A name that no parameter or state has yet: the wanted one, with a number after it if necessary.
fn free_name(graph: &Graph, wanted: &str) -> String {
    let taken: Vec<String> = lasting(graph).into_iter().map(|tensor| graph.short_name(tensor)).collect();
    let numbered = (2..).map(|number| format!("{wanted}.{number}"));
    let mut names = std::iter::once(wanted.to_string()).chain(numbered);
    names.find(|name| !taken.contains(name)).unwrap_or_default()
}

fn name_freely(graph: &mut Graph, tensor: Tensor, wanted: &str) {
    let name = free_name(graph, wanted);
    graph.name(tensor, &name);
}
