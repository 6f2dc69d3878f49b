//! Templates of advice: `$1 ** $2` with the arguments of a call in it. What is written in the place of a call means the same there: an argument keeps
//! together beside an operator, and so does the whole among the operands of another one.

/// A template with arguments in the places of `$1`, `$2`, … and `$*`; `x`, `y` and `z` stand for those that are not given.
pub fn filled(template: &str, arguments: &[String]) -> String {
    let is_first = |given: &String| matches!(&**given, "dim = 0" | "axis = 0" | "0");
    let along = if arguments.iter().any(is_first) { ", along = \"batch\"" } else { "" };
    // What is given by its name says how, and not what; and so does a number behind a list.
    let is_list = arguments.first().is_some_and(|first| first.starts_with('['));
    let is_name = |text: &str| text.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
    let is_named = |given: &&String| given.split_once(" = ").is_some_and(|(name, _)| is_name(name));
    let plain = arguments.iter().filter(|given| !is_named(given)).cloned();
    let plain: Vec<String> = plain.take(if is_list { 1 } else { usize::MAX }).collect();
    let all = match &plain[..] {
        [] => "linear(64), relu, linear(10)".to_string(),
        // They may stand in a list already.
        [list] if let Some(items) = list.strip_prefix('[').and_then(|list| list.strip_suffix(']')) => {
            items.to_string()
        }
        _ => plain.join(", "),
    };
    let template = template.replace("$*", &all).replace("$along", along);
    let mut parts = template.split('$');
    let mut text = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let number = part.chars().next().and_then(|digit| digit.to_digit(10)).unwrap_or_default() as usize;
        let at = number.saturating_sub(1);
        let rest = part.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let given = arguments.get(at).map_or(["x", "y", "z"][at.min(2)], |given| given);
        let is_argument = text.trim_end().ends_with(['(', ',']) && rest.trim_start().starts_with([')', ',']);
        text += &if is_argument { within_brackets(given).to_string() } else { as_operand(given) };
        text += rest;
    }
    text
}

/// A call with arguments as they are written elsewhere.
pub fn called(name: &str, arguments: &[String]) -> String {
    let arguments: Vec<&str> = arguments.iter().map(|argument| within_brackets(argument)).collect();
    format!("{name}({})", arguments.join(", "))
}

/// An expression as the operand of any operator: in brackets, unless it is a name, a number, a call or the like.
pub fn as_operand(expression: &str) -> String {
    let signs = ['+', '-', '*', '/', '%', '@', '<', '>', '=', '!', '|', ' '];
    match outside_brackets(expression).any(|(_, letter)| signs.contains(&letter)) {
        true => format!("({expression})"),
        false => expression.to_string(),
    }
}

/// An expression without brackets around all of it, for the place of an argument, which has its own.
fn within_brackets(expression: &str) -> &str {
    let inside = expression.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    let Some(inside) = inside else { return expression };
    let is_one = outside_brackets(expression).map(|(at, _)| at).eq([0, expression.len() - 1]);
    if is_one { inside } else { expression }
}

/// The letters of an expression that are in no brackets and in no text, the outermost brackets among them.
fn outside_brackets(expression: &str) -> impl Iterator<Item = (usize, char)> {
    let (mut depth, mut quoted) = (0_usize, false);
    expression.char_indices().filter(move |(_, letter)| {
        match letter {
            '"' => quoted = !quoted,
            _ if quoted => return false,
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => return depth == 0,
        }
        depth <= usize::from(matches!(letter, '(' | '[' | '{'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_keep_together() {
        let filled = |template, given: &[&str]| {
            super::filled(template, &given.iter().map(|given| given.to_string()).collect::<Vec<_>>())
        };
        assert_eq!(filled("$1 ** $2", &["x", "2"]), "x ** 2");
        assert_eq!(filled("$1 ** $2", &["x + 1", "-1"]), "(x + 1) ** (-1)");
        assert_eq!(filled("$1 ** $2", &["(a) + (b)", "(2)"]), "((a) + (b)) ** (2)");
        assert_eq!(filled("$1 @ $2", &["f(a + b)[0, 1]", "w.T"]), "f(a + b)[0, 1] @ w.T");
        assert_eq!(filled("log($1) / log(2)", &["x + 1"]), "log(x + 1) / log(2)");
        assert_eq!(filled("abs($1)", &["(x + 1)"]), "abs(x + 1)");
        assert_eq!(filled("abs($1)", &["(x) + (1)"]), "abs((x) + (1))");
        assert_eq!(filled("clamp($1, $2, $3)", &["a |> relu", "0"]), "clamp(a |> relu, 0, z)");
        assert_eq!(filled("concat($*$along)", &["[a + b, c]", "0"]), "concat(a + b, c, along = \"batch\")");
    }

    #[test]
    fn operands_keep_together() {
        for (given, wanted) in [
            ("0 * x + 1", "(0 * x + 1)"),
            ("-x", "(-x)"),
            ("einsum(\"a | b => b\", x)", "einsum(\"a | b => b\", x)"),
            ("attention(4)(x)", "attention(4)(x)"),
            ("[i + 1 for i in xs]", "[i + 1 for i in xs]"),
            ("f(\")\") + 1", "(f(\")\") + 1)"),
        ] {
            assert_eq!(as_operand(given), wanted);
        }
    }
}
