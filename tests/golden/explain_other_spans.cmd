# The same trace in version 1 of Zipkin's format, and from Grafana Tempo with base64 ids.
for file in data/good/zipkin-v1.json data/good/tempo.json; do
	sonde explain --trace 5982fe77008310cc $file
	sonde dump $file
done
