//! Systems in an editor: values beside variables, what a variable is, where it is used, completion, layout.
//!
//! Lines with mistakes are left out; everything works on the others.

use broadloom_diagnostics::{Edit, Span};

use crate::ast::{Constraint, Dim, DimKind, HoleKind, Row, StatementKind, System};
use crate::names::{NameId, NameKind, Tag};
use crate::solve::{Value, values};
use crate::{Parsed, parse};

/// A system that is being edited.
#[derive(Clone, Debug)]
pub struct Edited {
    text: String,
    system: System,
    /// The places where variables are written, in order.
    places: Vec<(NameId, Span)>,
    /// The values, if there is a solution.
    values: Vec<Value>,
}

/// A variable under the cursor, described as Markdown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Described {
    /// The place where the variable is written.
    pub span: Span,
    /// The description.
    pub markdown: String,
}

/// A text that can be written at a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proposed {
    /// The text.
    pub label: String,
    /// Its meaning: a value, or a word.
    pub detail: String,
    /// The number of bytes before the place that it replaces.
    pub replaces: u32,
    /// True for `leaf` and `param`.
    pub is_keyword: bool,
}

impl Edited {
    /// Reads and solves a text.
    ///
    /// ```
    /// use broadloom_rows::editing::Edited;
    ///
    /// let edited = Edited::new("leaf a\n3 <= a\n");
    /// assert_eq!(edited.hover(5).unwrap().markdown, "`a = 3`\n\na dimension of a tensor that the user supplies; fixed by its leaf\n");
    /// assert_eq!(edited.uses(5).len(), 2);
    /// ```
    pub fn new(text: &str) -> Edited {
        let Parsed { system, .. } = parse(text);
        let mut places = Vec::new();
        for statement in &system.statements {
            match &statement.kind {
                StatementKind::Tag { list, .. } => {
                    places.extend(system.tagged(list).iter().map(|tagged| (tagged.name, tagged.span)));
                }
                StatementKind::Constraint(constraint) => of_constraint(&system, constraint, &mut places),
            }
        }
        places.sort_by_key(|(_, span)| span.start);
        let values = values(&system);
        Edited { text: text.to_string(), system, places, values }
    }

    fn at(&self, offset: u32) -> Option<(NameId, Span)> {
        self.places.iter().find(|(_, span)| span.start <= offset && offset <= span.end).copied()
    }

    fn value(&self, name: NameId) -> Option<&Value> {
        self.values.iter().find(|value| value.name == name)
    }

    /// Values behind the first places where variables are written.
    pub fn hints(&self) -> Vec<(Span, String)> {
        let mut shown = Vec::new();
        let mut hints = Vec::new();
        for (name, span) in &self.places {
            if shown.contains(name) {
                continue;
            }
            shown.push(*name);
            hints.extend(self.value(*name).map(|value| (*span, format!(" = {}", value.text))));
        }
        hints
    }

    /// The variable at an offset.
    pub fn hover(&self, offset: u32) -> Option<Described> {
        let (name, span) = self.at(offset)?;
        let entry = self.system.names.get(name);
        let kind = match entry.kind {
            NameKind::Dim => "a dimension",
            NameKind::Row => "a row",
        };
        let owner = match entry.tag {
            Some(Tag::Leaf) => " of a tensor that the user supplies",
            Some(Tag::Param) => " of a tensor that is learned",
            None => "",
        };
        let shown = self.system.show(&name).to_string();
        let markdown = match self.value(name) {
            Some(value) => {
                let by = match value.fixed_by {
                    "forced" => "forced by the constraints",
                    "leaf" => "fixed by its leaf",
                    "interior" => "the least that its uses allow",
                    _ => "found by search",
                };
                format!("`{shown} = {}`\n\n{kind}{owner}; {by}\n", value.text)
            }
            None => format!("`{shown}`\n\n{kind}{owner}; the lines without mistakes have no solution\n"),
        };
        Some(Described { span, markdown })
    }

    /// The place that says what the variable at an offset is: its tag, or where it is written first.
    pub fn definition(&self, offset: u32) -> Option<Span> {
        let (name, _) = self.at(offset)?;
        let entry = self.system.names.get(name);
        Some(if entry.tag.is_some() { entry.tag_span } else { entry.first_use })
    }

