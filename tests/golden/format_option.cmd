sonde dump --format=jaeger data/good/small.sonde
sonde info --format=none data/good/small.sonde 2>&1 | sed "s/formats are .*/formats are .../"
