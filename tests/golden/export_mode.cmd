# Only the owner can read an export, regardless of the umask.
dir=$(mktemp -d)
for mask in 077 022; do
	umask $mask
	sonde export --to=json -o "$dir/$mask.json" data/good/small.sonde
	sonde export --to=ctf -o "$dir/$mask.ctf" data/good/nothing.sonde
done
cd "$dir" && stat -c '%a %n' *
cd / && rm -r "$dir"
