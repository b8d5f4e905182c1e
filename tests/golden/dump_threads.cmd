sonde dump --thread=4128,7000 --thread=5120 data/good/every-kind.sonde
