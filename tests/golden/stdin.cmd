sonde info - < data/good/every-kind.sonde
cat data/good/every-kind.sonde | sonde dump - --kind=task
cat data/good/every-kind.sonde | sonde path --thread=4127 -
gzip -c data/good/every-kind.sonde | sonde dump - --kind=exit
head -c 600 data/good/every-kind.sonde | sonde dump - --kind=exit
printf '' | sonde dump -
printf 'no trace' | sonde explain -
sonde dump - <&-
