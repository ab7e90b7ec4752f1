# SPDX-License-Identifier: Apache-2.0
# Completion of readmost's words in bash. It asks the command itself.
_readmost() {
  # bash splits words at = and : too; the command wants those between blanks.
  local line=${COMP_LINE:0:COMP_POINT} words word found
  read -ra words <<<"$line"
  [[ $line == *[[:blank:]] ]] && words+=("")
  word=${words[-1]}
  mapfile -t found < <("${words[0]}" --complete "${words[@]:1}" 2>/dev/null)
  # Completed files and programs come from bash where the command has nothing to offer.
  local current=${COMP_WORDS[COMP_CWORD]}
  [[ $current == "=" ]] && current=""
  local typed_before=${word%"$current"}
  COMPREPLY=("${found[@]#"$typed_before"}")
  [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
  return 0
}
complete -o bashdefault -o default -F _readmost readmost
