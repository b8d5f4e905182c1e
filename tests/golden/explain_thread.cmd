sonde explain --thread=23830 --from=174.9ms --to=196ms data/good/flush.sonde