    /// The places where the variable at an offset is written, in order.
    pub fn uses(&self, offset: u32) -> Vec<Span> {
        let Some((name, _)) = self.at(offset) else { return Vec::new() };
        self.places.iter().filter(|(other, _)| *other == name).map(|(_, span)| *span).collect()
    }

    /// The variable at an offset, without dots.
    pub fn name(&self, offset: u32) -> Option<(&str, Span)> {
        let (name, span) = self.at(offset)?;
        Some((self.system.names.text(name), span))
    }

    /// The changes that rename the variable at an offset, or the reason why it cannot have that name.
    pub fn rename(&self, offset: u32, new: &str) -> Result<Vec<Edit>, String> {
        let (name, _) = self.at(offset).ok_or("there is no variable here")?;
        let new = new.trim_matches('.');
        let kind = self.system.names.get(name).kind;
        let written = if kind == NameKind::Row { format!("..{new}..") } else { new.to_string() };
        let alone = parse(&format!("leaf {written}\n"));
        let is_name =
            alone.is_ok() && alone.system.names.len() == 1 && alone.system.names.find(new).is_some();
        if !is_name || new == "leaf" || new == "param" {
            return Err(format!("`{new}` cannot be the name of a variable"));
        }
        if self.system.names.find(new).is_some_and(|other| other != name) {
            return Err(format!("`{new}` is another variable"));
        }
        let edit = |span: Span| Edit { span, text: written.clone() };
        Ok(self.uses(offset).into_iter().map(edit).collect())
    }

    /// The texts that can be written at an offset: variables, and at the beginning of a line the words for tags.
    pub fn completion(&self, offset: u32) -> Vec<Proposed> {
        let before = self.text.get(..offset as usize).unwrap_or_default();
        let line = &before[before.rfind('\n').map_or(0, |end| end + 1)..];
        if line.contains('#') {
            return Vec::new();
        }
        let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '\'' | '.');
        let typed = &line[line.trim_end_matches(is_part).len()..];
        let replaces = typed.len() as u32;
        let spelled = typed.trim_start_matches('.');
        let mut found = Vec::new();
        if line.trim_start().len() == typed.len() && !typed.starts_with('.') {
            for (label, detail) in
                [("leaf", "tensors that the user supplies"), ("param", "tensors that are learned")]
            {
                let (label, detail) = (label.to_string(), detail.to_string());
                found.push(Proposed { label, detail, replaces, is_keyword: true });
            }
        }
        for (name, entry) in self.system.names.iter() {
            // Dots are the beginning of a row variable.
            if typed.starts_with('.') && entry.kind == NameKind::Dim {
                continue;
            }
            let detail = self.value(name).map_or(String::new(), |value| value.text.clone());
            let label = self.system.show(&name).to_string();
            found.push(Proposed { label, detail, replaces, is_keyword: false });
        }
        found.retain(|each| each.label.trim_start_matches('.').starts_with(spelled));
        found
    }

    /// The changes that lay out the lines without mistakes as they are printed. Comments and empty lines stay.
    pub fn layout(&self) -> Vec<Edit> {
        let mut edits = Vec::new();
        for statement in &self.system.statements {
            let text = self.system.show(statement).to_string();
            if statement.span.slice(&self.text) != text {
                edits.push(Edit { span: statement.span, text });
            }
        }
        edits
    }
}

fn of_constraint(system: &System, constraint: &Constraint, places: &mut Vec<(NameId, Span)>) {
    match constraint {
        Constraint::DimEq { left: a, right: b } | Constraint::DimLe { result: a, operand: b } => {
            places.extend([a, b].into_iter().filter_map(of_dim));
        }
        Constraint::RowEq { left: a, right: b } | Constraint::RowLe { result: a, operand: b } => {
            [a, b].into_iter().for_each(|row| of_row(system, row, places));
        }
    }
}

fn of_row(system: &System, row: &Row, places: &mut Vec<(NameId, Span)>) {
    places.extend(system.leading(row).iter().chain(system.trailing(row)).filter_map(of_dim));
    if let HoleKind::Var(name) = row.hole.kind {
        places.push((name, row.hole.span));
    }
}

