sonde dump --events --to=1s data/good/kernel.ftrace | head -n 4
sonde dump --events --json data/good/kernel.ftrace | head -n 2
dir=$(mktemp -d)
sonde export --to=ctf -o "$dir/trace" data/good/every-kind.sonde 2>/dev/null
sonde dump --events "$dir/trace" | head -n 40
sonde dump --events --json --thread=5000 "$dir/trace" | head -n 3
rm -r "$dir"
