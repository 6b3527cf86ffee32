# Completion of openpts for bash: no Python is started but for names of measures.
_openpts() {
  local line=${COMP_LINE:0:COMP_POINT} current='' word known
  local -a words
  read -ra words <<<"$line"
  if [[ $line != *[[:space:]] ]]; then current=${words[-1]}; unset 'words[-1]'; fi
  known=${current%"${current##*[=:]}"} # readline takes what is before = and : for other words
  COMPREPLY=()
  while IFS= read -r word; do
    if [[ ${word%%$'\t'*} ]]; then
      COMPREPLY+=("${word%%$'\t'*}")
      if [[ -e ${COMPREPLY[-1]} ]]; then compopt -o filenames; fi
    else compopt -o filenames; mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "${current#--*=}"); fi
  done < <(before=$(printf '%s\n' "${words[@]:1}") current=$current \
    awk -f /usr/share/openpts/complete.awk /usr/share/openpts/completions)
  COMPREPLY=("${COMPREPLY[@]#"$known"}")
}
complete -F _openpts openpts
