//! Questions of a page.

use serde::Deserialize;

/// The formats of other tools.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Format {
    C,
    Stablehlo,
    Lean,
}

/// A question. `at` is an offset in UTF-16.
#[derive(Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case")]
pub(crate) enum Question {
    /// Mistakes, hints, colours and shapes.
    Edit { text: String },
    /// What is this?
    Hover { text: String, at: u32 },
    /// What can be written here?
    Complete { text: String, at: u32 },
    /// The text in the usual layout.
    Format { text: String },
    /// Why has a tensor this shape, or an axis this size?
    Explain { text: String, name: String },
    /// The same for the name under the cursor.
    ExplainAt { text: String, at: u32 },
    /// The loop nests, as derived or as they run.
    Loops {
        text: String,
        #[serde(default)]
        optimised: bool,
    },
    /// A picture.
    Graph { text: String },
    /// Memory, over the range of each named size.
    Memory { text: String },
    /// The shapes of functions.
    Signatures { text: String },
    /// The program for other tools.
    Emit { text: String, format: Format },
    /// Runs the program.
    Run {
        text: String,
        #[serde(default)]
        seed: u64,
    },
}
