//! Programs with many named sizes: the cost of one does not depend on the number of others.

use broadloom::{Error, Extent, Graph};

/// If every size stored all names, these would take 20 gigabytes.
#[test]
fn a_size_knows_its_own_names_only() -> Result<(), Error> {
    const SIZES: u64 = 20_000;
    let mut g = Graph::new();
    for at in 0..SIZES {
        g.dim(&format!("d{at}"), 1..=100, at % 100 + 1)?;
    }
    let (x, y) = (g.data("x", "d3 | d19999")?, g.data("y", "d7 | d19999")?);
    let both = g.einsum("a | n; b | n => a^b | n", &[x, y])?;
    let shapes = g.final_shapes()?;
    let shape = shapes.get(both);
    assert_eq!(shape.to_string(), "d3 + d7 | d19999");
    let Extent::Symbolic(size) = shape.batch()[0].extent() else { panic!("a symbolic size") };
    assert_eq!(size.names().collect::<Vec<_>>(), ["d3", "d7"]);
    assert_eq!((size.at(&[("d3", 2), ("d7", 5)]), size.at(&[("d3", 2)])), (Some(7), None));
    Ok(())
}

/// A retracted step removes its size, and the name is free again.
#[test]
fn a_refused_size_is_not_known() -> Result<(), Error> {
    let mut g = Graph::new();
    g.dim("n", 1..=4, 2)?;
    assert!(g.dim("n", 8..=9, 8).is_err());
    assert_eq!(g.dim_range("n"), Some((1, Some(4))));
    g.dim("m", 8..=9, 8)?;
    assert_eq!(g.dims().collect::<Vec<_>>(), ["n", "m"]);
    assert_eq!(g.dim_range("m"), Some((8, Some(9))));
    Ok(())
}
