sonde export --to=json data/good/small.sonde
sonde export --to=json -o /dev/full data/good/small.sonde
# spans of a recorded host are on its clock
sonde export --to=json data/good/flush.sonde data/good/jaeger-flush.json | grep '"kind":"span"'
# no files remain if the disk is full
dir=$(mktemp -d)
sonde export --to=json -o "$dir/whole" data/good/small.sonde && wc -l < "$dir/whole"
(ulimit -f 8; sonde export --to=json -o "$dir/part" data/good/flush.sonde)
ls -A "$dir"
rm -r "$dir"
