//! A program that is ready to run, any number of times.
//!
//! [`Program::ready`] makes a session for it. Arrays are [given](Ready::give), and then its plan is [carried out](Ready::go), or
//! some of its tensors are [computed](Ready::compute). Parameters and states last from one to the next.

use broadloom::{
    Array, Copied, Error, GivenValues, Graph, LeafKind, Node, Remedy, Routine, Session, Settings, Tensor,
};
use broadloom_diagnostics::{Diagnostic, SourceId, Span};
use rustc_hash::FxHashMap;

use crate::codes;
use crate::eval::diagnosed;
use crate::feed::Feeds;
use crate::front::{self, Words};
use crate::observer::{Observer, notice};
use crate::plan::{Drawn, Plan};
use crate::program::{Application, NamedTensor, Origins, Program};

/// A program with its numbers.
pub struct Ready {
    /// Its numbers, and the code that computes them.
    pub session: Session,
    /// The words of whoever runs it.
    pub(crate) words: Words,
    pub(crate) plan: Plan,
    pub(crate) origins: Origins,
    applications: Vec<Application>,
    /// The number of notices of the session that have been passed on.
    pub(crate) noticed: usize,
    made: Vec<NamedTensor>,
    sizes: Vec<(String, u64)>,
    main: SourceId,
    seed: u64,
    /// The data whose values are from outside now.
    pub(crate) given: Vec<Tensor>,
    /// The progress of the streams.
    pub(crate) feeds: Feeds,
}

/// The tensors that can be computed from the values that are given.
#[derive(Clone, Debug)]
pub struct Available {
    /// Computes the tensors.
    pub routine: Routine,
    /// The named tensors that it computes, in order. One that has several names is there under each; a leaf under those that it got
    /// by `let`.
    pub tensors: Vec<(String, Tensor)>,
    /// Named tensors that it leaves out, each with the data whose values are missing; or none, if it depends on gradients.
    pub left_out: Vec<(String, Option<String>)>,
}

impl Program {
    /// Makes a session for the program. The program is compiled for all sizes at once: named sizes are those that were
    /// set, or follow from arrays that are given, or are as declared.
    ///
    /// ```
    /// use broadloom::{Array, GivenValues, Settings};
    /// use broadloom_lang::{Options, compile};
    ///
    /// let program = compile("a.loom", "data x : 3\nlet y = 2 * x\nlet z = y + 1\n", &Options::default());
    /// let mut ready = program.ready(&Settings::default()).map_err(|wrong| wrong.message)?;
    /// let x = Array::from_slice(&[3], &[1.0f32, 2.0, 3.0])?;
    /// ready.give(&[("x", GivenValues::Copied(&x))]).map_err(|wrong| wrong.message)?;
    /// let available = ready.available();
    /// ready.compute(&available.routine).map_err(|wrong| wrong.message)?;
    /// let (name, z) = &available.tensors[1];
    /// assert_eq!((name.as_str(), ready.session.get(*z)?.to_f64s()), ("z", vec![3.0, 5.0, 7.0]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ready(mut self, settings: &Settings) -> Result<Ready, Box<Diagnostic>> {
        if let Some(wrong) = self.check_sizes() {
            return Err(Box::new(wrong));
        }
        let main = Span::empty(self.main, 0);
        let mut session = Session::with(self.graph, settings.clone()).map_err(|error| {
            let own = error.step().and_then(|step| self.origins.get(step)).map_or(main, |origin| origin.span);
            Box::new(diagnosed(&error, own, &self.origins))
        })?;
        let sizes: Vec<(&str, u64)> = self.sizes.iter().map(|(name, size)| (name.as_str(), *size)).collect();
        let set = session.set_sizes(&sizes);
        set.map_err(|error| Box::new(diagnosed(&error, main, &self.origins)))?;
        self.weights.give_to(&mut session)?;
        Ok(Ready {
            session,
            feeds: Feeds::of(&self.plan),
            words: self.words,
            plan: self.plan,
            origins: self.origins,
            applications: self.applications,
            noticed: 0,
            made: self.made,
            sizes: self.sizes,
            main: self.main,
            seed: settings.seed,
            given: Vec::new(),
        })
    }
}

impl Ready {
    /// The beginning of the program's text.
    pub(crate) fn beginning(&self) -> Span {
        Span::empty(self.main, 0)
    }

