// The part of the grammar that depends on lines, columns and the words ahead: see crates/broadloom-lang/src/syntax/lexer.rs,
// whose rules these are. The state is the columns of the blocks that are open.
//
// Marks of the layout have no width. They stand at the end of the line before them, so that comments below stay outside of a
// statement; a comment that is indented like a block is part of it.

#include "tree_sitter/parser.h"

#include <stdlib.h>
#include <string.h>

enum TokenType {
    NEWLINE,
    INDENT,
    DEDENT,
    TEXT_QUOTE,
    SPEC_QUOTE,
    TEXT_END,
    FILL,
    AXIS_COMMA,
    ARGUMENT_COMMA,
    WORD_SIGN,
    MISSING,
    CLOSE,
    RECOVERY,
};

// The parser of the language refuses deeper nesting.
#define DEEPEST 128
#define LONGEST_WORD 8

typedef struct {
    uint16_t columns[DEEPEST];
    uint16_t depth;
} Scanner;

static uint16_t current(const Scanner *scanner) { return scanner->depth == 0 ? 0 : scanner->columns[scanner->depth - 1]; }

static bool is_blank(int32_t letter) { return letter == ' ' || letter == '\t' || letter == 0xFEFF; }

static bool is_line_end(int32_t letter) { return letter == '\n' || letter == '\r'; }

static bool is_digit(int32_t letter) { return letter >= '0' && letter <= '9'; }

// Letters beyond ASCII are all taken for letters of names: the grammar itself is exact.
static bool is_letter(int32_t letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || letter == '_' ||
           (letter >= 0x80 && letter != 0xFEFF);
}

static bool at_line_end(const TSLexer *lexer) { return lexer->eof(lexer) || is_line_end(lexer->lookahead); }

static void advance(TSLexer *lexer) { lexer->advance(lexer, false); }

static void skip_blanks(TSLexer *lexer) {
    while (is_blank(lexer->lookahead)) advance(lexer);
}

static bool found(TSLexer *lexer, enum TokenType type) {
    lexer->result_symbol = type;
    return true;
}

// Moves over a name; returns false if there is none.
static bool skip_name(TSLexer *lexer) {
    if (!is_letter(lexer->lookahead)) return false;
    while (is_letter(lexer->lookahead) || is_digit(lexer->lookahead)) advance(lexer);
    return true;
}

// Moves over a name, and returns true if it is one of these words, which end with a null pointer.
static bool is_word_of(TSLexer *lexer, const char *const words[]) {
    char word[LONGEST_WORD + 1] = {0};
    unsigned length = 0;
    while (is_letter(lexer->lookahead) || is_digit(lexer->lookahead)) {
        if (length < LONGEST_WORD && lexer->lookahead < 0x80) word[length] = (char)lexer->lookahead;
        length++;
        advance(lexer);
    }
    for (; length <= LONGEST_WORD && *words; words++)
        if (strcmp(*words, word) == 0) return true;
    return false;
}

// Returns true if the line before goes on with the token here: it stands between two expressions. A minus sign may also begin a
// statement: it has to be indented further. So has an `else`, which otherwise belongs to an `if` with a block.
static bool continues_line(const Scanner *scanner, TSLexer *lexer, uint16_t column) {
    static const char *const words[] = {"and", "or", "then", "else", NULL};
    static const char *const left[] = {"and", "or", "then", NULL};
    int32_t first = lexer->lookahead;
    switch (first) {
    case '+': case '*': case '/': case '%': case '@': case '<': case '>':
        return true;
    case '-': case '|': case '=': case '!':
        advance(lexer);
        if (first == '-') return lexer->lookahead != '>' && column > current(scanner);
        return lexer->lookahead == (first == '|' ? '>' : '=');
    default:
        return is_letter(first) && is_word_of(lexer, column <= current(scanner) ? left : words);
    }
}

