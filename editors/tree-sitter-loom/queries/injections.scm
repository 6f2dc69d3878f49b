; Words such as TODO in comments, for editors that have the grammar `comment`.
((comment) @injection.content
  (#set! injection.language "comment"))