    /// Sets the values of data, in place of those that the program gives; names that it does not have are ignored. Data that
    /// was given before, and is not now, has the values of the program again, or none. Says for each array that was lent why
    /// it was copied, if it was.
    pub fn give(
        &mut self,
        inputs: &[(&str, GivenValues<'_>)],
    ) -> Result<Vec<Option<Copied>>, Box<Diagnostic>> {
        let graph = self.session.graph();
        let inputs =
            inputs.iter().filter_map(|(name, values)| Some((meant(graph, &self.made, name)?, values)));
        let inputs: Vec<(&NamedTensor, &GivenValues<'_>)> = inputs.collect();
        let given: Vec<(Tensor, GivenValues<'_>)> =
            inputs.iter().map(|(made, values)| (made.tensor, (*values).clone())).collect();
        let is_given = |tensor: Tensor| given.iter().any(|(known, _)| *known == tensor);
        let before = std::mem::take(&mut self.given);
        before.iter().filter(|before| !is_given(**before)).for_each(|before| self.session.forget(*before));
        let copied = self.session.give(&given).map_err(|error| {
            let about = error.tensor().map(|(tensor, _)| tensor);
            let place = inputs.iter().find(|(made, _)| Some(made.tensor) == about);
            let span = place.map_or(Span::empty(self.main, 0), |(made, _)| made.span);
            Box::new(self.worded(diagnosed(&error, span, &self.origins)))
        });
        let mut wrong = || inputs.iter().find_map(|(made, _)| changed(&mut self.session, &self.sizes, made));
        let copied = copied.and_then(|copied| wrong().map_or(Ok(copied), |wrong| Err(Box::new(wrong))));
        if copied.is_err() {
            // What was refused must not leave the values of an earlier call behind.
            given.iter().for_each(|(tensor, _)| self.session.forget(*tensor));
        }
        let copied = copied?;
        self.given = given.iter().map(|(tensor, _)| *tensor).collect();
        self.draw()?;
        Ok(copied)
    }

    /// Draws the numbers of data that has none.
    pub(crate) fn draw(&mut self) -> Result<(), Box<Diagnostic>> {
        for drawn in &self.plan.drawn {
            if !self.session.has_values(drawn.tensor) {
                let set = draw(&mut self.session, drawn, self.seed);
                set.map_err(|error| Box::new(diagnosed(&error, drawn.span, &self.origins)))?;
            }
        }
        Ok(())
    }

    /// The named tensors that can be computed from the values that there are, without learning.
    pub fn available(&self) -> Available {
        let graph = self.session.graph();
        let wanted: Vec<&NamedTensor> = self.made.iter().filter(|made| made.level == 0).collect();
        let mut names: Vec<Vec<&String>> = vec![Vec::new(); graph.len()];
        for made in &wanted {
            // Of several tensors with one name, the last counts.
            let newest = wanted.iter().rev().find(|other| other.name == made.name);
            let names = &mut names[made.tensor.index()];
            if newest.is_some_and(|newest| newest.tensor == made.tensor) && !names.contains(&&made.name) {
                names.push(&made.name);
            }
        }
        // What each tensor lacks: the data without values, or gradients.
        let mut lacks: Vec<Option<Option<Tensor>>> = vec![None; graph.len()];
        let mut available =
            Available { routine: Routine::new("forward"), tensors: Vec::new(), left_out: Vec::new() };
        for tensor in graph.tensors() {
            match graph.node(tensor) {
                Some(Node::Operation { operands, .. }) => {
                    let lacking = operands.iter().find_map(|operand| lacks[operand.index()]);
                    lacks[tensor.index()] = lacking;
                    if lacking.is_none() && !names[tensor.index()].is_empty() {
                        available.routine.forward(tensor);
                    }
                }
                Some(Node::Leaf { kind: LeafKind::Gradient(_) }) => lacks[tensor.index()] = Some(None),
                Some(Node::Leaf { kind: LeafKind::Data }) if !self.has_values(tensor) => {
                    lacks[tensor.index()] = Some(Some(tensor));
                }
                _ => {}
            }
            let is_leaf = matches!(graph.node(tensor), Some(Node::Leaf { .. }));
            let names = names[tensor.index()].iter().map(|name| (*name).clone());
            // What is declared is known to whoever declared it; other names of it are results.
            let names = names.filter(|name| !is_leaf || graph.name_of(tensor) != Some(name));
            match lacks[tensor.index()] {
                None => available.tensors.extend(names.map(|name| (name, tensor))),
                Some(data) => {
                    let data = data.map(|data| graph.label_of(data));
                    available.left_out.extend(names.map(|name| (name, data.clone())));
                }
            }
        }
        // In the order of the program: a name that is given later may be that of an earlier tensor.
        let mut order: FxHashMap<&str, usize> = FxHashMap::default();
        wanted.iter().enumerate().for_each(|(at, made)| _ = order.insert(&made.name, at));
        available.tensors.sort_by_key(|(name, _)| order.get(name.as_str()).copied());
        available.left_out.sort_by_key(|(name, _)| order.get(name.as_str()).copied());
        available
    }

    /// Returns true if data has values, of its own or from outside.
    fn has_values(&self, data: Tensor) -> bool {
        let drawn = || self.plan.drawn.iter().any(|drawn| drawn.tensor == data);
        self.given.contains(&data) || self.session.graph().has_values(data) || drawn()
    }

    /// Runs a routine.
    pub fn compute(&mut self, routine: &Routine) -> Result<(), Box<Diagnostic>> {
        let ran = self.session.run(routine);
        ran.map_err(|error| self.diagnose(&error))
    }

    /// An error of the session, at the place in the program that it is about.
    pub fn diagnose(&self, error: &Error) -> Box<Diagnostic> {
        let step = error.step().or_else(|| error.ends().iter().find_map(|end| end.step));
        let origin = step.and_then(|step| self.origins.get(step));
        let place = origin.map_or(Span::empty(self.main, 0), |origin| origin.span);
        let mut wrong = self.worded(diagnosed(error, place, &self.origins));
        if origin.is_none() {
            wrong.labels.clear();
        }
        Box::new(wrong)
    }

    /// An error about a file from outside: at the parameter that does not fit, or without a place.
    pub(crate) fn about_file(&self, error: &Error) -> Box<Diagnostic> {
        let mut steps = error.ends().iter().filter_map(|end| end.step);
        let place = steps.find_map(|step| self.origins.get(step)).map(|origin| origin.span);
        let wrong = diagnosed(error, place.unwrap_or(Span::empty(self.main, 0)), &self.origins);
        let mut wrong = self.worded(wrong);
        if place.is_none() {
            wrong.labels.clear();
        }
        // What a layer has made is changed where the layer is configured.
        let mut steps = error.ends().iter().filter_map(|end| end.step);
        let application = steps.find_map(|step| self.origins.get(step)?.application);
        if let Some(made) = application.and_then(|at| self.applications.get(at as usize)?.made) {
            let at_place = wrong.labels.iter_mut().filter(|label| Some(label.span) == place);
            at_place.for_each(|label| label.span = made);
        }
        Box::new(wrong)
    }

    /// A message in the words of whoever runs the program.
    pub(crate) fn worded(&self, wrong: Diagnostic) -> Diagnostic {
        front::worded(wrong, self.words)
    }

    /// Passes on the notices of the session that are new.
    pub fn pass_on(&mut self, observer: &mut dyn Observer) {
        notice(&self.session, &mut self.noticed, observer);
    }
}

/// An error of a graph or a session at a place, with both of its ends where their steps were written. Advice that depends on the
/// language can be replaced by that of another front.
pub fn diagnose(
    error: &Error,
    span: Span,
    origins: &Origins,
    advice: fn(Remedy) -> Option<&'static str>,
) -> Diagnostic {
    let mut wrong = diagnosed(error, span, origins);
    if let Some(words) = error.remedy().and_then(advice) {
        let remedies = wrong.help.iter_mut().filter(|help| help.is_remedy);
        remedies.for_each(|help| *help = words.into());
    }
    wrong
}

/// Reports data that would change a size that was set.
fn changed(session: &mut Session, set: &[(String, u64)], made: &NamedTensor) -> Option<Diagnostic> {
    let now: Vec<(&str, u64)> = session.sizes().ok()?.collect();
    let other =
        |(name, wanted): &&(String, u64)| now.iter().any(|(known, size)| *known == name && size != wanted);
    let (name, wanted) = set.iter().find(other)?;
    let size = now.iter().find(|(known, _)| *known == name).map_or(0, |(_, size)| *size);
    let message = format!("`{name}` is set to {wanted}, but the values for `{}` make it {size}", made.name);
    let wrong = Diagnostic::error(codes::VALUE, message, made.span, "");
    Some(wrong.with_help(format!("leave `{name}` open: it follows the data")))
}

/// The tensor that values are given to under a name: data, if there is some of this name. A name may be bound again, as in
/// `let x = x / 255`, and what is computed takes no values.
fn meant<'m>(graph: &Graph, made: &'m [NamedTensor], name: &str) -> Option<&'m NamedTensor> {
    let is_data =
        |made: &&NamedTensor| matches!(graph.node(made.tensor), Some(Node::Leaf { kind: LeafKind::Data }));
    let named = || made.iter().rev().filter(|made| made.name == name);
    named().find(is_data).or_else(|| named().next())
}

/// Draws the numbers of data, at its current sizes.
fn draw(session: &mut Session, drawn: &Drawn, seed: u64) -> Result<(), Error> {
    let [batch, output, input] = session.rows_of(drawn.tensor)?;
    let (fan_in, fan_out) = (input.iter().product(), output.iter().product());
    let (sizes, dtype) = ([batch, output, input].concat(), session.dtype(drawn.tensor)?);
    let values: Array = drawn.initial.values(&drawn.name, seed, &sizes, fan_in, fan_out, dtype)?;
    session.set(drawn.tensor, &values)
}
