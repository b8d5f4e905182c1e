sonde path --thread=23827 --from=1s data/good/flush.sonde
