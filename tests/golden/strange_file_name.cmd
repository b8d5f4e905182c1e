# Control characters in a name are escaped.
sonde info "$(printf 'no\033[31msuch')"