// Ends a line, or opens or closes a block. The end of the token has been marked; `column` is that of the next word, `comment`
// that of the first comment before it.
static bool scan_layout(Scanner *scanner, TSLexer *lexer, const bool *valid, uint16_t column, int32_t comment) {
    if (valid[INDENT] && column > current(scanner) && scanner->depth < DEEPEST) {
        scanner->columns[scanner->depth++] = column;
        return found(lexer, INDENT);
    }
    bool is_inside = comment >= current(scanner);
    if (valid[DEDENT] && column < current(scanner) && !is_inside) {
        scanner->depth--;
        return found(lexer, DEDENT);
    }
    if (valid[NEWLINE] && (lexer->eof(lexer) || !continues_line(scanner, lexer, column))) return found(lexer, NEWLINE);
    return false;
}

// Returns true if a statement begins here whatever is unfinished above: a keyword that begins nothing else, not further in than its block.
static bool begins_statement(const Scanner *scanner, TSLexer *lexer, uint16_t column) {
    static const char *const words[] = {"import", "dim",      "data",     "state", "let",  "def", "op",
                                        "set",    "repeat",   "backward", "minimise", "print", "save", NULL};
    return lexer->eof(lexer) || (column <= current(scanner) && is_letter(lexer->lookahead) && is_word_of(lexer, words));
}

// At a comma. In the shape of an argument, a name with a shape or a default is the next argument: `x : 3, y : 4`, `x : 3, y = 1`.
// (A basis follows its colon without a space: `x : 3, y:rgb`.)
static bool scan_comma(TSLexer *lexer, const bool *valid) {
    advance(lexer);
    lexer->mark_end(lexer);
    if (!valid[ARGUMENT_COMMA]) return found(lexer, AXIS_COMMA);
    if (!valid[AXIS_COMMA]) return found(lexer, ARGUMENT_COMMA);
    while (is_blank(lexer->lookahead) || is_line_end(lexer->lookahead)) advance(lexer);
    if (is_letter(lexer->lookahead)) {
        skip_name(lexer);
        bool is_apart = is_blank(lexer->lookahead);
        skip_blanks(lexer);
        bool is_argument = lexer->lookahead == '=' || (is_apart && lexer->lookahead == ':');
        return found(lexer, is_argument ? ARGUMENT_COMMA : AXIS_COMMA);
    }
    bool is_axis = is_digit(lexer->lookahead) || lexer->lookahead == '.' || lexer->lookahead == '(';
    return found(lexer, is_axis ? AXIS_COMMA : ARGUMENT_COMMA);
}

// At a quote. A text is a spec if it has only words of specs, and one that nothing else has: `=>`, `->`, `|`, or two dots.
static bool scan_quote(TSLexer *lexer) {
    advance(lexer);
    lexer->mark_end(lexer);
    bool has_sign = false;
    while (lexer->lookahead != '"') {
        int32_t letter = lexer->lookahead;
        if (at_line_end(lexer)) return found(lexer, TEXT_QUOTE);
        if (is_letter(letter) || is_digit(letter) || is_blank(letter) || (letter < 0x80 && strchr(",;+*^<~:", letter))) {
            advance(lexer);
            continue;
        }
        advance(lexer);
        int32_t next = lexer->lookahead;
        if (letter == '|' || ((letter == '=' || letter == '-') && next == '>') || (letter == '.' && next == '.')) {
            has_sign = true;
            if (letter != '|') advance(lexer);
            // The third dot of an ellipsis.
            if (letter == '.' && lexer->lookahead == '.') advance(lexer);
        } else if (letter == '{') {
            if (!skip_name(lexer) || lexer->lookahead != '}') return found(lexer, TEXT_QUOTE);
            advance(lexer);
        } else if (letter != '=') {
            return found(lexer, TEXT_QUOTE);
        }
    }
    return found(lexer, has_sign ? SPEC_QUOTE : TEXT_QUOTE);
}

