//! Numbers formatted for sentences.

/// A number with commas: `50,176`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A count of something: `1 tensor`, `1,200 tensors`.
pub fn counted(number: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// A number of bytes: `1.5 MiB`.
pub fn bytes(bytes: u64) -> String {
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    match unit {
        0 => format!("{bytes} bytes"),
        _ if value >= 100.0 => format!("{value:.0} {}", units[unit]),
        _ => format!("{value:.1} {}", units[unit]),
    }
}

/// The most shapes or sizes of one name that are shown: a function makes its parameters again for each configuration.
const MOST: usize = 3;

/// The different shapes or sizes that a name has, each once.
pub(crate) fn different(all: impl Iterator<Item = String>) -> Vec<String> {
    let mut different: Vec<String> = Vec::new();
    for each in all {
        if !different.contains(&each) {
            different.push(each);
        }
    }
    different
}

/// Several shapes or sizes in words.
pub(crate) fn listed(different: &[String]) -> String {
    let more = different.len().saturating_sub(MOST);
    let rest = if more > 0 { format!(" or {more} others") } else { String::new() };
    format!("{}{rest}", different[..different.len() - more].join(" or "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_commas() {
        let all = [0, 12, 123, 1234, 123_456, 1_234_567].map(grouped);
        assert_eq!(all, ["0", "12", "123", "1,234", "123,456", "1,234,567"]);
        assert_eq!(counted(1, "error"), "1 error");
    }

    #[test]
    fn bytes_have_units() {
        assert_eq!([12, 1536, 200 << 20].map(bytes), ["12 bytes", "1.5 KiB", "200 MiB"]);
    }
}
