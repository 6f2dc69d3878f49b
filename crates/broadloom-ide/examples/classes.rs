//! Prints the words of programs with the classes that the lexer gives them, one on a line: file, line, first column, column
//! after the last, class. Columns count units of UTF-16 from 1. Grammars of editors are compared with it.

use std::io::{self, Write};

use broadloom_diagnostics::Source;
use broadloom_ide::lexical;

fn main() -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for file in std::env::args().skip(1) {
        let source = Source::new(file.as_str(), std::fs::read_to_string(&file)?);
        for each in lexical(source.text()) {
            let line = source.line_of(each.span.start);
            let (start, _) = source.line_bytes(line);
            let column = |offset: u32| {
                let before = source.text().get(start as usize..offset as usize).unwrap_or_default();
                before.encode_utf16().count() + 1
            };
            let (first, last) = (column(each.span.start), column(each.span.end));
            writeln!(out, "{file}\t{line}\t{first}\t{last}\t{}", each.class.word())?;
        }
    }
    out.flush()
}
