//! Every mistake that the parser reports, and the words for it.
//!
//! A mistake is a small value made of spans. Only [`Mistake::diagnose`] turns it into sentences, so
//! all wording is in this file: the message describes the mistake, the labels mark the places, the
//! help suggests what to write.

use super::ast::{Dim, DimKind, System};
use super::error;
use super::lexer::{Token, TokenKind};
use super::names::{NameId, NameKind, Tag};
use broadloom_diagnostics::{Diagnostic, Span};

/// The mistakes that a line can have. `found` is the place where something else was expected: a
/// token, or the empty span at the end of the line.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mistake {
    /// A token that is wrong wherever it stands.
    Slip(Token),
    SizeZero(Span),
    SizeTooLarge(Span),
    /// `3:` without a name after it.
    MissingBasis {
        atom: Span,
        found: Span,
    },
    /// `a:x`, `_:x`, `3:x:y`.
    BasisMisplaced {
        dim: Dim,
        colon: Span,
    },
    MissingComma {
        left: Span,
        right: Span,
    },
    /// A comma where a term should be.
    MissingTerm(Span),
    TwoHoles {
        first: Span,
        second: Span,
    },
    NestedRow {
        outer: Span,
        inner: Span,
    },
    Unclosed {
        open: Span,
        found: Span,
        after_term: bool,
    },
    Unopened(Span),
    RowVariableOutside(Span),
    MarkerOutside(Span),
    MarkerAsOperator(Span),
    CommaOutside {
        left: Span,
        comma: Span,
    },
    /// No term before or after an operator.
    MissingSide {
        operator: Option<Span>,
        found: Span,
    },
    MissingOperator {
        left: Span,
        rows: bool,
        found: Span,
    },
    WrongOperator {
        operator: Span,
        left: Span,
        right: Option<Span>,
        rows: bool,
    },
    EqualsBetweenRows(Span),
    TildeBetweenDims(Span),
    RowWithDim {
        operator: Span,
        row: Span,
        dim: Dim,
    },
    /// A second operator.
    Chain(Span),
    /// An operator after a tag.
    TagCompares(Span),
    AfterStatement {
        statement: Span,
        found: Span,
    },
    TagWithoutVariable {
        tag: Span,
        found: Span,
    },
    TagsVariablesOnly(Span),
    /// `leaf` and `param` for one variable.
    TwoTags {
        name: NameId,
        span: Span,
        tag: Tag,
    },
    /// One name for a dimension and a row.
    TwoKinds {
        name: NameId,
        span: Span,
    },
    TextTooLong,
}

