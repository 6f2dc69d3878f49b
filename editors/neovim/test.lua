-- Drives Neovim without a screen: nvim --headless -u editors/neovim/test.lua, in the root of the repository. The command is the one
-- in PATH, or that of the variable BROADLOOM. Ends with 1 if something is missing.

local here = vim.fs.dirname(vim.fs.normalize(debug.getinfo(1, "S").source:sub(2)))
vim.g.broadloom_command = os.getenv("BROADLOOM")
vim.opt.runtimepath:append(here)
vim.cmd("filetype plugin on | syntax on")
vim.cmd("runtime plugin/broadloom.lua")

local function fail(what)
  io.stderr:write(what .. "\n")
  vim.cmd("cquit 1")
end

local function wait(what, condition)
  if not vim.wait(30000, condition, 20) then
    fail("waited in vain for " .. what)
  end
end

local folder = vim.fn.tempname()
vim.fn.mkdir(folder, "p")
local file = folder .. "/model.loom"
vim.fn.writefile({
  "data x : 32 | 784",
  "data target : 32 | 12",
  "let y = x |> linear(64) |> linear(10)",
  "let loss = mean(square(y - target))",
}, file)
vim.cmd.edit(file)

-- The mistake has both of its ends.
wait("a diagnostic", function()
  return #vim.diagnostic.get(0) == 1
end)
local found = vim.diagnostic.get(0)[1]
local related = found.user_data.lsp.relatedInformation
if found.lnum ~= 3 or not related or #related < 2 then
  fail("the mistake is not at both ends: " .. vim.inspect(found))
end

-- It goes away when it is corrected, and shapes are shown.
vim.api.nvim_buf_set_lines(0, 1, 2, false, { "data target : 32 | 10" })
wait("the diagnostic to go", function()
  return #vim.diagnostic.get(0) == 0
end)
if not vim.lsp.inlay_hint.is_enabled({ bufnr = 0 }) then
  fail("hints are not on")
end
wait("a hint", function()
  local hints = vim.lsp.inlay_hint.get({ bufnr = 0 })
  return #hints > 0 and hints[1].inlay_hint.label == ": 32 | 10"
end)

-- A definition in the library opens a file.
vim.api.nvim_win_set_cursor(0, { 3, 15 })
vim.lsp.buf.definition()
wait("the library", function()
  return vim.api.nvim_buf_get_name(0):match("std/layers%.loom$") ~= nil
end)
if not vim.bo.readonly and vim.fn.filewritable(vim.api.nvim_buf_get_name(0)) == 1 and vim.uv.getuid() ~= 0 then
  fail("the library can be written")
end

io.stdout:write("Neovim shows both ends of a mistake, shapes, and the library\n")
vim.fn.delete(folder, "rf")
vim.cmd("qall!")
