//! Paths into layers, as they are written: `net.blocks[0].w`.

use broadloom_lang::syntax::token::{Token, TokenKind};

/// The parts of the path that some tokens end with: `net`, `blocks` and `0` for `net.blocks[0]`.
pub(crate) fn path<'t>(text: &'t str, tokens: &[&Token]) -> Option<Vec<&'t str>> {
    let mut parts = Vec::new();
    let mut rest = tokens;
    loop {
        rest = match rest {
            [before @ .., open, index, close]
                if (open.kind, index.kind, close.kind)
                    == (TokenKind::OpenList, TokenKind::Int, TokenKind::CloseList) =>
            {
                parts.push(index.span.slice(text));
                before
            }
            [before @ .., name] if name.kind == TokenKind::Name => {
                parts.push(name.span.slice(text));
                match before {
                    [before @ .., dot] if dot.kind == TokenKind::Dot => before,
                    _ => {
                        parts.reverse();
                        return Some(parts);
                    }
                }
            }
            _ => return None,
        };
    }
}
