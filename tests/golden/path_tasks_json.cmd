sonde path --json --span=0000000000000002 data/good/tasks.sonde | python3 -m json.tool --no-ensure-ascii
