# The id is 000000000000000000000000000000a1; leading zeros can be omitted.
for id in a1 A1 0a1 00000000000000a1 000000000000000000000000000000a1 a; do
	sonde explain --trace $id data/good/otlp-skew.json 2>/dev/null | head -1
done
for id in 2 02 0000000000000002 00000000000000000002; do
	sonde path --span $id data/good/otlp-skew.json 2>/dev/null
done
for id in 1 0b1 00a12 a10; do
	sonde path --trace $id data/good/otlp-skew.json
done
