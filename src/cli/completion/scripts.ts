/** Small scripts that ask the program itself. Each works for every program of drawbridge. */
const PROGRAMS = "drawbridge proxy-server proxy-agent konnectivity-socks5-proxy konnectivity-https-proxy";

/** bash takes a word apart at = and :, and expects what follows the last of them. */
const bash = `# drawbridge completion bash
_drawbridge() {
  local line=\${COMP_LINE:0:COMP_POINT} words current kept breaks= candidate files=
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  current=\${words[\${#words[@]} - 1]}
  [[ $COMP_WORDBREAKS == *=* ]] && breaks+='='
  [[ $COMP_WORDBREAKS == *:* ]] && breaks+=':'
  [[ -n $breaks ]] && kept=\${current%"\${current##*[$breaks]}"}
  COMPREPLY=()
  while IFS=$'\\t' read -r candidate _; do
    if [[ $candidate == :files ]]; then
      files=1
    else
      COMPREPLY+=("\${candidate#"$kept"}")
    fi
  done < <("\${words[0]/#\\~/$HOME}" __complete "\${words[@]:1}" 2>/dev/null)
  if [[ -n $files ]]; then
    compopt -o filenames 2>/dev/null
    while IFS= read -r candidate; do COMPREPLY+=("$candidate"); done < <(compgen -f -- "\${current#*=}")
  fi
}
complete -F _drawbridge ${PROGRAMS}
`;

const zsh = `#compdef ${PROGRAMS}
# drawbridge completion zsh
_drawbridge() {
  local line files=
  local -a candidates shown
  for line in "\${(@f)$("\${(Q)words[1]/#\\~/$HOME}" __complete "\${(@Q)words[2,CURRENT - 1]}" "\${(Q)PREFIX}" 2>/dev/null)}"; do
    if [[ $line == :files ]]; then
      files=1
    elif [[ -n $line ]]; then
      candidates+=("\${line%%$'\\t'*}")
      shown+=("\${line/$'\\t'/  -- }")
    fi
  done
  (( $#candidates )) && compadd -l -d shown -a candidates
  if [[ -n $files ]]; then
    compset -P '--*='
    _files
  fi
}
if [[ $funcstack[1] == _drawbridge ]]; then
  _drawbridge "$@"
else
  compdef _drawbridge ${PROGRAMS}
fi
`;

const fish = `# drawbridge completion fish
function __drawbridge_complete
    set -l typed (commandline -opc)
    set -l current (commandline -ct)
    for line in ($typed[1] __complete $typed[2..] "$current" 2>/dev/null)
        if test "$line" = ":files"
            set -l flag (string match -r '^--[^=]+=' -- "$current")
            set -l path (string replace -r '^--[^=]+=' '' -- "$current")
            for file in (__fish_complete_path "$path")
                echo "$flag$file"
            end
        else
            echo $line
        end
    end
end
for program in ${PROGRAMS}
    complete -c $program -f -a '(__drawbridge_complete)'
end
`;

export const scripts = { bash, zsh, fish } as const;
