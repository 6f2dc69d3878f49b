//! The codes of all messages. Each has a paragraph in `docs/errors.md`, which a test checks.

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $title:literal;)*) => {
        $($(#[$doc])* #[doc = $title] pub const $name: &str = $code;)*

        /// Every code with its title.
        pub const ALL: &[(&str, &str)] = &[$(($code, $title)),*];
    };
}

codes! {
    // The syntax of a program.
    CHARACTER = "E0101", "a character that means nothing";
    QUOTE = "E0102", "a text without an end";
    INDENTATION = "E0103", "indentation that fits no block";
    EXPECTED = "E0104", "something else is expected";
    BRACKET = "E0105", "a bracket that is not closed, or not opened";
    STATEMENT = "E0106", "a line that is no statement";
    SHAPE = "E0107", "a shape that is not well written";
    CHAIN = "E0108", "comparisons in a chain";
    NESTING = "E0109", "nested too deeply";
    NUMBER = "E0110", "a number that is not well written";
    BLOCK = "E0112", "a block that is missing";

    // Names and their values.
    UNKNOWN = "E0201", "a name that nothing has";
    ARGUMENTS = "E0202", "arguments that do not fit";
    KIND = "E0203", "a value of another kind is needed";
    IMPORT = "E0204", "a file that cannot be imported";
    FIELD = "E0205", "a field that is not there";
    PLACE = "E0206", "a statement in a place where it does nothing";
    DEPTH = "E0207", "functions that call each other without end";
    RANGE = "E0208", "a number outside of its range";
    PARAMETER = "E0209", "a parameter that cannot be made here";

    // Shapes.
    MISMATCH = "E0301", "sizes that do not agree";
    ARITHMETIC = "E0302", "sizes that do not come out";
    UNDETERMINED = "E0303", "a size that nothing decides";
    NOTATION = "E0304", "a spec that is not well written";
    USE = "E0305", "an operation that is not used as it should be";
    GAVE_UP = "E0306", "a limit of the solver";
    NAMED = "E0307", "a named size outside of its range";

    // Running a program.
    VALUE = "E0401", "numbers that do not fit";
    FILE = "E0402", "a file that cannot be read or written";
    RUN = "E0403", "a program that cannot be run";
    NOT_FINITE = "E0404", "a loss that is not finite";

    // Warnings and notes.
    BROADCASTS = "W0501", "something broadcasts";
    USED_ONCE = "W0502", "parameters that are used once, and only together";
    CHOSEN = "W0503", "a size that was chosen, not forced";
    UNUSED = "W0504", "something that is not used";
    ALONE = "W0505", "an axis of one operand that is summed alone";
    UNTRAINED = "W0506", "a parameter that is not trained";
    TARGETS = "W0507", "targets of another kind than the loss takes";
    POSITION = "W0508", "a position where a size may be meant";
    NO_SIZE = "W0509", "a name that stands for no size";
    ORDER = "W0510", "numbers in the order of another library";
    IDLE = "W0511", "a composition that contracts nothing";
    TURN = "W0512", "something that is new in each turn";
    MEANT = "W0513", "an argument that fits and is meant otherwise";
    UNUSED_WEIGHTS = "W0514", "weights in a file that nothing uses";
    INTERFACE = "W0515", "an interface that is older than its module";
    SECOND = "W0516", "a gradient in what is minimised";
}
