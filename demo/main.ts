/**
 * The outer half of the demo: finds out how the webhook can be isolated here, and plays the story (story.ts) in there as
 * a process of its own. This half stays outside, passes signals on and removes what a killed story would leave behind.
 * The stories of a bootstrap bridge (bootstrap/) and of a hosted cluster (hosted/) have labs that do all of this by
 * themselves, and that of nodes (nodes/) needs no isolation.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageOf } from "../src/base/errors/error.js";
import { chooseIsolation } from "./isolation/choose.js";
import { HELP, type Options, parseOptions } from "./options.js";
import { canTieToParent, tiedToParent } from "./processes/tie.js";
import { typescript } from "./processes/typescript.js";
import type { Script } from "./script.js";

try {
  const options = parseOptions(process.argv.slice(2));
  if (options === undefined) process.stdout.write(HELP);
  else process.exitCode = await play(options);
} catch (reason) {
  process.stderr.write(`demo: ${messageOf(reason)}\n`);
  process.exitCode = 2;
}

async function play(options: Options): Promise<number> {
  // Where `ip` is on many systems, and not everybody's PATH leads there.
  process.env.PATH = `${process.env.PATH}:/usr/sbin:/sbin`;
  if (!existsSync(new URL("../dist/bin/proxy-server", import.meta.url))) {
    throw new Error("drawbridge is not built yet: run npm run build, or start the demo with npm run demo");
  }
  if (options.story === "bootstrap") return (await import("./bootstrap/story.js")).playBootstrap(options);
  if (options.story === "hosted") return (await import("./hosted/story.js")).playHosted(options);
  if (options.story === "nodes") return (await import("./nodes/story.js")).playNodes(options);
  const tie = canTieToParent();
  const isolation = chooseIsolation(options.isolation);
  const folder = mkdtempSync(join(tmpdir(), "drawbridge-demo-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));

  const script: Script = { ...options, folder, tie, isolation: isolation.kind, means: isolation.means };
  const program = typescript(new URL("./story.ts", import.meta.url));
  // TERM, not KILL: a story that outlives us still tidies up.
  const node = tiedToParent(tie, "TERM", [...program, JSON.stringify(script)]);
  const [command = "", ...args] = [...isolation.prefix, ...node];
  const story = spawn(command, args, { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => story.kill(signal));
  return new Promise((resolve, reject) => {
    story.once("error", reject);
    story.once("exit", (code, signal) => {
      if (signal !== null)
        process.stderr.write(`\nFAILED: the demo was ended by ${signal} and removed what it had made\n`);
      resolve(code ?? 1);
    });
  });
}
