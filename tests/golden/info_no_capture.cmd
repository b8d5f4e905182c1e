# the list of formats follows the colon
sonde info golden/golden.py 2>&1 | sed 's/read: .*/read: .../'
