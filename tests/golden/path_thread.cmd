sonde path --thread=23827 --from=190ms --to=197ms data/good/flush.sonde
