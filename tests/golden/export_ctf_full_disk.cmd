# no incomplete trace remains
dir=$(mktemp -d)
(ulimit -f 4; sonde export --to=ctf -o "$dir/trace" data/good/flush.sonde) 2>&1 | sed "s,'[^']*/,'.../,; s/partial-....../partial/"
ls -A "$dir"
rmdir "$dir"
