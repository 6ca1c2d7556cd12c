/** `npm run attack`: see options.ts for its flags. */

import { raiseOpenFiles } from "../bench/open-files.js";
import { runCommand, say } from "../test/support/command/run.js";
import { peersAvailable } from "../test/support/processes/executables.js";
import { attacks } from "./attacks/index.js";
import { playSuite } from "./harness/suite.js";
import { type AttackOptions, HELP, parseOptions } from "./options.js";
import { writeDocs } from "./report/table.js";
import { line } from "./report/text.js";

await runCommand("attack", () => main(parseOptions(process.argv.slice(2))));

async function main(options: AttackOptions | "help" | "list"): Promise<number> {
  if (options === "help") process.stdout.write(HELP);
  else if (options === "list") {
    for (const { name, description } of attacks) process.stdout.write(`${name.padEnd(40)}${description}\n`);
  } else return await attack(options);
  return 0;
}

async function attack(options: AttackOptions): Promise<number> {
  const chosen = choose(options);
  if (options.upstream && !peersAvailable("proxy-server", "proxy-agent")) {
    throw new Error("upstream's programs are needed: run npm run peers -- proxy-server proxy-agent.");
  }
  const complaint = raiseOpenFiles();
  if (complaint !== undefined) say(complaint);
  say(`attack: ${chosen.length} attacks${options.upstream ? " on upstream's programs" : ""}, seed ${options.seed}`);
  const began = performance.now();
  const verdicts = await playSuite({
    ...{ attacks: chosen, short: options.short, seed: options.seed },
    origin: options.upstream ? "theirs" : "ours",
    onVerdict: (verdict) => {
      say(line(verdict));
      if (options.write) writeDocs([verdict], options.upstream ? "upstream" : "ours");
    },
  });
  const failed = verdicts.filter(({ failures }) => failures.length > 0);
  const seconds = ((performance.now() - began) / 1000).toFixed(0);
  say(`attack: ${verdicts.length - failed.length} of ${verdicts.length} withstood, ${seconds} s`);
  if (options.output === "json") process.stdout.write(`${JSON.stringify(verdicts, undefined, 2)}\n`);
  if (options.write) say("written: docs/security.md, docs/security.json");
  return failed.length === 0 || options.upstream ? 0 : 1;
}

function choose({ only, short, upstream }: AttackOptions) {
  for (const name of only) {
    if (!attacks.some((attack) => attack.name.startsWith(name)))
      throw new Error(`there is no attack ${name}: see --list.`);
  }
  const named = only.length === 0 ? attacks : attacks.filter(({ name }) => only.some((each) => name.startsWith(each)));
  return named.filter(
    (attack) => (!short || !attack.long || only.length > 0) && (!upstream || attack.upstream === true),
  );
}
