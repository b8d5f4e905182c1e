sonde dump --kind=interval,wait data/good/every-kind.sonde