fn of_dim(dim: &Dim) -> Option<(NameId, Span)> {
    match dim.kind {
        DimKind::Var(name) => Some((name, dim.span)),
        DimKind::Unit | DimKind::Atom { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# A layer.\nparam ..w..  # weights\nleaf ..x..,b\n[..x..]~[batch,  64]\n[..y..] <= [..w.., b]\nb = 8\nwrong line\nbatch = 32\n[..w..] ~ [batch]\n";

    fn at(part: &str) -> u32 {
        TEXT.find(part).expect("it is there") as u32
    }

    #[test]
    fn values_stand_where_variables_are_written_first() {
        let hints: Vec<String> = Edited::new(TEXT)
            .hints()
            .iter()
            .map(|(span, text)| format!("{}{text}", span.slice(TEXT)))
            .collect();
        let expected = ["..w.. = [32]", "..x.. = [32, 64]", "b = 8", "batch = 32", "..y.. = [32, 8]"];
        assert_eq!(hints, expected);
    }

    #[test]
    fn variables_are_found_and_renamed_everywhere() {
        let edited = Edited::new(TEXT);
        let all = |part: &str| -> Vec<u32> { edited.uses(at(part)).iter().map(|span| span.start).collect() };
        assert_eq!(all("..w.., b"), [at("..w..  #"), at("..w.., b"), at("..w..] ~ [b")]);
        assert_eq!(edited.definition(at("b = 8")).map(|span| span.start), Some(at("b\n[..x")));
        assert_eq!(edited.definition(at("batch = 32")).map(|span| span.start), Some(at("batch,  64")));
        let edits = edited.rename(at("..x..]"), "data").expect("it can be");
        assert_eq!(edits.iter().map(|edit| edit.text.as_str()).collect::<Vec<_>>(), ["..data..", "..data.."]);
        assert_eq!(edited.rename(at("b = 8"), "batch"), Err("`batch` is another variable".to_string()));
        for wrong in ["", "3", "a b", "leaf", "a\n"] {
            assert!(edited.rename(at("b = 8"), wrong).is_err(), "{wrong:?}");
        }
        assert_eq!((edited.uses(0), edited.hover(0), edited.definition(at("wrong"))), (vec![], None, None));
    }

    #[test]
    fn renaming_keeps_the_solution() {
        let edited = Edited::new(TEXT);
        for (name, span) in &edited.places {
            let mut edits = edited.rename(span.start, "other").expect("it can be");
            edits.sort_by_key(|edit| std::cmp::Reverse(edit.span.start));
            let mut text = TEXT.to_string();
            for Edit { span, text: new } in edits {
                text.replace_range(span.start as usize..span.end as usize, &new);
            }
            let after = Edited::new(&text);
            assert_eq!(after.values.len(), edited.values.len());
            let other = after.system.names.find("other").expect("it has the name");
            let value = |edited: &Edited, name| edited.value(name).map(|value| value.text.clone());
            assert_eq!(value(&after, other), value(&edited, *name));
        }
    }

    #[test]
    fn completions_know_rows_and_dimensions() {
        let proposed = |line: &str| {
            let text = format!("{TEXT}{line}");
            let found = Edited::new(&text).completion(text.len() as u32);
            found.into_iter().map(|each| each.label).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(proposed(""), "leaf param ..w.. ..x.. b batch ..y..");
        assert_eq!(proposed("[3, b"), "b batch");
        assert_eq!(proposed("[.."), "..w.. ..x.. ..y..");
        assert_eq!(proposed("[..w"), "..w..");
        assert_eq!(proposed("le"), "leaf");
        assert_eq!(proposed("b = 8  # b"), "");
    }

    #[test]
    fn the_layout_keeps_comments_and_lines_with_mistakes() {
        let mut text = TEXT.to_string();
        for edit in Edited::new(TEXT).layout().into_iter().rev() {
            text.replace_range(edit.span.start as usize..edit.span.end as usize, &edit.text);
        }
        let expected = TEXT.replace("..x..,b", "..x.., b").replace("]~[batch,  64]", "] ~ [batch, 64]");
        assert_eq!(text, expected);
        assert!(Edited::new(&text).layout().is_empty());
    }

    #[test]
    fn nothing_panics_at_any_offset() {
        for end in 0..=TEXT.len() {
            let edited = Edited::new(&TEXT[..end]);
            for offset in 0..=end as u32 + 1 {
                let _ = (edited.hover(offset), edited.definition(offset), edited.uses(offset));
                let _ = (edited.completion(offset), edited.rename(offset, "n"));
            }
        }
    }
}
