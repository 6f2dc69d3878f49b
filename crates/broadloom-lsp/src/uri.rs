//! `file://` addresses and paths.

use std::path::{Path, PathBuf};

use gen_lsp_types::Uri;

/// The path of a `file://` address; None for any other address.
pub(crate) fn path(uri: &Uri) -> Option<PathBuf> {
    let rest = uri.as_ref().strip_prefix("file://")?;
    // The name of a machine may stand before the path.
    let path = &rest[rest.find('/')?..];
    let decoded = decoded(path.split(['?', '#']).next().unwrap_or(path))?;
    Some(PathBuf::from(without_drive_slash(&decoded)))
}

/// The address of a file.
pub(crate) fn uri(path: &Path) -> Uri {
    let text = path.to_string_lossy().replace('\\', "/");
    let slash = if text.starts_with('/') { "" } else { "/" };
    let mut out = format!("file://{slash}");
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' | b':' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    Uri::from(out)
}

/// The text with `%20` and the like replaced; None if that is no text.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        let escaped = match (first, tail) {
            (b'%', [high, low, ..]) => hexadecimal(*high).zip(hexadecimal(*low)),
            _ => None,
        };
        match escaped {
            Some((high, low)) => {
                bytes.push(high * 16 + low);
                rest = &tail[2..];
            }
            None => bytes.push(*first),
        }
    }
    String::from_utf8(bytes).ok()
}

fn hexadecimal(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

/// `/c:/programs` is `c:/programs`.
fn without_drive_slash(path: &str) -> &str {
    match path.as_bytes() {
        [b'/', drive, b':', ..] if drive.is_ascii_alphabetic() => &path[1..],
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_addresses() {
        let there_and_back = |text: &str| path(&uri(Path::new(text)));
        for text in ["/a/b.loom", "/mit leer/ü#1?.loom", "/100%/x.loom"] {
            assert_eq!(there_and_back(text).as_deref(), Some(Path::new(text)));
        }
        assert_eq!(uri(Path::new("/a b")).as_ref(), "file:///a%20b");
        assert_eq!(path(&Uri::from("file:///c%3A/x.loom")), Some(PathBuf::from("c:/x.loom")));
        assert_eq!(path(&Uri::from("file://host/x.loom")), Some(PathBuf::from("/x.loom")));
        assert_eq!(path(&Uri::from("untitled:Untitled-1")), None);
        assert_eq!(path(&Uri::from("file:///%FF")), None);
    }
}
