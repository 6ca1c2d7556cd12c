/** `drawbridge hosted check-connection`: what the pods of kas-connection-checker run. */

import { FlagSet } from "../flags/flag-set.js";
import { boolean, duration, string } from "../flags/flag-value.js";
import { parseGoDuration, toMilliseconds } from "../flags/go-duration.js";
import { runRole } from "../framework/command.js";
import { usagePage } from "../framework/help.js";
import type { Invocation } from "../framework/invocation.js";
import { MISUSE } from "../framework/subcommands.js";
import { refused, refuseWords } from "./flags.js";

interface CheckConfig {
  readonly kubeconfig: string;
  readonly once: boolean;
  readonly everyMs: number;
}

const purpose = `Stamps, every minute, that the kube-apiserver was reached from here; hosted status reads the stamp.
It runs in the hosted cluster, as apply puts it there.`;

export function hostedCheckConnection(program: string, argv: readonly string[]): Promise<number> {
  return runRole({ parse: (words) => parse(program, words), run }, program, argv, { misuse: MISUSE });
}

function parse(program: string, argv: readonly string[]): Invocation<CheckConfig> {
  const set = new FlagSet();
  const help = set.add("help", boolean, false, `help for ${program}`, { shorthand: "h" });
  const kubeconfig = set.add(
    "kubeconfig",
    string,
    "",
    "Way to the kube-apiserver. If empty, that of this pod's cluster.",
  );
  const once = set.add("once", boolean, false, "Try once, and end with 1 if it failed.");
  const every = set.add("every", duration, parseGoDuration("1m"), "Pause between two attempts.");
  const { positional, warnings } = set.parse(argv);
  if (help.value) return { help: usagePage(program, purpose, set) };
  refuseWords(positional);
  if (every.value <= 0n) throw refused("--every must be more than nothing");
  const config = { kubeconfig: kubeconfig.value, once: once.value, everyMs: toMilliseconds(every.value) };
  return { config, logging: { verbosity: 0, format: "text" }, warnings };
}

async function run({ kubeconfig, once, everyMs }: CheckConfig): Promise<number> {
  const [{ openKubeApi }, checker] = await Promise.all([
    import("../../cluster/kube/open.js"),
    import("../../cluster/hosted/connection-checker.js"),
  ]);
  const api = await openKubeApi({ kubeconfig, qps: 5, burst: 5 });
  const tell = (sentence: string): void => void process.stdout.write(`${sentence}\n`);
  try {
    if (once) return (await checker.checkOnce(api, { tell })) ? 0 : 1;
    const stop = new AbortController();
    for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort());
    await checker.keepChecking(api, { everyMs, signal: stop.signal, tell });
    return 0;
  } finally {
    api.close();
  }
}
