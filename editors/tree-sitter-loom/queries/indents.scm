; For nvim-treesitter. Blocks follow a line that ends with `:` or `=`.

[
  (def)
  (op)
  (for)
  (repeat)
  (if_statement)
  (list)
  (each)
  (arguments)
  (parameters)
  (parenthesised)
] @indent.begin

(pipe) @indent.auto
[")" "]"] @indent.branch @indent.end
(comment) @indent.ignore
(ERROR) @indent.auto
