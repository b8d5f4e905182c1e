# which formats there are stands behind the colon
sonde info golden/golden.py 2>&1 | sed 's/read: .*/read: .../'
