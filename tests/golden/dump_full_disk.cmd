sonde dump data/good/every-kind.sonde > /dev/full
