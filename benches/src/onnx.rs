//! The reference: onnx's own shape inference, timed by `onnx/infer.py` with a Python that has onnx.

use std::process::{Command, Stdio};

/// The result of `infer.py` for one family at one size.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Reference {
    /// The number of nodes.
    pub nodes: f64,
    /// The median, in microseconds per node.
    pub median: f64,
    /// The minimum.
    pub minimum: f64,
    /// The part of the median that reads and writes the model and is not inference.
    pub codec: f64,
}

impl Reference {
    /// The median without reading and writing the model.
    pub fn inference(&self) -> f64 {
        self.median - self.codec
    }

    /// Reads a line that `infer.py --json` prints.
    fn parse(line: &str) -> Option<Reference> {
        Some(Reference {
            nodes: field(line, "nodes")?,
            median: field(line, "us_per_node")?,
            minimum: field(line, "us_per_node_min")?,
            codec: field(line, "codec_us_per_node")?,
        })
    }
}

/// Measures a family at a size; `None` if that is too large for onnx (`infer.py` prints the reason
/// to stderr).
pub fn measure(python: &str, family: &str, size: usize) -> Result<Option<Reference>, String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/onnx/infer.py");
    let output = Command::new(python)
        .args([script, "--json", "--family", family, "--sizes", &size.to_string()])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("{python} does not start: {error}"))?;
    if !output.status.success() {
        return Err(format!("{python} {script}: {}", output.status));
    }
    match String::from_utf8_lossy(&output.stdout).trim() {
        "" => Ok(None),
        line => Reference::parse(line).map(Some).ok_or_else(|| format!("cannot read `{line}`")),
    }
}

/// The number after `"key":` in an object without nested ones.
fn field(line: &str, key: &str) -> Option<f64> {
    let (_, rest) = line.split_once(&format!("\"{key}\":"))?;
    rest.split([',', '}']).next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_infer_py_are_read() {
        let line = r#"{"engine": "onnx 1.22.0", "family": "mlp", "size": 2, "nodes": 6, "us_per_node": 5.383,
            "us_per_node_min": 4.349, "codec_us_per_node": 2.203, "strict_mode": true}"#;
        let expected = Reference { nodes: 6.0, median: 5.383, minimum: 4.349, codec: 2.203 };
        assert_eq!(Reference::parse(line), Some(expected));
        assert_eq!(Reference::parse("{}"), None);
    }
}
