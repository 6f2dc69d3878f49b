//! The words of the text of a spec, found without parsing it, so that texts with mistakes and with numbers in braces have them, too.

use broadloom_diagnostics::Span;

/// A label or a row variable where it is written in the text of a spec.
pub(crate) struct Word {
    pub text: String,
    pub span: Span,
    /// True for `..r..`.
    pub is_row: bool,
}

/// Returns true if every letter of a spec is a label: no comma, sum or sign of a window makes its names words.
pub(crate) fn has_letters(spec: &str) -> bool {
    !spec.replace("=>", "").contains([',', '*', '+', '^', '&', '<', '~', ':', '='])
}

fn is_letter(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// The labels of a part of a spec, which are letters or words. Names in braces are none.
pub(crate) fn words(text: &str, letters: bool) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let (mut braces, mut word) = (0_usize, String::new());
    for letter in text.chars().chain([' ']) {
        match letter {
            '{' => braces += 1,
            '}' => braces = braces.saturating_sub(1),
            letter if is_letter(letter) && braces == 0 => word.push(letter),
            _ => {}
        }
        if !is_letter(letter) || letters {
            let done = std::mem::take(&mut word);
            let is_label = done.starts_with(|letter: char| letter.is_alphabetic());
            if is_label && !found.contains(&done) {
                found.push(done);
            }
        }
    }
    found
}

/// The word at an offset of a text, or the one that ends there; `spec` is the span of the text with its quotes.
pub(crate) fn word_at(text: &str, spec: Span, offset: u32) -> Option<Word> {
    let before = text.get(spec.start as usize + 1..offset as usize)?;
    let behind = text.get(offset as usize..(spec.end as usize).checked_sub(1)?)?;
    let in_braces = before.rfind('{').is_some_and(|open| !before[open..].contains('}'));
    let begin = before.trim_end_matches(is_letter).len();
    let length = behind.find(|letter| !is_letter(letter)).unwrap_or(behind.len());
    let is_row = before[..begin].ends_with("..") && behind[length..].starts_with("..");
    let (mut start, mut end) = (spec.start + 1 + begin as u32, offset + length as u32);
    if !is_row && has_letters(spec.slice(text)) {
        // The letter behind the cursor, or the last one before it.
        let last = |part: &str| part.chars().next_back().map_or(0, char::len_utf8) as u32;
        (start, end) = match behind.chars().next().filter(|letter| is_letter(*letter)) {
            Some(letter) => (offset, offset + letter.len_utf8() as u32),
            None => (offset - last(&before[begin..]), offset),
        };
    }
    let span = Span { start, end, ..spec };
    let word = span.slice(text);
    let is_name = word.starts_with(|letter: char| letter.is_alphabetic() || letter == '_' && word.len() > 1);
    (is_name && !in_braces).then(|| Word { text: word.to_string(), span, is_row })
}

#[cfg(test)]
mod tests {
    use broadloom_diagnostics::SourceId;

    use super::*;

    /// The word under the cursor `▮` of a spec.
    fn word(spec: &str) -> Option<String> {
        let text = format!("f(\"{spec}\")");
        let offset = text.find('▮').expect("a cursor") as u32;
        let text = text.replace('▮', "");
        let span = Span::new(SourceId(0), 2, text.len() as u32 - 1);
        let word = word_at(&text, span, offset)?;
        Some(if word.is_row { format!("..{}..", word.text) } else { word.text })
    }

    #[test]
    fn words_under_a_cursor() {
        let found = |spec| word(spec).unwrap_or_default();
        assert_eq!(["▮ij; jk => ik", "i▮j; jk => ik", "ij▮; jk => ik"].map(found), ["i", "j", "j"]);
        assert_eq!(["row▮s, i => i", "▮rows, i => i", "rows▮, i => i"].map(found), ["rows"; 3]);
        assert_eq!([".. | ▮é => é", "..r▮r.. => ..rr..", "_, ▮2 => i"].map(found), ["é", "..rr..", ""]);
        assert_eq!(["{n▮}*o+k => o", "{n}*▮o+k => o", "i, j▮ "].map(found), ["", "o", "j"]);
    }
}
