//! The table of named sizes.

use broadloom_diagnostics::{Column, Table};
use broadloom_ide::{NamedSize, range_text};

use crate::console::Look;

/// A table of the named sizes, and an empty line; empty if there are none.
pub(crate) fn table(dims: &[NamedSize], look: Look) -> String {
    if dims.is_empty() {
        return String::new();
    }
    let ranged = dims.iter().any(|dim| dim.range.is_some());
    let head = |head: &'static str| if ranged { head } else { "" };
    let mut table = Table::new([
        Column::name("dim"),
        Column::number("size"),
        Column::new(head("range")),
        Column::faint(head("decided")),
    ]);
    for dim in dims {
        let range = match (dim.range, dim.left) {
            (Some(range), Some(left)) => {
                format!("{}, of which the program leaves {}", range_text(range), range_text(left))
            }
            (range, _) => range.map_or(String::new(), range_text),
        };
        table.row([dim.name.clone(), dim.size.to_string(), range, dim.decided.clone()]);
    }
    look.table(&table) + "\n"
}
