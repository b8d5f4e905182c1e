# SPDX-License-Identifier: Apache-2.0
# bash completion: `sonde --complete` lists the commands, `sonde COMMAND --complete` its options.
_sonde() {
	local cur prev cmd=${COMP_WORDS[1]-} i
	cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	COMPREPLY=()
	# bash splits --to=ctf into three words
	[[ $prev != = ]] || prev=${COMP_WORDS[COMP_CWORD - 2]}
	[[ $cur != = ]] || cur=

	for ((i = 2; i < COMP_CWORD; i++)); do
		[[ ${COMP_WORDS[i]} != -- ]] || { # complete the command after --
			declare -F _command_offset >/dev/null && _command_offset $((i + 1))
			return
		}
	done
	if [[ $cmd == run && $COMP_CWORD -gt 1 && $cur != -* ]]; then
		for ((i = 2; i < COMP_CWORD; i++)); do
			[[ ${COMP_WORDS[i]} == -* ]] || break
		done
		declare -F _command_offset >/dev/null && _command_offset "$i"
		return
	fi
	if ((COMP_CWORD == 1)) || [[ $cmd == help && $COMP_CWORD == 2 ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$("${COMP_WORDS[0]}" --complete 2>/dev/null)" -- "$cur")
	elif [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$("${COMP_WORDS[0]}" "$cmd" --complete 2>/dev/null)" -- "$cur")
		[[ ${#COMPREPLY[@]} != 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace
	elif [[ $cmd == export && $prev == --to ]]; then
		mapfile -t COMPREPLY < <(compgen -W 'ctf json otlp otlp-json' -- "$cur")
	elif [[ $prev == -p || $prev == --pid ]]; then
		mapfile -t COMPREPLY < <(cd /proc && compgen -G '[0-9]*' | grep "^$cur")
	fi # otherwise bash completes file names
}
complete -o default -F _sonde sonde
