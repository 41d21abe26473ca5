#compdef stepscope
# Completion of stepscope in zsh. What can come next the program itself says.
_stepscope() {
	local -a next
	next=("${(@f)$(${~words[1]} __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
	if [[ $next[1] == :files ]]; then
		[[ $PREFIX == -*=* ]] && compset -P '*='
		_files
	elif [[ -n $next[1] ]]; then
		next=("${(@)next//:/\\:}")
		next=("${(@)next/$'\t'/:}")
		_describe stepscope next
	fi
}
# A file _stepscope in $fpath is run as the function that it defines.
if [[ $funcstack[1] == _stepscope ]]; then
	_stepscope "$@"
else
	compdef _stepscope stepscope
fi
