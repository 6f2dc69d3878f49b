-- Compiles the grammar in Neovim and looks at what it says of a program: nvim --headless -u editors/neovim/test_grammar.lua, in the root of the
-- repository, with XDG_DATA_HOME at an empty folder. Ends with 1 if something is wrong.

local here = vim.fs.dirname(vim.fs.normalize(debug.getinfo(1, "S").source:sub(2)))
vim.g.loaded_broadloom = true -- the language server is tried by test.lua
vim.opt.runtimepath:append(here)
vim.cmd("filetype plugin on | syntax on")
vim.cmd("runtime plugin/broadloom_grammar.lua")

local function fail(what)
  io.stderr:write(what .. "\n")
  vim.cmd("cquit 1")
end

local function test()
  vim.cmd.edit(here .. "/../../examples/attention.loom")
  if vim.treesitter.highlighter.active[vim.api.nvim_get_current_buf()] then
    fail("the grammar is there before it was compiled")
  end
  vim.cmd("BroadloomGrammar")
  if not vim.treesitter.highlighter.active[vim.api.nvim_get_current_buf()] then
    fail("the grammar is not used")
  end

  -- The last capture of the first place where a text occurs: the one that is seen.
  local function capture(text)
    local line = vim.fn.search([[\V]] .. text, "cnw")
    local column = vim.fn.getline(line):find(text, 1, true)
    local found = vim.treesitter.get_captures_at_pos(0, line - 1, column - 1)
    return found[#found] and found[#found].capture or "nothing"
  end

  vim.api.nvim_buf_set_lines(0, 0, -1, false, {
    "# a comment",
    "def dense(size)(x) = relu({weight} @ x + {b : size})",
    'let y = einsum("... s | label => ... | label", input)',
    "repeat step in 0..500:",
    "  print y |> tanh",
    "  backward y",
  })
  vim.treesitter.get_parser(0, "loom"):parse()
  local expected = {
    ["# a comment"] = "comment",
    ["def"] = "keyword",
    ["dense"] = "function",
    ["relu"] = "function.call",
    ["weight"] = "property",
    ["label"] = "label",
    ["=>"] = "string.special",
    ["500"] = "number",
    ["|>"] = "operator",
    ["tanh"] = "function.call",
  }
  for text, wanted in pairs(expected) do
    if capture(text) ~= wanted then
      fail(("`%s` is %s, not %s"):format(text, capture(text), wanted))
    end
  end

  vim.wo.foldmethod = "expr"
  vim.cmd("normal! zM")
  local folded = vim.wait(2000, function()
    return vim.fn.foldclosed(5) == 4
  end)
  if not folded then
    fail("the block of `repeat` does not fold")
  end
end

local ok, wrong = pcall(test)
if not ok then
  fail(wrong)
end
io.stdout:write("Neovim colours and folds a program by the grammar\n")
vim.cmd("qall!")
