setlocal commentstring=#\ %s
setlocal expandtab shiftwidth=2 softtabstop=2
