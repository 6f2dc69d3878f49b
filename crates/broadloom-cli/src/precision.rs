//! The argument that says how exactly products are computed.

use broadloom::Precision;

/// The precision of a name.
pub fn precision(text: &str) -> Result<Precision, String> {
    Precision::of_name(text).ok_or_else(|| {
        let names: Vec<String> =
            Precision::ALL.iter().map(|precision| format!("`{}`", precision.name())).collect();
        format!("the precision of products is one of {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use broadloom::Precision;

    use super::precision;

    #[test]
    fn precisions_are_read_or_refused() {
        assert_eq!(precision("high"), Ok(Precision::High));
        for wrong in ["", "Highest", "f32", "tf32"] {
            let refused = precision(wrong).expect_err(wrong);
            assert!(refused.ends_with("`highest`, `high`, `default`, `bf16`"), "{refused}");
        }
    }
}
