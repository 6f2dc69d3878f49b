[
  (def)
  (op)
  (for)
  (repeat)
  (list)
  (arguments)
  (parameters)
] @fold

; Comments above each other fold as one.
(comment)+ @fold
