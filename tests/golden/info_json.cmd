sonde info --json data/good/every-kind.sonde | python3 -m json.tool
