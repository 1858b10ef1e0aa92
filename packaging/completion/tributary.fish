# fish completion of Tributary's programs: what bash's offers.
set -g __tributary_bash (path resolve (status dirname)/../../bash-completion/completions/tributary 2>/dev/null)
set -q TRIBUTARY_BASH_COMPLETION; and set -g __tributary_bash $TRIBUTARY_BASH_COMPLETION

function __tributary_offered
    set -l words (commandline --cut-at-cursor --tokenize --current-process) (commandline --cut-at-cursor --current-token)
    bash -c 'source "$1"; shift; _tributary_offer "$@"' bash $__tributary_bash $words 2>/dev/null
end

for program in tributary tributary-switchd tributary-psd tributary-poold tributary-managerd tributary-agentd tributary-telemetryd tributary-sim tributary-loadgen
    complete --command $program --no-files --arguments '(__tributary_offered)'
end
