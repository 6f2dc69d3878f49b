-- Colours and folds of `.loom` files by tree-sitter. The grammar is the folder tree-sitter-loom beside this plugin; `:BroadloomGrammar` compiles
-- it with a C compiler, once for each version of the grammar. Without it, syntax/loom.vim has the colours.

if vim.g.loaded_broadloom_grammar or vim.fn.has("nvim-0.10") == 0 then
  return
end
vim.g.loaded_broadloom_grammar = true

local QUERIES = { "highlights", "locals", "folds", "injections" }

local here = vim.fs.dirname(vim.fs.normalize(debug.getinfo(1, "S").source:sub(2)))
local grammar = vim.fs.normalize(here .. "/../../tree-sitter-loom")
local sources = { grammar .. "/src/parser.c", grammar .. "/src/scanner.c" }
local library = vim.fs.normalize(vim.fn.stdpath("data") .. "/broadloom/loom.so")

-- A parser that is older than the grammar does not fit its queries.
local function is_current()
  local compiled = vim.fn.getftime(library)
  return vim.iter(sources):all(function(source)
    return vim.fn.getftime(source) >= 0 and vim.fn.getftime(source) <= compiled
  end)
end

local is_loaded = false

local function load()
  if is_loaded or not is_current() then
    return is_loaded
  end
  vim.treesitter.language.add("loom", { path = library })
  for _, name in ipairs(QUERIES) do
    local lines = vim.fn.readfile(grammar .. "/queries/" .. name .. ".scm")
    vim.treesitter.query.set("loom", name, table.concat(lines, "\n"))
  end
  is_loaded = true
  return true
end

local function start(buffer)
  if not load() then
    return
  end
  vim.treesitter.start(buffer, "loom")
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    vim.wo[window].foldexpr = "v:lua.vim.treesitter.foldexpr()"
  end
end

local function compiler()
  return vim.iter({ vim.env.CC or "cc", "gcc", "clang" }):find(function(name)
    return vim.fn.executable(name) == 1
  end)
end

-- Compiles the grammar; returns what went wrong.
local function compile()
  local cc = compiler()
  if not cc then
    return "there is no C compiler: install cc, or name one in the variable CC"
  end
  vim.fn.mkdir(vim.fs.dirname(library), "p")
  local fresh = library .. ".new"
  local command = { cc, "-O2", "-shared", "-fPIC", "-I", grammar .. "/src", "-o", fresh }
  local done = vim.system(vim.list_extend(command, sources), { text = true }):wait()
  if done.code ~= 0 then
    return done.stderr
  end
  local renamed, reason = vim.uv.fs_rename(fresh, library)
  return not renamed and reason or nil
end

vim.api.nvim_create_user_command("BroadloomGrammar", function()
  local wrong = compile()
  if wrong then
    vim.notify("broadloom: the grammar was not compiled: " .. wrong, vim.log.levels.ERROR)
    return
  end
  if is_loaded then
    vim.notify("broadloom: the grammar is compiled; restart Neovim to use it")
    return
  end
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.bo[buffer].filetype == "loom" then
      start(buffer)
    end
  end
end, { desc = "Compile the tree-sitter grammar of .loom files" })

vim.api.nvim_create_autocmd("FileType", {
  group = vim.api.nvim_create_augroup("broadloom_grammar", {}),
  pattern = "loom",
  callback = function(event)
    start(event.buf)
  end,
})
