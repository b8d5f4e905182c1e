sonde explain data/good/flush.sonde --thread=23827 >/dev/full; sonde path data/good/flush.sonde --thread=23827 >/dev/full; sonde explain --json data/good/flush.sonde --thread=23827 >/dev/full
