/** `drawbridge hosted verify` and `status` */
import { hasFailed } from "../../base/finding.js";
import type { HostedClusters } from "../../cluster/hosted/apply/clusters.js";
import { choice } from "../flags/choice.js";
import { runRole } from "../framework/command.js";
import { usagePage } from "../framework/help.js";
import type { Environment, Invocation } from "../framework/invocation.js";
import { MISUSE } from "../framework/subcommands.js";
import { version } from "../framework/version.js";
import { type Access, addHostedKubeconfig, requireKubeconfig, withClusters } from "./clusters.js";
import { declareHostedFlags, type HostedFlags, hostedConfig, refuseWords } from "./flags.js";

interface VerifyConfig {
  readonly command: "verify" | "status";
  readonly flags: HostedFlags;
  readonly access: Access;
  readonly output: "text" | "json";
}

const purposes = {
  verify: `Checks whether the tunnel works: everything that status shows, and then every webhook (dry run) and aggregated API of
the hosted cluster, called by its own kube-apiserver. What fails is listed with what stops working.

It ends with 0 when nothing failed, with 1 otherwise.`,
  status: `Shows the state of the tunnel: publishing, certificates, servers, agents, pod logs through the tunnel, and the
conditions that HyperShift has for it. It only reads. It ends with 0 when nothing failed, with 1 otherwise.`,
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
  const { diagnoseHosted, hostedJson, hostedText } = await import("../../insight/diagnosis/hosted/verify.js");
  const { safeJson } = await import("../../base/text.js");
  const ask = (clusters: HostedClusters) => diagnoseHosted(name, { clusters, config, version: version() });
  const findings = await withClusters(access, ask);
  process.stdout.write(output === "json" ? `${safeJson(hostedJson(findings), 2)}\n` : hostedText(findings));
  return hasFailed(findings) ? 1 : 0;
}
