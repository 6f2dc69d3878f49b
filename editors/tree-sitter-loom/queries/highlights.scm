; Classes of words. The test holds them against the lexer: keywords, numbers, texts, operators, brackets, comments and names are
; the same everywhere. Later patterns win over earlier ones.

(comment) @comment
(number) @number

; Names
(identifier) @variable
((identifier) @boolean
  (#any-of? @boolean "true" "false"))
(dim name: (identifier) @constant)
(data name: (identifier) @variable.builtin)
(state name: (identifier) @variable.builtin)
(weight name: (identifier) @property)
(member member: (identifier) @property)
(parameter name: (identifier) @variable.parameter)
(named name: (identifier) @variable.parameter)
(for variable: (identifier) @variable.parameter)
(each variable: (identifier) @variable.parameter)
(repeat variable: (identifier) @variable.parameter)
(import alias: (identifier) @module)
(axis basis: (identifier) @type)
(row_variable (identifier) @type)
(data precision: (identifier) @type)
(state precision: (identifier) @type)
(weight precision: (identifier) @type)

; Functions
(def name: (identifier) @function)
(op name: (identifier) @function)
(call function: (identifier) @function.call)
(call function: (call function: (identifier) @function.call))
(call function: (member member: (identifier) @function.call))
(pipe right: (identifier) @function.call)
(pipe right: (member member: (identifier) @function.call))
(minimise rule: (identifier) @function.call)

; Words of the language
["import" "as" "dim" "data" "state" "let" "def" "op" "set" "backward" "minimise" "of" "by" "print" "every" "save" "to" "in"] @keyword
["for" "repeat"] @keyword.repeat
["if" "then" "else"] @keyword.conditional
["and" "or" "not"] @keyword.operator

; Signs
["|>" "<" "<=" ">" ">=" "==" "!=" "+" "-" "*" "**" "/" "//" "%" "@" "=" ":" "|" "->" "." ".."] @operator
(sign) @operator
(wildcard) @operator
(ellipsis) @operator
["(" ")" "[" "]" "{" "}"] @punctuation.bracket
["," ";"] @punctuation.delimiter

; Texts, and the specs in them. Signs of specs stand out from the text around them.
[(text) (spec)] @string
(spec (label) @label)
(spec (row_variable [".." (label)] @type))
(spec (number) @number)
(spec [(wildcard) (ellipsis) "=>" "->" "|" ";" "," "+" "*" "^" "=" "<" "~" ":"] @string.special)
(filled ["{" "}"] @punctuation.special)
(filled (identifier) @variable)
