# Finds in the table what may stand at the cursor: lines of WORD <TAB> HELP; one without a word asks for names of files.
# The environment has the words before the cursor, each on a line, and the beginning of the current one.
BEGIN {
  FS = "\t"
  count = split(ENVIRON["before"], words, "\n")
  current = ENVIRON["current"]
  sub(/^['"]/, "", current) # a limit is typed in quotes, and completed within them
}
{ takes[$1, $2] = $3; path_of[NR] = $1; word_of[NR] = $2; help_of[NR] = $4 }
function offer(word, help) { if (index(word, current) == 1) { print word "\t" help; offered++ } }
function quoted(text) { gsub(/'/, "'\\''", text); return "'" text "'" }
function look_for(kind, command, line, fields) {
  command = "kind=" kind " named=" quoted(named) " begun=" quoted(substr(current, length(prefix) + 1)) \
    "; . /usr/share/openpts/found.sh"
  while ((command | getline line) > 0) { split(line, fields, FS); offer(prefix fields[1], fields[2]) }
  close(command)
}
END {
  for (i = 1; i <= count; i++) {
    if (wanted) wanted = ""
    else if (words[i] ~ /^-/) { if (takes[path, words[i]] != "-") wanted = takes[path, words[i]] }
    else if (takes[path, words[i]] == "command") path = path (path == "" ? "" : " ") words[i]
    else if (!named) named = words[i]
  }
  if (!wanted && current ~ /^--[^=]*=/) {
    prefix = substr(current, 1, index(current, "="))
    wanted = takes[path, substr(prefix, 1, length(prefix) - 1)]
  }
  if (!wanted) {
    for (i = 1; i <= NR; i++)
      if (path_of[i] == path && word_of[i] != "" && (word_of[i] ~ /^-/) == (current ~ /^-/)) offer(word_of[i], help_of[i])
    if (current !~ /^-/) wanted = takes[path, ""]
  }
  count = split(wanted, values, " ")
  for (i = 1; i <= count; i++) {
    if (values[i] ~ /^(DRIVE|MEASURE|RUN)$/) look_for(values[i])
    else if (values[i] !~ /^(FILE|\?)$/) offer(prefix values[i], "")
    files = files || values[i] == "FILE" || (values[i] == "RUN" && !offered)
  }
  if (files && !(offered && current ~ /^\/dev\//)) print "\t"
}
