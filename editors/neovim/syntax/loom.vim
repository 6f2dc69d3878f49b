" Colours for .loom files where there is no language server; with one, its semantic tokens come on top.
if exists("b:current_syntax")
  finish
endif

syntax keyword loomDeclaration import as dim data state let def op
syntax keyword loomKeyword in set for repeat backward minimise by print every save to
syntax keyword loomConditional if then else
syntax keyword loomOperatorWord and or not
syntax match loomNumber "\<[0-9][0-9_]*\(\.[0-9][0-9_]*\)\?\([eE][+-]\?[0-9][0-9_]*\)\?"
syntax match loomFunction "\<\k\+\ze("
" After a dot, every word is only a name.
syntax match loomField "\(\.\)\@<!\.\s*\zs\a\k*"
syntax region loomText start=+"+ end=+"+ end=+$+ contains=loomFilled
syntax match loomFilled "{\zs\k\+\ze}" contained
syntax match loomComment "#.*$"

highlight default link loomDeclaration Keyword
highlight default link loomKeyword Statement
highlight default link loomConditional Conditional
highlight default link loomOperatorWord Operator
highlight default link loomNumber Number
highlight default link loomFunction Function
highlight default link loomField Identifier
highlight default link loomText String
highlight default link loomFilled Identifier
highlight default link loomComment Comment

let b:current_syntax = "loom"
