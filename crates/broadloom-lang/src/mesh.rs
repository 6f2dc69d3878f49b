//! Programs divided over the devices of a mesh.

use broadloom::{Backend, Divided, Routine, Session, Settings, Sharding};
use broadloom_diagnostics::{Code, Diagnostic, Fact, Help, Label, Role, Setting, Span};

use crate::eval::advice::code::in_loom;
use crate::eval::diagnosed;
use crate::front::naming_setting;
use crate::on_mesh::{MeshBlock, OnMesh};
use crate::program::{Origins, Program};
use crate::ready::Ready;

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
        let block = (on, self.plan.mesh.as_ref());
        divided.map_err(|error| reported(&error, Span::empty(self.main, 0), &self.origins, block))
    }

    /// The devices that the program runs on, if there are several: those that its user asks for, or those of its own `mesh`. A
    /// mesh without axes that a user asks for is one device, whatever the program says.
    pub fn devices<'d>(&'d self, asked: Option<&'d OnMesh>) -> Option<&'d OnMesh> {
        let own = self.plan.mesh.as_ref().map(|block| &block.on);
        asked.or(own).filter(|on| !on.mesh.axes.is_empty())
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
        (on, sharding): (&OnMesh, &Sharding),
    ) -> Result<(), Box<Diagnostic>> {
        let divided =
            self.session.divide(routines, sharding).and_then(|divided| self.session.set_division(divided));
        let block = (on, self.plan.mesh.as_ref());
        divided.map_err(|error| reported(&error, self.beginning(), &self.origins, block))
    }
}

/// An error at the operation it is about, and at the lines of the program's own mesh that ask for what cannot be had. One about the
/// mesh of a user has no place in the text.
fn reported(
    error: &broadloom::Error,
    main: Span,
    origins: &Origins,
    (on, block): (&OnMesh, Option<&MeshBlock>),
) -> Box<Diagnostic> {
    let own = error.step().and_then(|step| origins.get(step)).map(|origin| origin.span);
    let mut diagnostic = diagnosed(error, own.unwrap_or(main), origins);
    if own.is_none() {
        diagnostic.labels.clear();
    }
    let Some(block) = block else { return Box::new(diagnostic) };
    for (span, text) in error.facts().iter().filter_map(|fact| block.place(on, fact)) {
        let primary = diagnostic.labels.is_empty();
        if diagnostic.labels.iter().all(|label| label.span != span) {
            // A mistake that is in the block alone is told by the message.
            let text = if primary { String::new() } else { text };
            diagnostic.labels.push(Label { primary, role: Role::Place, ..Label::new(span, text) });
        }
    }
    if let Some(help) = missing_axis(error, on, block) {
        diagnostic = diagnostic.with_help(help);
    }
    if !block.on.shards.is_empty() {
        diagnostic.help.iter_mut().filter(|help| help.names_setting()).for_each(|help| {
            help.write_in(|code| match code {
                Code::Setting(Setting::Shard(shard)) => format!("shard = [\"{shard}\", …]"),
                code => in_loom(code),
            });
        });
    }
    Box::new(diagnostic)
}

/// Advice about a mesh that stands in place of the program's, and lacks an axis that a rule of the program needs.
fn missing_axis(error: &broadloom::Error, on: &OnMesh, block: &MeshBlock) -> Option<Help> {
    let has = |on: &OnMesh, wanted: &str| on.mesh.axes.iter().any(|(name, _)| name == wanted);
    let missing = error.facts().iter().find_map(|fact| match fact {
        Fact::Shard { over, .. } => Some(over),
        Fact::StoredOver => on.stored_over.as_ref(),
        _ => None,
    })?;
    if has(on, missing) || !has(&block.on, missing) {
        return None;
    }
    let axes: Vec<String> = on.mesh.axes.iter().map(|(name, size)| format!("{name}={size}")).collect();
    let mesh = Setting::Mesh(format!("{},{missing}=1", axes.join(",")));
    let before =
        "this mesh is in place of the program's, whose rules stay; an axis with one device divides nothing: ";
    Some(naming_setting(before, mesh, ""))
}
