# Completion of stepscope in fish. What can come next the program itself says.
function __stepscope_next
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    $words[1] __complete -- $words[2..] "$word" 2>/dev/null
end
complete -c stepscope -f -a '(__stepscope_next | string match -v :files)'
complete -c stepscope -F -n 'test "$(__stepscope_next)" = :files'
