//! Devices that are asked for beside a program, in place of those that it names itself.

use broadloom::{Mesh, Shard};

use crate::on_mesh::OnMesh;
use crate::program::Program;

/// Devices that a user asks for beside a program. What is said here counts where the program says something of the same.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MeshRequest {
    /// The devices in place of the program's.
    pub mesh: Option<Mesh>,
    /// Divisions besides those of the program, or in place of those of the same axes.
    pub shards: Vec<Shard>,
    /// The mesh axis for parameters and states in place of the program's.
    pub stored_over: Option<String>,
}

/// A rule of a request that divides nothing, because there is one device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WithoutDevices {
    /// The first rule of the request.
    pub rule: Rule,
    /// True if the request itself is for one device; otherwise nobody names devices.
    pub asked_for_one: bool,
}

/// A rule by which a request divides something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Rule {
    /// Axes are divided.
    Shard(Shard),
    /// Parameters and states are divided over this mesh axis.
    StoredOver(String),
}

impl MeshRequest {
    /// The devices of a program with what the request replaces and adds, if there is a mesh.
    ///
    /// ```
    /// use broadloom::{Mesh, Shard};
    /// use broadloom_lang::{MeshRequest, Options, compile};
    ///
    /// let text = "dim batch = 8\nmesh(data = 4, shard = [\"batch=data\"])\ndata x : batch | 3\n";
    /// let program = compile("a.loom", text, &Options::default());
    /// let fewer = Mesh { axes: vec![("data".into(), 2)] };
    /// let request = MeshRequest { mesh: Some(fewer), ..MeshRequest::default() };
    /// let on = request.on(&program).ok().flatten().unwrap();
    /// assert_eq!((on.mesh.devices(), on.shards[0].to_string().as_str()), (2, "batch=data"));
    /// ```
    pub fn on(&self, program: &Program) -> Result<Option<OnMesh>, WithoutDevices> {
        let own = program.plan.mesh.as_ref().map(|block| &block.on);
        let without = |rule, asked_for_one| Err(WithoutDevices { rule, asked_for_one });
        let Some(mesh) = self.mesh.as_ref().or(own.map(|own| &own.mesh)) else {
            return match self.first_rule() {
                // A mistake may hide the mesh of the program.
                Some(rule) if program.is_ok() => without(rule, false),
                _ => Ok(None),
            };
        };
        if let (true, Some(rule)) = (mesh.axes.is_empty(), self.first_rule()) {
            return without(rule, true);
        }
        let mut shards = own.map(|own| own.shards.clone()).unwrap_or_default();
        shards.retain(|known| self.shards.iter().all(|shard| shard.axes != known.axes));
        shards.extend(self.shards.iter().cloned());
        let stored_over = self.stored_over.clone().or(own.and_then(|own| own.stored_over.clone()));
        Ok(Some(OnMesh { mesh: mesh.clone(), shards, stored_over }))
    }

    /// The first rule that divides something.
    pub fn first_rule(&self) -> Option<Rule> {
        let shard = self.shards.first().cloned().map(Rule::Shard);
        shard.or_else(|| self.stored_over.clone().map(Rule::StoredOver))
    }
}
