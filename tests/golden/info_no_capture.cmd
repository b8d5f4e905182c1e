sonde info golden/golden.py
