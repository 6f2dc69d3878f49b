//! The devices of a mesh, as Python asks for them: `mesh={"data": 4}`, `shard={"batch": "data"}`, `fsdp="data"`.

use broadloom::{Mesh, Shard};
use broadloom_ide::MeshTable;
use broadloom_ide::words::grouped;
use broadloom_lang::{MeshRequest, OnMesh, Program, Rule, WithoutDevices};
use pyo3::prelude::*;
use serde::Serialize;

use crate::errors::{advised, plain};

/// The memory of one device, as data.
#[derive(Serialize)]
pub struct OfOneDevice<'a> {
    #[serde(flatten)]
    pub table: &'a MeshTable,
    /// None if it was not asked if it fits.
    pub fits: Option<bool>,
}

/// A request that was checked: axes with their devices, axes of tensors with the mesh axes that divide them, and the mesh axis for parameters.
pub fn request(
    py: Python<'_>,
    axes: Option<Vec<(String, u64)>>,
    shards: Vec<(String, String)>,
    stored_over: Option<String>,
) -> PyResult<MeshRequest> {
    let mesh = axes.map(|axes| Mesh { axes });
    if let Some(mesh) = &mesh {
        let wrong = mesh.axes.iter().find(|(name, _)| !Mesh::is_name(name));
        if let Some((name, _)) = wrong {
            let message = format!("`{}` is not a name of a mesh axis", name.escape_debug());
            return Err(advised(py, &message, "use letters, digits and `_`: `mesh={\"data\": 4}`"));
        }
        if !mesh.is_small_enough() {
            return Err(plain(py, &format!("a mesh has at most {} devices", grouped(Mesh::MOST_DEVICES))));
        }
    }
    let shards = shards.into_iter().map(|(axes, over)| Shard { axes, over }).collect();
    Ok(MeshRequest { mesh, shards, stored_over })
}

/// The devices of a program with what the request replaces and adds.
pub fn on(py: Python<'_>, request: &MeshRequest, program: &Program) -> PyResult<Option<OnMesh>> {
    let on = request.on(program).map_err(|WithoutDevices { rule, asked_for_one }| {
        let rule = match rule {
            Rule::Shard(Shard { axes, over }) => format!("shard={{\"{axes}\": \"{over}\"}}"),
            Rule::StoredOver(axis) => format!("fsdp=\"{axis}\""),
        };
        match asked_for_one {
            true => plain(py, &format!("with `mesh={{}}` there is one device, and `{rule}` divides nothing")),
            false => advised(
                py,
                &format!("`{rule}` needs devices"),
                "write `mesh={\"data\": 4}` beside it, or `mesh(data = 4)` in the program",
            ),
        }
    });
    Ok(on?.filter(|on| !on.mesh.axes.is_empty()))
}
