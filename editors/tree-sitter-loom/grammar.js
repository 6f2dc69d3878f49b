// The grammar of `.loom` files for tree-sitter. It follows crates/broadloom-lang/src/syntax/parser/mod.rs, whose header has the
// same rules in the same order. What depends on lines, columns or the words ahead is in src/scanner.c.
//
// `tree-sitter generate --abi 14` writes src/parser.c: Neovim 0.10 reads no newer format.

/// <reference types="tree-sitter-cli/dsl" />

// How strongly operators bind, as `Binary::strength` has it.
const STRENGTH = { pipe: 1, or: 2, and: 3, not: 4, compare: 5, add: 6, multiply: 7, minus: 8, power: 9, postfix: 10 };

// What may be missing in an unfinished program where a line begins with a keyword: an operand, or a bracket.
const orMissing = ($, rule) => choice(rule, $.missing);
const closed = ($, bracket) => choice(bracket, alias($._close, $.missing));
const separated = (rule, comma) => seq(rule, repeat(seq(comma, rule)), optional(comma));

module.exports = grammar({
  name: "loom",
  word: ($) => $.identifier,
  extras: ($) => [/[ \t\r\n\uFEFF]/, $.comment],
  supertypes: ($) => [$.expression],

  externals: ($) => [
    $._newline,
    $._indent,
    $._dedent,
    // The beginning of a text, by what follows the quote.
    $._text_quote,
    $._spec_quote,
    // A quote, or the end of the line.
    $._text_end,
    // A brace in a text with a name and another brace behind it.
    $._fill,
    // A comma between axes, and one between the arguments of a function.
    $._axis_comma,
    $._argument_comma,
    // `=max`, `=:and`, … before an operand.
    $._word_sign,
    // Nothing, before a keyword that begins a statement at the beginning of a line: an operand, and the bracket that would close.
    $.missing,
    $._close,
    // Valid nowhere: if the scanner is asked for it, the parser recovers from a mistake.
    $._recovery,
  ],

  rules: {
    source_file: ($) => repeat($._statement),

    _statement: ($) =>
      choice(
        seq(
          choice(
            $.import,
            $.dim,
            $.data,
            $.state,
            $.let,
            $.set,
            $.backward,
            $.minimise,
            $.print,
            $.save,
            $.assignment,
            $.expression_statement,
          ),
          $._newline,
        ),
        $.def,
        $.op,
        $.for,
        $.repeat,
        $.if_statement,
      ),

    _block: ($) => seq($._indent, $.block, $._dedent),
    block: ($) => repeat1($._statement),
    // A block, or one statement behind the colon.
    _body: ($) => seq(":", field("body", choice($._block, $._statement))),

    import: ($) => seq("import", field("path", $.text), optional(seq("as", field("alias", $.identifier)))),
    dim: ($) =>
      seq(
        "dim",
        field("name", $.identifier),
        optional(seq("in", field("least", $._sum), "..", optional(field("greatest", $._sum)))),
        optional($._value),
      ),
    data: ($) => seq("data", $._leaf),
    state: ($) => seq("state", $._leaf),
    _leaf: ($) => seq(field("name", $.identifier), optional($._shape), optional($._precision), optional($._value)),
    let: ($) =>
      seq("let", field("name", $.identifier), repeat(seq(",", field("name", $.identifier))), optional($._shape), $._value),

    def: ($) =>
      seq(
        "def",
        field("name", $.identifier),
        optional(field("configuration", $.parameters)),
        field("parameters", $.parameters),
        optional($._result),
        "=",
        choice(seq(field("body", orMissing($, $.expression)), $._newline), field("body", $._block)),
      ),
    parameters: ($) => seq("(", optional(separated($.parameter, alias($._argument_comma, ","))), closed($, ")")),
    parameter: ($) => seq(field("name", $.identifier), optional($._shape), optional($._value)),

    op: ($) => seq("op", field("name", $.identifier), field("parameters", $.parameters), $._body),
    for: ($) => seq("for", field("variable", $.identifier), "in", field("list", $.expression), $._body),
    repeat: ($) =>
      seq("repeat", optional(seq(field("variable", $.identifier), "in")), field("count", $.expression), $._body),

    if_statement: ($) =>
      prec.right(seq("if", field("condition", $.expression), $._body, repeat($.else_if), optional($.else))),
    else_if: ($) => seq("else", "if", field("condition", $.expression), $._body),
    else: ($) => seq("else", $._body),

    set: ($) => seq("set", field("target", $.expression), $._value),
    backward: ($) => seq("backward", field("loss", $.expression)),
    minimise: ($) =>
      seq(
        "minimise",
        field("loss", $.expression),
        optional(seq("of", field("of", $.expression))),
        "by",
        field("rule", $.expression),
        optional(seq("every", field("every", $.expression))),
      ),
    print: ($) =>
      seq("print", orMissing($, $.expression), repeat(seq(",", orMissing($, $.expression))), optional(seq("every", field("every", $.expression)))),
    save: ($) => seq("save", field("value", $.expression), "to", field("path", $.text)),
    assignment: ($) =>
      seq(
        field("target", $.expression),
        field("sign", $.sign),
        field("value", orMissing($, $.expression)),
        optional(seq("by", field("logic", choice($.text, $.spec)))),
      ),
    sign: ($) => choice(token(seq("=", optional(":"), optional(choice("**", "+", "-", "*", "/")))), $._word_sign),
    expression_statement: ($) => $.expression,

    // Shapes: batch | input -> output. Each row may be empty; `()` has no axes.
    _shape: ($) => seq(":", field("shape", $.shape)),
    shape: ($) =>
      choice(
        seq("(", ")"),
        field("output", $.row),
        seq($._input, optional(field("output", $.row))),
        seq(optional(field("batch", $.row)), "|", optional($._input), optional(field("output", $.row))),
      ),
    _input: ($) => seq(optional(field("input", $.row)), "->"),
    // The shape of a result, or of several: [..b.. | n; ..b.. | m].
    _result: ($) => seq(":", field("shape", choice($.shape, $.shapes))),
    shapes: ($) => {
      const one = choice($.shape, $.shapes);
      return seq("[", one, ";", optional(seq(one, repeat(seq(";", one)), optional(";"))), closed($, "]"));
    },
    row: ($) => seq($._axis, repeat(seq(optional(alias($._axis_comma, ",")), $._axis))),
    _axis: ($) => choice($.axis, $.wildcard, $.ellipsis, $.row_variable),
    axis: ($) =>
      seq(
        choice($.number, $.identifier, $.parenthesised),
        optional(seq(token.immediate(":"), field("basis", $.identifier))),
      ),
    wildcard: () => "_",
    ellipsis: () => "...",
    row_variable: ($) => seq("..", $.identifier, ".."),
    _precision: ($) => seq("as", field("precision", $.identifier)),
    _value: ($) => seq("=", field("value", orMissing($, $.expression))),

    expression: ($) => choice($.if, $.range, $._sum),
    if: ($) =>
      seq(
        "if",
        field("condition", $.expression),
        "then",
        field("consequence", $.expression),
        "else",
        field("alternative", $.expression),
      ),
    range: ($) => seq(field("start", $._sum), "..", field("end", $._sum)),
    _sum: ($) => choice($.pipe, $.binary, $.unary, $._operand),
    _operand: ($) =>
      choice($.identifier, $.number, $.text, $.spec, $.parenthesised, $.list, $.each, $.weight, $.call, $.member, $.index),

    pipe: ($) => prec.left(STRENGTH.pipe, seq(field("left", $._sum), "|>", field("right", orMissing($, $._sum)))),
    binary: ($) => {
      const operators = [
        [prec.left, STRENGTH.or, "or"],
        [prec.left, STRENGTH.and, "and"],
        [prec.left, STRENGTH.compare, choice("<", "<=", ">", ">=", "==", "!=")],
        [prec.left, STRENGTH.add, choice("+", "-")],
        [prec.left, STRENGTH.multiply, choice("*", "/", "//", "%", "@")],
        [prec.right, STRENGTH.power, "**"],
      ];
      const each = ([grouped, strength, sign]) =>
        grouped(strength, seq(field("left", $._sum), field("operator", sign), field("right", orMissing($, $._sum))));
      return choice(...operators.map(each));
    },
    unary: ($) =>
      choice(
        prec(STRENGTH.not, seq(field("operator", "not"), field("operand", orMissing($, $._sum)))),
        prec(STRENGTH.minus, seq(field("operator", "-"), field("operand", orMissing($, $._sum)))),
      ),

    call: ($) => prec(STRENGTH.postfix, seq(field("function", $._operand), field("arguments", $.arguments))),
    arguments: ($) => seq("(", optional(separated(choice($.expression, $.named), ",")), closed($, ")")),
    named: ($) => seq(field("name", $.identifier), $._value),
    member: ($) => prec(STRENGTH.postfix, seq(field("value", $._operand), ".", field("member", $.identifier))),
    index: ($) => prec(STRENGTH.postfix, seq(field("value", $._operand), "[", field("index", orMissing($, $.expression)), closed($, "]"))),

    parenthesised: ($) => seq("(", orMissing($, $.expression), closed($, ")")),
    list: ($) => seq("[", optional(separated($.expression, ",")), closed($, "]")),
    each: ($) =>
      seq("[", field("item", $.expression), "for", field("variable", $.identifier), "in", field("list", orMissing($, $.expression)), closed($, "]")),
    // `{w : 784 -> 64 = zeros}`, a parameter in the sense of training.
    weight: ($) =>
      seq("{", field("name", $.identifier), optional($._shape), optional($._precision), optional($._value), closed($, "}")),

    text: ($) => seq(alias($._text_quote, '"'), repeat(choice($._plain, $.filled)), alias($._text_end, '"')),
    _plain: () => token.immediate(prec(1, /[^"{\r\n]+|\{/)),
    filled: ($) => seq(alias($._fill, "{"), $.identifier, "}"),

    // A text whose words are those of a spec. It is a list of words rather than a tree: it is often read half-written.
    spec: ($) => seq(alias($._spec_quote, '"'), repeat($._spec_word), '"'),
    _spec_word: ($) =>
      choice(
        alias($.identifier, $.label),
        $.number,
        $.wildcard,
        $.ellipsis,
        alias($._spec_row, $.row_variable),
        alias($._spec_filled, $.filled),
        "=>", "->", "|", ";", ",", "+", "*", "^", "=", "<", "~", ":",
      ),
    _spec_row: ($) => seq("..", alias($.identifier, $.label), ".."),
    _spec_filled: ($) => seq("{", $.identifier, "}"),

    identifier: () => /[\p{Alphabetic}_][\p{Alphabetic}\p{N}_]*/,
    number: () => /[0-9][0-9_]*(\.[0-9][0-9_]*)?([eE][+-]?[0-9][0-9_]*)?/,
    comment: () => /#[^\r\n]*/,
  },
});
