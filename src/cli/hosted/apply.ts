/** `drawbridge hosted apply`, `diff` and `delete`: parse, bring the clusters in line, report. */
import type { HostedReport } from "../../cluster/hosted/apply/apply.js";
import { isChange, outcomesText } from "../../cluster/kube/apply.js";
import type { RotationStep } from "../../tunnel/pki/keep.js";
import { choice } from "../flags/choice.js";
import type { FlagSet } from "../flags/flag-set.js";
import { boolean, duration } from "../flags/flag-value.js";
import { parseGoDuration, toMilliseconds } from "../flags/go-duration.js";
import { runRole } from "../framework/command.js";
import { usagePage } from "../framework/help.js";
import type { Environment, Invocation } from "../framework/invocation.js";
import { MISUSE } from "../framework/subcommands.js";
import { version } from "../framework/version.js";
import { type Access, addHostedKubeconfig, requireKubeconfig, withClusters } from "./clusters.js";
import { declareHostedFlags, type HostedFlags, hostedConfig, refuseWords } from "./flags.js";

interface Wishes {
  readonly command: "apply" | "diff" | "delete";
  readonly flags: HostedFlags;
  readonly access: Access;
  readonly output: "text" | "json";
  readonly force: boolean;
  readonly rotation: RotationStep | undefined;
  readonly patchApiServer: boolean;
  readonly waitMs: number;
}

const purposes = {
  apply: `Brings the management cluster and, with --hosted-kubeconfig, the hosted cluster in line with the description, by
server-side apply, and removes what is no longer wanted. Certificates are kept in the control plane's Secrets: made the
first time, issued again when they near their end, no longer fit the description, or were signed by another signer.`,
  diff: `Shows what apply would change, and changes nothing. Ends with 0 when there is nothing, with 3 when there is.`,
  delete: `Removes everything that apply made, from both clusters, certificates included.`,
} as const;

const DIFFERS = 3;

export const hostedApply = (program: string, argv: readonly string[]): Promise<number> =>
  command("apply", program, argv);
export const hostedDiff = (program: string, argv: readonly string[]): Promise<number> => command("diff", program, argv);
export const hostedDelete = (program: string, argv: readonly string[]): Promise<number> =>
  command("delete", program, argv);

function command(name: Wishes["command"], program: string, argv: readonly string[]): Promise<number> {
  return runRole({ parse: (words, env) => parse(name, program, words, env), run }, program, argv, { misuse: MISUSE });
}

function parse(
  name: Wishes["command"],
  program: string,
  argv: readonly string[],
  env: Environment,
): Invocation<Wishes> {
  const { set, flags } = declareHostedFlags(program, env);
  const hostedKubeconfig = addHostedKubeconfig(set);
  const output = set.add("output", choice("text", "json"), undefined, "For people or for scripts. If empty, text.");
  const own = name === "delete" ? deleteFlags(set) : applyFlags(set);
  const { positional, warnings } = set.parse(argv);
  if (flags.help.value) return { help: usagePage(program, purposes[name], set) };
  refuseWords(positional);
  const access = { kubeconfig: flags.kubeconfig.value, hostedKubeconfig: hostedKubeconfig.value };
  requireKubeconfig(access);
  const config: Wishes = {
    command: name,
    flags,
    access,
    output: output.value ?? "text",
    force: own.force.value,
    rotation: own.rotation?.value,
    patchApiServer: own.patch?.value ?? false,
    waitMs: own.wait === undefined ? 0 : toMilliseconds(own.wait.value),
  };
  return { config, logging: { verbosity: 0, format: "text" }, warnings };
}

function applyFlags(set: FlagSet) {
  return {
    force: set.add("force-conflicts", boolean, false, "Take over fields that another manager set."),
    rotation: set.add(
      "rotate-signers",
      choice("introduce", "switch", "retire"),
      undefined,
      "New signers without a break, one step at a time: introduce, switch, retire; wait for all pods in between.",
    ),
    patch: set.add(
      "patch-kube-apiserver",
      boolean,
      false,
      "Also bring the server into the Deployment kube-apiserver; the kube-apiserver's flag stays its owner's to add.",
    ),
    wait: set.add("wait", duration, parseGoDuration("1m"), "How long for an address that the cluster assigns."),
  };
}

function deleteFlags(set: FlagSet) {
  return {
    force: set.add("force", boolean, false, "Although a kube-apiserver still has the server."),
    rotation: undefined,
    patch: undefined,
    wait: undefined,
  };
}

async function run(wishes: Wishes): Promise<number> {
  const config = await hostedConfig(wishes.flags);
  const { applyHosted, deleteHosted } = await import("../../cluster/hosted/apply/apply.js");
  const report = await withClusters(wishes.access, (clusters): Promise<HostedReport> => {
    if (wishes.command === "delete") return deleteHosted(clusters, config, { version: version(), force: wishes.force });
    const { force, rotation, patchApiServer, waitMs } = wishes;
    return applyHosted(clusters, config, {
      version: version(),
      dryRun: wishes.command === "diff",
      force,
      rotation,
      patchApiServer,
      waitMs,
    });
  });
  process.stdout.write(
    wishes.output === "json" ? `${JSON.stringify(report, null, 2)}\n` : reportText(wishes.command, report),
  );
  return wishes.command === "diff" && report.objects.some(isChange) ? DIFFERS : 0;
}

function reportText(command: Wishes["command"], { objects, issued }: HostedReport): string {
  const verb = command === "diff" ? "would be issued" : "issued";
  return issued.map(({ name, why }) => `certificate ${name} ${verb}: ${why}\n`).join("") + outcomesText(objects);
}
