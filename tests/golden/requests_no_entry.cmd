sonde requests --entry=9 data/requests/fork.psv
