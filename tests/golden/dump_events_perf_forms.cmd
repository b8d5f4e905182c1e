# one recording in each variant of perf.data: the records are the same
for form in file pipe packed packed-pipe swapped; do
	sonde dump --events data/good/perf-$form.data | cksum
done | uniq | wc -l
sonde dump --events data/good/perf-swapped.data
