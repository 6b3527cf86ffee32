# Prints what of a kind is there, lines of WORD <TAB> HELP. $kind is RUN for folders of runs whose names begin with $begun,
# shellcheck shell=sh disable=SC2154 # sourced by complete.awk, which sets what it reads
# DRIVE for what `openpts devices` lists, MEASURE for what the run $named can be held against; this one alone starts openpts.
case $kind in
RUN)
  for record in "$begun"*/run.db "$begun"*/*/run.db; do
    [ ! -e "$record" ] || printf '%s\t\n' "${record%/run.db}"
  done
  ;;
DRIVE)
  for disk in /sys/block/*; do
    name=${disk##*/} sectors=0 hidden=0 model=
    case $name in ram[0-9]* | sr[0-9]* | fd[0-9]*) continue ;; esac
    read -r sectors <"$disk/size"
    [ ! -e "$disk/hidden" ] || read -r hidden <"$disk/hidden"
    [ ! -e "$disk/device/model" ] || read -r model <"$disk/device/model"
    [ "$sectors" = 0 ] || [ "$hidden" = 1 ] || printf '/dev/%s\t%s\n' "$name" "$model"
  done
  ;;
MEASURE)
  # shellcheck disable=SC2086 # of the runs that a pattern matches, the first
  run=$(IFS= && printf '%s\n' $named | { read -r first && printf %s "$first"; })
  openpts gate "$run" | while read -r key _ value; do
    case $key in *.*) printf '%s\t%s\n' "$key" "$value" ;; esac
  done
  ;;
esac 2>/dev/null