impl Mistake {
    /// The mistake in words. The system still holds the names of the line.
    pub fn diagnose(self, text: &str, system: &System) -> Diagnostic {
        let quote = |span: Span| quote(span.slice(text));
        let plain = |span: Span| clip(span.slice(text));
        let expected = |what: &str, found: Span| expected(what, found.slice(text));
        match self {
            Mistake::Slip(token) => slip(token, text),
            Mistake::SizeZero(span) => error("sizes start at 1", span, "this size is zero")
                .with_help("write `_` for the unit, or `1` for an axis one wide"),
            Mistake::SizeTooLarge(span) => error("this size is too large", span, "does not fit in 64 bits")
                .with_help(format!("sizes go up to {}", u64::MAX)),
            Mistake::MissingBasis { atom, found } => {
                let size = clip(atom.slice(text).trim_end_matches(':').trim_end());
                let label = expected("a name", found);
                error("the basis after `:` is missing", found, label)
                    .with_label(atom, "this size announces a basis")
                    .with_help(format!("write `{size}:tag`, or `{size}` for the default basis"))
            }
            Mistake::BasisMisplaced { dim, colon } => {
                let (message, help) = match dim.kind {
                    DimKind::Unit => {
                        ("the unit has no basis", "write `1:tag` for an axis one wide with a basis")
                    }
                    DimKind::Var(_) => ("a variable has no basis", "only a size has a basis, as in `3:tag`"),
                    DimKind::Atom { .. } => {
                        ("a size has only one basis", "write one name after the size, as in `3:tag`")
                    }
                };
                error(message, colon, "no basis can follow here").with_help(help)
            }
            Mistake::MissingComma { left, right } => {
                let (left, shown) = (plain(left), plain(right));
                let message = format!("a comma is missing between `{left}` and `{shown}`");
                error(message, right, "expected `,` before this")
                    .with_help(format!("write `{left}, {shown}`"))
            }
            Mistake::MissingTerm(span) => {
                error("a term is missing before this comma", span, "expected a term")
                    .with_help("delete the comma, or write a size, a variable or `_` before it")
            }
            Mistake::TwoHoles { first, second } => {
                error("a row has at most one hole", second, "a second hole")
                    .with_label(first, "the first hole")
                    .with_help("keep one row variable or marker, and write other axes as dimensions")
            }
            Mistake::NestedRow { outer, inner } => error("rows do not nest", inner, "a row inside a row")
                .with_label(outer, "this row is still open")
                .with_help("a row is one list of terms, as in `[3, a, ..r..]`"),
            Mistake::Unclosed { open, found, after_term } => {
                let item = if after_term { "`,` or `]`" } else { "a term or `]`" };
                error("this row is not closed", found, expected(item, found))
                    .with_label(open, "the row starts here")
                    .with_help(match found.start == found.end {
                        true => "write `]`; a statement ends where its line ends",
                        false => "write `]` at the end of the row",
                    })
            }
            Mistake::Unopened(span) => error("this `]` closes nothing", span, "no `[` before it")
                .with_help("write `[` at the start of the row, or delete `]`"),
            Mistake::RowVariableOutside(span) => {
                let message = "a row variable must stand inside brackets";
                error(message, span, "not inside a row").with_help(format!("write `[{}]`", plain(span)))
            }
            Mistake::MarkerOutside(span) => {
                let message = "the marker must stand inside brackets";
                error(message, span, "not inside a row")
                    .with_help("write `[]` for the row without axes, or as in `[3, <>, 4]`")
            }
            Mistake::MarkerAsOperator(span) => {
                let message = format!("{} does not compare", quote(span));
                error(message, span, "this is the marker of a row")
                    .with_help("write `=` or `<=` between dimensions, `~` or `<=` between rows")
            }
            Mistake::CommaOutside { left, comma } => {
                error("this comma is not inside a row", comma, "no `[` before it")
                    .with_help(format!("write `[{}, …]` for a row", plain(left)))
            }
            Mistake::MissingSide { operator: Some(operator), found } => {
                let message = format!("nothing to compare after {}", quote(operator));
                error(message, found, expected("a dimension or a row", found))
            }
            Mistake::MissingSide { operator: None, found } => {
                let message = format!("a statement cannot start with {}", quote(found));
                error(message, found, "expected a dimension, a row or a tag")
                    .with_help("write something like `a = 3`, `[..r..] <= [3]` or `leaf a`")
            }
            Mistake::MissingOperator { left, rows, found } => {
                let operators = if rows { "`~` or `<=`" } else { "`=` or `<=`" };
                let message = format!("{} is not compared with anything", quote(left));
                let diagnostic = error(message, found, expected(operators, found));
                match found.slice(text).chars().next() {
                    Some(c) if !rows && (c.is_alphabetic() || c == '.') => {
                        diagnostic.with_help("to tag variables, write `leaf` or `param` before them")
                    }
                    _ => diagnostic,
                }
            }
            Mistake::WrongOperator { operator, left, right, rows } => {
                wrong_operator(text, operator, left, right, rows)
            }
            Mistake::EqualsBetweenRows(operator) => {
                let message = "rows are equated with `~`, not `=`";
                error(message, operator, "between two rows")
                    .with_help("write `~`: the same axes in order, wherever the markers are")
            }
            Mistake::TildeBetweenDims(operator) => {
                let message = format!("dimensions are equated with `=`, not {}", quote(operator));
                error(message, operator, "between two dimensions")
                    .with_help("write `=`, or put brackets around both sides to compare rows")
            }
            Mistake::RowWithDim { operator, row, dim } => {
                error("a row cannot be compared with a dimension", operator, "")
                    .with_label(row, "a row")
                    .with_label(dim.span, "a dimension")
                    .with_help(format!("write `[{}]` for the row with that axis", plain(dim.span)))
            }
            Mistake::Chain(operator) => {
                let message = "a statement compares two things only";
                error(message, operator, "a second comparison")
                    .with_help("write the second comparison on a line of its own")
            }
            Mistake::TagCompares(operator) => {
                error("a tag does not compare", operator, "expected the end of the line")
                    .with_help("write the tag and the constraint on lines of their own")
            }
            Mistake::AfterStatement { statement, found } => {
                let message = format!("{} does not belong to this statement", quote(found));
                error(message, found, "expected the end of the line")
                    .with_label(statement, "the statement is complete here")
                    .with_help("write one statement a line, and rows in brackets")
            }
            Mistake::TagWithoutVariable { tag, found } => {
                let word = tag.slice(text);
                let message = format!("`{word}` is not followed by a variable");
                error(message, found, expected("a variable", found)).with_help(format!(
                    "write `{word} a, ..r..` to tag variables, or `{word} = 3` if `{word}` is one"
                ))
            }
            Mistake::TagsVariablesOnly(found) => {
                let label = expected("a variable", found);
                error("only variables have tags", found, label).with_help("list names, as in `leaf a, ..r..`")
            }
            Mistake::TwoTags { name, span, tag } => {
                let old = system.names.get(name);
                let shown = clip(&system.show(&name).to_string());
                let old_tag = old.tag.map_or("", Tag::keyword);
                let label = format!("tagged `{}` here", tag.keyword());
                error(format!("`{shown}` has two tags"), span, label)
                    .with_label(old.tag_span, format!("already tagged `{old_tag}` here"))
                    .with_help("delete one of the tags")
            }
            Mistake::TwoKinds { name, span } => two_kinds(system, name, span),
            Mistake::TextTooLong => {
                error("the text is too long", Span::default(), "").with_help("a file can have up to 4 GiB")
            }
        }
    }
}

