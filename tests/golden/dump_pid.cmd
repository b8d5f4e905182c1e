sonde dump --pid=4127 --kind=interval,exit,syscall data/good/every-kind.sonde
