/** `drawbridge hosted verify` and `status`: parse, ask every question, report. */

import { choice } from "../flags/choice.js";
import { runRole } from "../framework/command.js";
import { usagePage } from "../framework/help.js";
import type { Environment, Invocation } from "../framework/invocation.js";
import { MISUSE } from "../framework/subcommands.js";
import { version } from "../framework/version.js";
import { type Access, addHostedKubeconfig, requireKubeconfig, withClusters } from "./clusters.js";
import { declareHostedFlags, type HostedFlags, hostedConfig, refuseWords } from "./flags.js";
import { verdictText } from "./verify-report.js";

interface VerifyConfig {
  readonly command: "verify" | "status";
  readonly flags: HostedFlags;
  readonly access: Access;
  readonly output: "text" | "json";
}

const purposes = {
  verify: `Says whether the tunnel works: everything that status shows, and then every webhook (dry run) and aggregated API of
the hosted cluster, called by its own kube-apiserver. What fails is listed with what stops working.

Ends with 0 when nothing failed, with 1 otherwise.`,
  status: `Shows how the tunnel stands: publishing, certificates, servers, agents, pod logs through the tunnel, and the conditions
that HyperShift has for it. Only reads. Ends with 0 when nothing failed, with 1 otherwise.`,
} as const;

export const hostedVerify = (program: string, argv: readonly string[]): Promise<number> =>
  command("verify", program, argv);
export const hostedStatus = (program: string, argv: readonly string[]): Promise<number> =>
  command("status", program, argv);

function command(name: VerifyConfig["command"], program: string, argv: readonly string[]): Promise<number> {
  return runRole({ parse: (words, env) => parse(name, program, words, env), run }, program, argv, { misuse: MISUSE });
}

function parse(
  name: VerifyConfig["command"],
  program: string,
  argv: readonly string[],
  env: Environment,
): Invocation<VerifyConfig> {
  const { set, flags } = declareHostedFlags(program, env);
  const hostedKubeconfig = addHostedKubeconfig(set);
  const output = set.add("output", choice("text", "json"), undefined, "For people or for scripts. If empty, text.");
  const { positional, warnings } = set.parse(argv);
  if (flags.help.value) return { help: usagePage(program, purposes[name], set) };
  refuseWords(positional);
  const access = { kubeconfig: flags.kubeconfig.value, hostedKubeconfig: hostedKubeconfig.value };
  requireKubeconfig(access);
  const config: VerifyConfig = { command: name, flags, access, output: output.value ?? "text" };
  return { config, logging: { verbosity: 0, format: "text" }, warnings };
}

async function run({ command: name, flags, access, output }: VerifyConfig): Promise<number> {
  const config = await hostedConfig(flags);
  const ask = await import("../../cluster/hosted/status/verify.js");
  const verdict = await withClusters(access, (clusters) => ask[name]({ clusters, config, version: version() }));
  process.stdout.write(output === "json" ? `${JSON.stringify(verdict, null, 2)}\n` : verdictText(verdict));
  return verdict.ok ? 0 : 1;
}
