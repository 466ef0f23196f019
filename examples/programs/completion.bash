# Completion of gnn for bash: programs, options and choices as the command itself lists them; paths
# where an option takes a path.
_gnn() {
    local IFS=$'\n'
    # shellcheck disable=SC2207 # a word per line
    COMPREPLY=($("${COMP_WORDS[0]}" --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o bashdefault -o default -F _gnn gnn