fn two_kinds(system: &System, name: NameId, span: Span) -> Diagnostic {
    let first = system.names.get(name);
    let text = clip(system.names.text(name));
    let in_words = |kind| match kind {
        NameKind::Dim => "a dimension",
        NameKind::Row => "a row",
    };
    let here = match first.kind {
        NameKind::Dim => NameKind::Row,
        NameKind::Row => NameKind::Dim,
    };
    error(
        format!("`{text}` names both a dimension and a row"),
        span,
        format!("used as {} here", in_words(here)),
    )
    .with_label(first.first_use, format!("first used as {} here", in_words(first.kind)))
    .with_help(match here {
        NameKind::Dim => {
            format!("write `..{text}..` if the row is meant, or give the dimension another name")
        }
        NameKind::Row => {
            format!("write `{text}` if the dimension is meant, or give the row another name")
        }
    })
}

fn wrong_operator(text: &str, operator: Span, left: Span, right: Option<Span>, rows: bool) -> Diagnostic {
    let (things, equal) = if rows { ("rows", "~") } else { ("dimensions", "=") };
    let written = operator.slice(text);
    let quoted = quote(written);
    let (message, help) = match written {
        "==" | "===" | "≡" | "≅" | "≃" | "∼" | "~=" | "=~" | "~~" => {
            (format!("{things} are equated with `{equal}`, not {quoted}"), format!("write `{equal}`"))
        }
        ">=" | "=>" | ">" | "≥" | "⩾" | "⊒" | "⊐" => {
            let turned = right.map(|right| (right.slice(text), left.slice(text)));
            let turned = match turned {
                Some((result, operand)) if result.len() + operand.len() <= 60 => {
                    format!("`{result} <= {operand}`")
                }
                _ => "`result <= operand`".to_owned(),
            };
            (format!("there is no {quoted}: the result comes first"), format!("turn it round: {turned}"))
        }
        "<" | "=<" | "≤" | "⩽" | "⊏" => (
            format!("there is no {quoted}: the order is written `<=`"),
            "write `<=`: the result refines the operand, or equals it".to_owned(),
        ),
        "!=" | "≠" => (
            "no constraint says that two terms differ".to_owned(),
            format!("constraints are equalities `{equal}` and inequalities `<=`"),
        ),
        _ => (format!("{quoted} is not an operator"), format!("write `{equal}` or `<=`")),
    };
    error(message, operator, format!("not a comparison of {things}")).with_help(help)
}

