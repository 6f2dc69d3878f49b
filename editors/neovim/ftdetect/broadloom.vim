autocmd BufNewFile,BufRead *.loom setfiletype loom
autocmd BufNewFile,BufRead *.rows setfiletype rows
