# Links are not followed, pipes of other users are not opened, and no temporary files remain.
dir=$(mktemp -d) && echo mine > "$dir/mine" && ln -s mine "$dir/link" && mkdir "$dir/dir" && ln -s dir "$dir/dirlink"
for place in link dir; do
	(cd "$dir" && sonde export --to=json -o $place "$OLDPWD/data/good/nothing.sonde")
done
(cd "$dir" && sonde export --to=ctf -o dirlink "$OLDPWD/data/good/nothing.sonde")
(cd "$dir" && ls -A && cat mine)
sonde export --to=json -o - data/good/small.sonde | wc -l
sonde export --to=json -o /dev/stdout data/good/small.sonde | wc -l
sonde export --to=json -o /dev/full data/good/small.sonde
rm -r "$dir"
