; For Helix and nvim-treesitter-textobjects: functions, arguments, comments.
(def body: (_) @function.inner) @function.outer
(op body: (_) @function.inner) @function.outer
(parameter) @parameter.inner
(arguments (_) @parameter.inner)
(comment) @comment.inner
(comment)+ @comment.outer
