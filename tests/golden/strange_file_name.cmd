# A name that would colour the terminal is shown, and does not act.
sonde info "$(printf 'no\033[31msuch')"
