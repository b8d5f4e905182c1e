# memory depends on the build
sonde top --json data/hosts/front.sonde data/hosts/back.sonde |
	sed 's/"memory":[0-9]*/"memory":0/' | python3 -m json.tool --no-ensure-ascii
sonde top --json data/good/otlp-skew.json | sed 's/"memory":[0-9]*/"memory":0/' |
	python3 -m json.tool --no-ensure-ascii
