# Completion of openpts for fish: no Python is started but for names of measures.
function __openpts_complete
    set -l tokens (commandline -opc)
    set -lx current (commandline -ct)
    set -lx before (string join \n -- $tokens[2..-1] | string collect)
    for line in (awk -f /usr/share/openpts/complete.awk /usr/share/openpts/completions)
        if string match -q \t'*' -- $line
            __fish_complete_path $current
        else
            echo $line
        end
    end
end
complete -c openpts -f -a '(__openpts_complete)'
