sonde frobnicate
