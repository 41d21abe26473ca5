# Completion of stepscope in bash. What can come next the program itself says.
_stepscope() {
	local IFS=$'\n' next
	COMPREPLY=()
	next=$("${COMP_WORDS[0]/#\~/$HOME}" __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
	if [ "$next" = :files ]; then
		compopt -o default
	else
		COMPREPLY=($(cut -f 1 <<<"$next"))
	fi
}
complete -F _stepscope stepscope
