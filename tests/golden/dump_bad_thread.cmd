sonde dump --thread=redis data/good/every-kind.sonde
