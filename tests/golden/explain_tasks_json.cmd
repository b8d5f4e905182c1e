sonde explain --json data/good/tasks.sonde | python3 -m json.tool --no-ensure-ascii
