[
  (def)
  (op)
  (for)
  (repeat)
  (if_statement)
  (list)
  (arguments)
  (parameters)
] @fold

; Comments above each other fold as one.
(comment)+ @fold
