//! Programs divided over the devices of a mesh.

use broadloom::{Backend, Divided, Mesh, Routine, Session, Settings, Shard, Sharding};
use broadloom_diagnostics::{Diagnostic, Span};

use crate::eval::diagnosed;
use crate::program::{Origins, Program};
use crate::ready::Ready;

/// Devices, and what is divided over them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OnMesh {
    /// The devices.
    pub mesh: Mesh,
    /// The division of tensors over mesh axes.
    pub shards: Vec<Shard>,
    /// The mesh axis over which parameters and the states of their optimisers are divided as well.
    pub stored_over: Option<String>,
}

impl Program {
    /// Divides the tensors of some routines over the devices of a mesh. Nothing is run.
    ///
    /// ```
    /// use broadloom::{Mesh, Shard};
    /// use broadloom_lang::{OnMesh, Options, compile};
    ///
    /// let program = compile("a.loom", "dim batch = 8\ndata x : batch | 3\nlet y = {w : ... -> 2} @ x\n", &Options::default());
    /// let on = OnMesh {
    ///     mesh: Mesh { axes: vec![("data".into(), 4)] },
    ///     shards: vec![Shard { axes: "batch".into(), over: "data".into() }],
    ///     stored_over: None,
    /// };
    /// let divided = program.divide(&program.routines(), &on).map_err(|wrong| wrong.message)?;
    /// let y = divided.tensors.iter().find(|tensor| tensor.name == "y").unwrap();
    /// assert_eq!((y.bytes, y.bytes_per_device), (64, 16));
    /// assert!(divided.collectives.is_empty());
    /// # Ok::<(), String>(())
    /// ```
    pub fn divide(&self, routines: &[Routine], on: &OnMesh) -> Result<Divided, Box<Diagnostic>> {
        let settings = Settings { backend: Backend::Reference, ..Settings::default() };
        let sizes: Vec<(&str, u64)> = self.sizes.iter().map(|(name, size)| (name.as_str(), *size)).collect();
        let divided = Session::with(self.graph.clone(), settings).and_then(|mut session| {
            session.set_sizes(&sizes)?;
            session.divide(routines, &self.sharding(on))
        });
        divided.map_err(|error| reported(&error, Span::empty(self.main, 0), &self.origins))
    }

    /// A division that is asked for, with the names that the program has for axes.
    pub fn sharding(&self, on: &OnMesh) -> Sharding {
        let OnMesh { mesh, shards, stored_over } = on.clone();
        Sharding { mesh, shards, stored_over, names: self.axis_names.clone() }
    }
}

impl Ready {
    /// Divides the tensors of some routines over devices, which run them from now on.
    pub(crate) fn divide(
        &mut self,
        routines: &[Routine],
        sharding: &Sharding,
    ) -> Result<(), Box<Diagnostic>> {
        let divided =
            self.session.divide(routines, sharding).and_then(|divided| self.session.set_division(divided));
        divided.map_err(|error| reported(&error, self.beginning(), &self.origins))
    }
}

/// An error at the operation it is about. One about the mesh itself has no place in the text.
fn reported(error: &broadloom::Error, main: Span, origins: &Origins) -> Box<Diagnostic> {
    let own = error.step().and_then(|step| origins.get(step)).map(|origin| origin.span);
    let mut diagnostic = diagnosed(error, own.unwrap_or(main), origins);
    if own.is_none() {
        diagnostic.labels.clear();
    }
    Box::new(diagnostic)
}
