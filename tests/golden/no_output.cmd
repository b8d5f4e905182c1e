sonde help >&-
