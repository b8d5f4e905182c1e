sonde dump --from=14.1ms --to=16ms data/good/every-kind.sonde
