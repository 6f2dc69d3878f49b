//! Functions of matrices in graphs that are built in Python: `bl.solve(a, b)`, `bl.eigh(a)`. A matrix is a linear map, `n -> m`.

use broadloom::{Error, ErrorKind, Graph, PartialRow, Tensor};

/// Applies a function of matrices by its name, and returns its results.
pub fn apply(graph: &mut Graph, name: &str, operands: &[Tensor]) -> Result<Vec<Tensor>, Error> {
    if let Some(first) = operands.first() {
        is_matrix(graph, name, *first)?;
    }
    Ok(match (name, operands) {
        ("solve", [a, b]) => vec![graph.solve(*a, *b)?],
        ("lstsq", [a, b]) => vec![graph.lstsq(*a, *b)?],
        ("inverse", [a]) => vec![graph.inverse(*a)?],
        ("det", [a]) => vec![graph.det(*a)?],
        ("logdet", [a]) => vec![graph.logdet(*a)?],
        ("cholesky", [a]) => vec![graph.cholesky(*a)?],
        ("qr", [a]) => graph.qr(*a)?.to_vec(),
        ("eigh", [a]) => graph.eigh(*a)?.to_vec(),
        ("svd", [a]) => graph.svd(*a)?.to_vec(),
        _ => return Err(Error::run(format!("there is no function `{name}` of so many matrices"))),
    })
}

/// Refuses what cannot be a matrix: a tensor that has no input axis, and never gets one. NumPy has no such axes, so that this is the mistake
/// of everybody who begins.
fn is_matrix(graph: &Graph, name: &str, tensor: Tensor) -> Result<(), Error> {
    let shape = graph.shape(tensor);
    let axes = |kind: usize| -> Option<Vec<String>> {
        let PartialRow { lead, trail, open, .. } = &shape.rows[kind];
        (!open).then(|| lead.iter().chain(trail).map(ToString::to_string).collect())
    };
    if axes(1).is_none_or(|input| !input.is_empty()) {
        return Ok(());
    }
    let label = graph.label_of(tensor);
    let rows = if ["qr", "svd", "lstsq"].contains(&name) { "m" } else { "n" };
    let message = format!(
        "`bl.{name}` takes a matrix, `n -> {rows}`, and `{label}` has no input axis: it is `{shape}`"
    );
    let help = match axes(2).as_deref() {
        Some([rows, columns]) => format!(
            "declare it as `{columns} -> {rows}`, or write `bl.einsum(\"... | i, j => ... | j -> i\", {label})`: rows are output axes, \
             columns input axes"
        ),
        _ => "write its columns as an input axis, and its rows as an output axis: `3 -> 3`".to_string(),
    };
    Err(Error::new(ErrorKind::Use, message).with_help(help))
}
