//! What was meant by a name that nothing has.

/// The name that is nearest to another one, if any is near: one letter wrong, or two in a long name. Of very short names
/// any is near any other, which helps nobody.
pub fn nearest<'a>(wanted: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let allowed = match wanted.chars().count() {
        0..=2 => 0,
        3..=5 => 1,
        _ => 2,
    };
    let near = known.map(|name| (distance(wanted, name), name)).filter(|(by, _)| *by <= allowed && *by > 0);
    // Equally near ones by name, so that the answer does not depend on an order.
    near.min().map(|(_, name)| name.to_string())
}

/// How many letters have to be put in, left out, changed or exchanged with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(40).collect(), b.chars().take(40).collect());
    if a.len().abs_diff(b.len()) > 2 {
        return usize::MAX;
    }
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            if i == 0 || j == 0 {
                rows[i][j] = i.max(j);
                continue;
            }
            let change = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = change.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_near() {
        let known = ["hidden", "relu", "x", "y"];
        let nearest = |wanted| nearest(wanted, known.into_iter());
        assert_eq!(nearest("hiden").as_deref(), Some("hidden"));
        assert_eq!(nearest("rleu").as_deref(), Some("relu"));
        assert_eq!(nearest("z"), None);
        assert_eq!(nearest("attention"), None);
    }
}