// Inside a text: its end, or a name that is filled in.
static bool scan_text(TSLexer *lexer, const bool *valid) {
    if (lexer->lookahead == '"') {
        advance(lexer);
        lexer->mark_end(lexer);
        return found(lexer, TEXT_END);
    }
    lexer->mark_end(lexer);
    if (at_line_end(lexer)) return found(lexer, TEXT_END);
    if (!valid[FILL] || lexer->lookahead != '{') return false;
    advance(lexer);
    lexer->mark_end(lexer);
    return skip_name(lexer) && lexer->lookahead == '}' && found(lexer, FILL);
}

// `=max`, `=:or`, …: the words accumulate only before a blank and an operand, because `w =max(a, b)` calls a function.
static bool scan_word_sign(TSLexer *lexer) {
    static const char *const words[] = {"max", "min", "and", "or", NULL};
    advance(lexer);
    if (lexer->lookahead == ':') advance(lexer);
    if (!is_letter(lexer->lookahead) || !is_word_of(lexer, words)) return false;
    lexer->mark_end(lexer);
    if (!is_blank(lexer->lookahead)) return false;
    skip_blanks(lexer);
    int32_t next = lexer->lookahead;
    bool is_operand = is_letter(next) || is_digit(next) || (next > 0 && next < 0x80 && strchr("([{\"-.", next));
    return is_operand && found(lexer, WORD_SIGN);
}

void *tree_sitter_loom_external_scanner_create(void) { return calloc(1, sizeof(Scanner)); }

void tree_sitter_loom_external_scanner_destroy(void *payload) { free(payload); }

unsigned tree_sitter_loom_external_scanner_serialize(void *payload, char *buffer) {
    const Scanner *scanner = payload;
    unsigned size = scanner->depth * sizeof(uint16_t);
    memcpy(buffer, scanner->columns, size);
    return size;
}

void tree_sitter_loom_external_scanner_deserialize(void *payload, const char *buffer, unsigned length) {
    Scanner *scanner = payload;
    scanner->depth = (uint16_t)(length / sizeof(uint16_t));
    if (length > 0) memcpy(scanner->columns, buffer, length);
}

bool tree_sitter_loom_external_scanner_scan(void *payload, TSLexer *lexer, const bool *valid) {
    Scanner *scanner = payload;
    bool recovers = valid[RECOVERY];
    if (valid[TEXT_END] && !recovers) return scan_text(lexer, valid);
    lexer->mark_end(lexer);
    bool has_layout = valid[NEWLINE] || valid[INDENT] || valid[DEDENT], has_ended = false;
    uint16_t column = 0;
    int32_t comment = -1;
    for (;;) {
        if (is_line_end(lexer->lookahead)) {
            has_ended = true;
            column = 0;
        } else if (lexer->lookahead == '#' && has_layout && has_ended) {
            if (comment < 0) comment = column;
            while (!at_line_end(lexer)) lexer->advance(lexer, true);
            continue;
        } else if (is_blank(lexer->lookahead)) {
            column += lexer->lookahead == '\t' ? 4 : lexer->lookahead == ' ';
        } else {
            break;
        }
        lexer->advance(lexer, true);
    }
    if (lexer->eof(lexer)) {
        has_ended = true;
        column = 0;
    }
    if (has_layout && has_ended && scan_layout(scanner, lexer, valid, column, comment)) return true;
    if (recovers) return false;
    if (has_ended && (valid[MISSING] || valid[CLOSE])) {
        bool is_word = is_letter(lexer->lookahead);
        if (begins_statement(scanner, lexer, column)) return found(lexer, valid[CLOSE] ? CLOSE : MISSING);
        // The word was read to its end, and no other token begins with one.
        if (is_word) return false;
    }
    switch (lexer->lookahead) {
    case ',': return (valid[AXIS_COMMA] || valid[ARGUMENT_COMMA]) && scan_comma(lexer, valid);
    case '"': return (valid[TEXT_QUOTE] || valid[SPEC_QUOTE]) && scan_quote(lexer);
    case '=': return valid[WORD_SIGN] && scan_word_sign(lexer);
    default: return false;
    }
}
