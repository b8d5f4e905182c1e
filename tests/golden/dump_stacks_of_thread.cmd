# only the stacks that the printed records refer to
sonde dump --thread=4127 --kind=stack,sample data/good/every-kind.sonde
