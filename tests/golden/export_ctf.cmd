# the metadata; babeltrace2 checks the rest
dir=$(mktemp -d) && cd "$dir" || exit
sonde export --to=ctf -o trace "$OLDPWD/data/good/every-kind.sonde"
ls trace
sed -n '/^env/,/^}/p; /^clock/,/^}/p; /^event/,/^}/s/.*name = "\(.*\)";/\1/p' trace/metadata
cd / && rm -r "$dir"
