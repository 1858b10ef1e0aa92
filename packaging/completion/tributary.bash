# bash completion of Tributary's programs.
#
# Commands, options and tables come from the programs' own help, job ids and ports from the switch
# that runs: the one at --socket where the line has it, else the usual one. A switch that does not
# answer adds nothing.

# A sub-folder's or file's name, where no other word fits.
_tributary_files() {
  mapfile -t COMPREPLY < <(compgen -f -- "$1")
  compopt -o filenames 2>/dev/null
}

_tributary_options() { # PROGRAM [COMMAND...]
  "$@" --help 2>/dev/null | grep -oE -- '--[a-z0-9][a-z0-9-]*' | sort -u
}

_tributary_commands() { # PROGRAM [COMMAND...]
  "$@" --help 2>/dev/null | sed -n '/^Subcommands:/,/^$/s/^  \([a-z][a-z_-]*\) .*/\1/p'
}

# The values of a key in a table of the switch, a line each.
_tributary_values() { # PROGRAM TABLE KEY SOCKET...
  local program=$1 table=$2 key=$3
  shift 3
  timeout 2 "$program" show "$table" --json "$@" 2>/dev/null |
    sed -n "s/^ *\"$key\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" | sort -u
}

_tributary_tables() { # PROGRAM
  "$1" show '?' 2>&1 | sed -n 's/.*allowed: //p' | tr -d ','
}

# What may stand where the cursor is, `place` words behind a command that has no commands of its own.
_tributary_arguments() { # PROGRAM COMMAND TABLE PLACE SOCKET...
  local program=$1 command=$2 table=$3 place=$4
  shift 4
  case $command:$table:$place in
    show:*:1) _tributary_tables "$program" ;;
    show:op:2 | show:ops:2 | show:stragglers:2 | show:holds:2 | show:tasks:2 | exclude:*:1 | reinstate:*:1 | place-host:*:1 | drain:*:*)
      _tributary_values "$program" jobs job "$@" ;;
    show:fdb:[23]) _tributary_values "$program" ports port "$@" | sed 's/^/port=/' ;;
    capture:*:* | trace:*:[2-9]*) _tributary_values "$program" ports port "$@" ;;
  esac
}

_tributary() {
  local program=${COMP_WORDS[0]} current=${COMP_WORDS[COMP_CWORD]} i
  local -a commands=() words=() socket=()
  COMPREPLY=()
  # Bash takes port=w0 and --socket=PATH apart at the sign; so only the part behind it is asked for.
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case ${COMP_WORDS[i]} in
      --socket) socket=(--socket "${COMP_WORDS[++i]}") ;;
      --*) [[ ${COMP_WORDS[i + 1]-} == "=" ]] && ((i += 2)) ;;
      *) words+=("${COMP_WORDS[i]}") ;;
    esac
  done
  case ${COMP_WORDS[COMP_CWORD - 1]} in
    --socket | --config | --input | --output | --write | -w | --json-file | --delay-file)
      _tributary_files "$current"
      return ;;
    --job)
      mapfile -t COMPREPLY < <(compgen -W "$(_tributary_values "$program" jobs job "${socket[@]}")" -- "$current")
      return ;;
  esac
  # The words that are commands: `pool fill`, for example. `below`: commands that may follow them.
  local offered below word
  below=$(_tributary_commands "$program")
  for word in "${words[@]}"; do
    [[ -n $word && $'\n'$below$'\n' == *$'\n'"$word"$'\n'* ]] || break
    commands+=("$word")
    below=$(_tributary_commands "$program" "${commands[@]}")
  done
  if [[ $current == -* ]]; then
    offered=$(_tributary_options "$program" "${commands[@]}")
  elif [[ -n $below ]] && ((${#commands[@]} == ${#words[@]})); then
    offered=$below
  elif ((${#commands[@]} > 0)); then
    offered=$(_tributary_arguments "$program" "${words[0]}" "${words[1]-}" "${#words[@]}" "${socket[@]}")
  fi
  mapfile -t COMPREPLY < <(compgen -W "$offered" -- "$current")
}

# The daemons and the tools have options alone.
_tributary_daemon() {
  local current=${COMP_WORDS[COMP_CWORD]}
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_tributary_options "${COMP_WORDS[0]}")" -- "$current")
  else
    _tributary_files "$current"
  fi
}

# For the completions of fish and zsh: prints what may stand in place of the last WORD.
_tributary_offer() { # PROGRAM WORD...
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
  case ${1##*/} in
    tributary) _tributary ;;
    *) _tributary_daemon ;;
  esac
  ((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}"
}

complete -F _tributary tributary
complete -F _tributary_daemon tributary-switchd tributary-psd tributary-poold tributary-managerd \
  tributary-agentd tributary-telemetryd tributary-sim tributary-loadgen
