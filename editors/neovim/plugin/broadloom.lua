-- Starts the language server of Broadloom for `.loom` and `.rows` files, and shows shapes beside names.
-- Settings, before this file is loaded:
--   vim.g.broadloom_command = "/path/to/broadloom"   -- otherwise the one in PATH
--   vim.g.broadloom_hints = false                    -- shapes are not shown until :BroadloomHints

if vim.g.loaded_broadloom then
  return
end
vim.g.loaded_broadloom = true

if vim.fn.has("nvim-0.10") == 0 then
  vim.notify("broadloom: Neovim 0.10 or newer is needed", vim.log.levels.ERROR)
  return
end

local function command()
  return vim.g.broadloom_command or "broadloom"
end

local function start(buffer)
  if vim.fn.executable(command()) == 0 then
    vim.notify_once(
      "broadloom: the command `" .. command() .. "` was not found; set vim.g.broadloom_command",
      vim.log.levels.WARN
    )
    return
  end
  local file = vim.api.nvim_buf_get_name(buffer)
  vim.lsp.start({
    name = "broadloom",
    cmd = { command(), "lsp" },
    root_dir = vim.fs.root(file, { ".git" }) or vim.fs.dirname(file),
  }, { bufnr = buffer })
end

local group = vim.api.nvim_create_augroup("broadloom", {})

vim.api.nvim_create_autocmd("FileType", {
  group = group,
  pattern = { "loom", "rows" },
  callback = function(event)
    start(event.buf)
  end,
})

vim.api.nvim_create_autocmd("LspAttach", {
  group = group,
  callback = function(event)
    local client = vim.lsp.get_client_by_id(event.data.client_id)
    if client and client.name == "broadloom" and vim.g.broadloom_hints ~= false then
      vim.lsp.inlay_hint.enable(true, { bufnr = event.buf })
    end
  end,
})

-- What the lines above statements do.
vim.lsp.commands["broadloom.run"] = function(lens)
  vim.cmd.update()
  vim.cmd("belowright split | terminal " .. vim.fn.shellescape(command()) .. " run "
    .. vim.fn.shellescape(vim.uri_to_fname(lens.arguments[1])))
end
vim.lsp.commands["broadloom.explain"] = function(lens)
  vim.cmd.update()
  vim.cmd("belowright split | terminal " .. vim.fn.shellescape(command()) .. " explain "
    .. vim.fn.shellescape(vim.uri_to_fname(lens.arguments[1])) .. " " .. vim.fn.shellescape(lens.arguments[2]))
end

vim.api.nvim_create_user_command("BroadloomHints", function()
  local filter = { bufnr = 0 }
  vim.lsp.inlay_hint.enable(not vim.lsp.inlay_hint.is_enabled(filter), filter)
end, { desc = "Show shapes beside names, or hide them" })

vim.api.nvim_create_user_command("BroadloomRun", function()
  vim.lsp.commands["broadloom.run"]({ arguments = { vim.uri_from_bufnr(0) } })
end, { desc = "Run this program" })
