//! Advice of the library in the words of Python.

use broadloom::Remedy;

/// Advice in Python.
pub fn in_python(remedy: Remedy) -> Option<&'static str> {
    match remedy {
        Remedy::Values => {
            Some("give the values by the name of the data: `program(x=array)`, `program.run(x=array)`")
        }
        Remedy::Bits | Remedy::Integers | Remedy::WholeValues => {
            Some("give whole numbers: `array.astype(\"int64\")`")
        }
        Remedy::Size => {
            Some("declare it with a size to run at, `dim n in 1..64 = 32`, or give `sizes={\"n\": 32}`")
        }
        _ => None,
    }
}
