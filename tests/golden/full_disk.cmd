# Nothing more can be written: that is said, and is a failure.
sonde help >/dev/full
