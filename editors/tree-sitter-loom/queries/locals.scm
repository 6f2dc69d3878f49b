; Where names are bound, and where they are used. A `let` in a block is seen to the end of the block.

(source_file) @local.scope
(def) @local.scope
(op) @local.scope
(for) @local.scope
(repeat) @local.scope
(each) @local.scope

(dim name: (identifier) @local.definition.constant)
(data name: (identifier) @local.definition.var)
(state name: (identifier) @local.definition.var)
(let name: (identifier) @local.definition.var)
(weight name: (identifier) @local.definition.field)
((def name: (identifier) @local.definition.function)
  (#set! definition.function.scope "parent"))
((op name: (identifier) @local.definition.function)
  (#set! definition.function.scope "parent"))
(parameter name: (identifier) @local.definition.parameter)
(for variable: (identifier) @local.definition.var)
(repeat variable: (identifier) @local.definition.var)
(each variable: (identifier) @local.definition.var)
(import alias: (identifier) @local.definition.import)

(identifier) @local.reference