/// The message for a token that is wrong wherever it stands.
fn slip(token: Token, text: &str) -> Diagnostic {
    let written = token.span.slice(text);
    let quoted = quote(written);
    let diagnostic = |message: String, label: &str| error(message, token.span, label);
    match token.kind {
        TokenKind::BadName => diagnostic(format!("{quoted} is not a name"), "starts with `_`")
            .with_help("a name starts with a letter; `_` alone is the unit"),
        TokenKind::BadNumber => {
            let message = format!("{quoted} is not a size");
            bad_number(diagnostic(message, "expected a whole number"), written)
        }
        TokenKind::BadDots => {
            let name = written.trim_matches('.');
            let is_name = name.starts_with(char::is_alphabetic) && !name.contains(['.', '∅']);
            let help = match is_name {
                true => format!("write `..{}..`, with two dots on each side", clip(name)),
                false => "a row variable is written `..name..`, and the marker `<>`".to_owned(),
            };
            let message = format!("{quoted} is not a row variable");
            diagnostic(message, "expected `..name..`").with_help(help)
        }
        _ => {
            let c = written.chars().next().unwrap_or_default();
            let message = match (is_shown(c), c.is_ascii()) {
                (true, true) => format!("unknown character `{c}`"),
                (true, false) => format!("unknown character `{c}` (U+{:04X})", c as u32),
                (false, _) => format!("unknown character U+{:04X}", c as u32),
            };
            let diagnostic = diagnostic(message, "not part of the format");
            match unknown_character_help(c) {
                Some(help) => diagnostic.with_help(help),
                None => diagnostic,
            }
        }
    }
}

fn bad_number(diagnostic: Diagnostic, written: &str) -> Diagnostic {
    let digits: String = written.chars().filter(char::is_ascii_digit).take(40).collect();
    if written.ends_with('∅') {
        diagnostic.with_help("write `_` for the unit")
    } else if written.chars().all(|c| c.is_ascii_digit() || c == '_') && digits.len() < 40 {
        diagnostic.with_help(format!("write `{digits}` without `_`"))
    } else if written.contains("..") {
        diagnostic.with_help("write a comma between a size and a row variable, as in `3, ..r..`")
    } else if written.contains('.') {
        diagnostic.with_help("sizes are whole numbers from 1")
    } else {
        diagnostic.with_help("a name starts with a letter, and a basis follows `:`, as in `3:tag`")
    }
}

fn unknown_character_help(c: char) -> Option<&'static str> {
    Some(match c {
        '?' | '*' => "give an unknown size a name, or write `..name..` for an unknown row",
        '∅' => "write `_` for the unit",
        '(' | ')' | '{' | '}' => "rows are written in square brackets, as in `[3, 4]`",
        ';' => "write one statement a line, and commas between the terms of a row",
        '-' => "sizes start at 1 and have no sign; names have `_` but no `-`",
        '/' => "comments start with `#`; there is no arithmetic",
        '+' => "there is no arithmetic: a term is a size, a variable or `_`",
        '\'' | '’' | '‘' | '′' => "a name starts with a letter and may go on with `'`",
        '"' | '“' | '”' => "names are written without quotes",
        '…' | '‥' | '⋯' => "a row variable is written `..name..`, and the marker `<>`",
        '⋄' | '◊' | '♢' | '⬦' => "write the marker `<>` or `◇`",
        '%' => "comments start with `#`",
        '\u{300}'..='\u{36f}' => "write the letter and its accent as one character",
        _ if !is_shown(c) => "delete this character; it cannot be seen",
        _ => return None,
    })
}

/// `expected …`, with the text that is there instead.
fn expected(what: &str, found: &str) -> String {
    match found {
        "" => format!("expected {what} before the line ends"),
        found => format!("expected {what}, found {}", quote(found)),
    }
}

/// The text in backticks, shortened if it is long.
fn quote(text: &str) -> String {
    format!("`{}`", clip(text))
}

/// The text, shortened if it is long.
fn clip(text: &str) -> String {
    const LONGEST: usize = 40;
    match text.char_indices().nth(LONGEST) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// Returns true if a character is visible and distinguishable from others.
fn is_shown(c: char) -> bool {
    !c.is_control()
        && !matches!(c, '\u{ad}' | '\u{300}'..='\u{36f}' | '\u{feff}')
        && !matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        && !matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..)
}
