/** `drawbridge completion`: the script that a shell reads. */
import { refused } from "../flags/parse.js";
import { defineCommand, onlyWord } from "../framework/define.js";
import { print } from "../framework/output.js";
import { scripts } from "./scripts.js";

const isShell = (word: string): word is keyof typeof scripts => Object.hasOwn(scripts, word);
const SHELLS = Object.keys(scripts);

export default defineCommand({
  purpose: `Prints the script with which a shell completes commands, flags, their values, files, and the targets of a running server,
for every program of drawbridge. The script asks the program itself, so it stays the same when drawbridge changes.

For bash, in ~/.bashrc:

  source <(drawbridge completion bash)

For zsh, in ~/.zshrc behind compinit:

  source <(drawbridge completion zsh)

For fish, once:

  drawbridge completion fish > ~/.config/fish/completions/drawbridge.fish`,
  words: SHELLS.join("|"),
  examples: ["drawbridge completion bash > /etc/bash_completion.d/drawbridge"],
  config(_, { words }) {
    const shell = onlyWord(words, `the shell, ${SHELLS.join(", ")},`);
    if (!isShell(shell)) throw refused(`there is no completion for ${shell}, but for ${SHELLS.join(", ")}`);
    return scripts[shell];
  },
  run: async (script) => {
    print(script);
    return 0;
  },
});
