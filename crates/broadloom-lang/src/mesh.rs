//! Programs divided over the devices of a mesh.

use broadloom::{Backend, Divided, Routine, Session, Settings, Sharding};
use broadloom_diagnostics::{Code, Diagnostic, Fact, Help, Label, Role, Setting, Span};

use crate::eval::advice::code::in_loom;
use crate::eval::diagnosed;
use crate::front::{Words, naming_setting, worded};
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
        let front = (on, self.plan.mesh.as_ref(), self.words);
        divided.map_err(|error| reported(&error, Span::empty(self.main, 0), &self.origins, front))
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

impl Program {
    /// The devices that a session of the program is divided over.
    pub fn session_devices(&self, on: &OnMesh) -> Devices {
        Devices { on: on.clone(), sharding: self.sharding(on), routines: self.routines(), at: None }
    }

    /// A notice about devices that a run on this machine leaves out.
    pub fn without_devices(&self, on: &OnMesh) -> String {
        let (setting, devices) = (self.words.written(&Setting::Backend("xla")), on.mesh.devices());
        format!(
            "the run is on this machine alone, and not on the {devices} devices of the program's mesh: `{setting}` runs it on these"
        )
    }
}

/// The devices that a session is divided over.
#[derive(Debug)]
pub struct Devices {
    on: OnMesh,
    sharding: Sharding,
    routines: Vec<Routine>,
    /// The named sizes at which the session was divided.
    at: Option<Vec<(String, u64)>>,
}

impl Ready {
    /// Divides the session over devices, which run it from now on. It is divided again when named sizes have changed, because devices
    /// may not share the new ones evenly.
    pub fn divide(&mut self, devices: &mut Devices) -> Result<(), Box<Diagnostic>> {
        let divided = divide(&mut self.session, devices);
        let front = (&devices.on, self.plan.mesh.as_ref(), self.words);
        divided.map_err(|error| reported(&error, self.beginning(), &self.origins, front))
    }
}

fn divide(session: &mut Session, devices: &mut Devices) -> Result<(), broadloom::Error> {
    let sizes = session.sizes()?.map(|(name, size)| (name.to_string(), size)).collect();
    if devices.at.as_ref() != Some(&sizes) {
        devices.at = None;
        let divided = session.divide(&devices.routines, &devices.sharding)?;
        session.set_division(divided)?;
        devices.at = Some(sizes);
    }
    Ok(())
}

/// An error at the operation it is about, and at the lines of the program's own mesh that ask for what cannot be had. One about the
/// mesh of a user has no place in the text.
fn reported(
    error: &broadloom::Error,
    main: Span,
    origins: &Origins,
    (on, block, words): (&OnMesh, Option<&MeshBlock>, Words),
) -> Box<Diagnostic> {
    let own = error.step().and_then(|step| origins.get(step)).map(|origin| origin.span);
    let mut diagnostic = diagnosed(error, own.unwrap_or(main), origins);
    if own.is_none() {
        diagnostic.labels.clear();
    }
    let Some(block) = block else { return Box::new(worded(diagnostic, words)) };
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
    let mut diagnostic = worded(diagnostic, words);
    if !block.on.shards.is_empty() {
        diagnostic.help.iter_mut().filter(|help| help.names_setting()).for_each(|help| {
            help.write_in(|code| match code {
                Code::Setting(Setting::Shard(axes, over)) => format!("shard = [\"{axes}={over}\", …]"),
                Code::Setting(setting) => words.written(setting),
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
    let mesh = Setting::Mesh(on.mesh.axes.iter().cloned().chain([(missing.clone(), 1)]).collect());
    let before =
        "this mesh is in place of the program's, whose rules stay; an axis with one device divides nothing: ";
    Some(naming_setting(before, mesh, ""))
}
