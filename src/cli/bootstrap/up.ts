/** `drawbridge bootstrap up`: bring the bridge up, and say how far it came. */

import { existsSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { table } from "../../base/text.js";
import { thisHost } from "../../cluster/bootstrap/host/host.js";
import { checkStateDirectory } from "../../cluster/bootstrap/host/record.js";
import { openApi, type StepProgress, type StepResult } from "../../cluster/bootstrap/host/step.js";
import { type BridgeUpResult, bringBridgeUp, type UpOptions } from "../../cluster/bootstrap/host/up.js";
import { lifetime, oneOf, text, type Values, yesNo } from "../flags/flag.js";
import { clusterFlags } from "../flags/kubernetes.js";
import { refused } from "../flags/parse.js";
import { defineCommand, type Input, VERSION } from "../framework/define.js";
import { note } from "../framework/output.js";
import { bridgeOptionsOf, hostFlags, programFlags, SERVER_FORMS, stateDirFlag } from "./bridge-flags.js";

const upFlags = {
  "for-platform": oneOf(
    ["kubeadm", "bare"],
    "Kind of control plane that this host has. If empty, kubeadm where its files are, else bare.",
  ),
  address: text("Address of this host that agents dial. If empty, the one its routes lead from."),
  for: lifetime("24h", "How long the bridge may exist: its certificates end then.", { least: 60_000 }),
  server: oneOf(SERVER_FORMS, "What keeps the server running. If empty, a static pod, on bare hosts a systemd unit."),
  apply: yesNo(
    "Change the kube-apiserver's manifest, too, with a backup in the state directory. Otherwise up says what to change.",
  ),
  "apply-command": text("Shell command that restarts a bare kube-apiserver with the flag in its EGRESS_FLAG variable."),
  "restore-command": text("Shell command for teardown that restarts a bare kube-apiserver without the flag."),
  "only-this-apiserver": yesNo(
    "Go on although the cluster has more kube-apiservers: they reach pods without a bridge.",
  ),
  timeout: lifetime("5m", "How long to wait for kube-apiserver and agents, each.", { least: 1 }),
  ...stateDirFlag,
  ...clusterFlags(
    "an administrator",
    "what an earlier run used, then the files of KUBECONFIG, then kubeadm's admin.conf",
  ),
  ...programFlags({
    kind: "Programs that run in pods: drawbridge's (default), upstream's, or an OpenShift payload's.",
    image: "Pull spec of the image with both programs. If empty, the image kind's own.",
    network: "Network of the agents: the pods' (default), or their nodes', where they start before the network plugin.",
  }),
  ...hostFlags("the one beside this program"),
};

export default defineCommand({
  purpose: `Brings the bridge up on this host of a kubeadm or bare control plane, or what is missing of it.

Run it again at any time, also after it was killed: what is there already stays as it is. What it makes is recorded before
it is made, and drawbridge bootstrap teardown takes all of it away.`,
  examples: [
    "drawbridge bootstrap up --apply",
    "drawbridge bootstrap up --for 2h --image registry.example/drawbridge:1",
  ],
  flags: upFlags,
  config: checkedOptions,
  async run(options) {
    return bringBridgeUp(thisHost(), options, openApi, progressOn(note));
  },
  show: upText,
});

function checkedOptions(flags: Values<typeof upFlags>, { env, given }: Input): UpOptions {
  checkStateDirectory(flags.stateDir);
  if (flags.restoreCommand !== "" && flags.applyCommand === "")
    throw refused("--restore-command belongs to --apply-command");
  return {
    ...{ env: { ...env, KUBECONFIG: absolute(env.KUBECONFIG ?? "") }, version: VERSION, ownProgram: ownProgram() },
    ...bridgeOptionsOf(flags, given),
    for: flags.forPlatform,
    // The record is read from other directories.
    kubeconfig: absolute(flags.kubeconfig),
    context: flags.context,
    address: flags.address || undefined,
    validForMs: flags.for,
    serverForm: flags.server,
    apply: flags.apply,
    applyCommand: flags.applyCommand || undefined,
    restoreCommand: flags.restoreCommand || undefined,
    onlyThisApiServer: flags.onlyThisApiserver,
    stateDirectory: flags.stateDir,
    timeoutMs: flags.timeout,
  };
}

/** Each of several files, as in KUBECONFIG. */
function absolute(kubeconfig: string): string {
  const files = kubeconfig.split(":").filter((file) => file !== "");
  return files.map((file) => resolve(file)).join(":");
}

/** The proxy-server that was installed with this program. */
function ownProgram(): string | undefined {
  const [, script = ""] = process.argv;
  if (!existsSync(script)) return undefined;
  const beside = join(dirname(realpathSync(script)), "proxy-server");
  return existsSync(beside) ? beside : undefined;
}

export function progressOn(write: (text: string) => unknown): StepProgress {
  return {
    starts: ({ title }) => void write(`${title} ...\n`),
    ends(result) {
      write(`${line(result)}\n`);
      // At once: what follows may have to wait for it.
      if (result.byHand !== undefined) write(`\n${result.byHand}\n\n`);
    },
  };
}

function line({ title, outcome, detail, tookMs }: StepResult): string {
  const took = outcome === "done" ? `, ${(tookMs / 1000).toFixed(1)} s` : "";
  return `${title}: ${outcome}${took} (${detail})`;
}

export function upText({ steps, until, leftToYou, warnings, stateDirectory, address }: BridgeUpResult): string {
  const rows = steps.map(({ name, outcome, detail }) => [name, outcome, detail]);
  const tookMs = steps.reduce((sum, step) => sum + step.tookMs, 0);
  const next =
    leftToYou === undefined
      ? "The bridge is up."
      : `Still to do by you: start the kube-apiserver with ${leftToYou.flag}`;
  return [
    table([["STEP", "STATE", "DETAIL"], ...rows]),
    ...warnings.map((warning) => `Warning: ${warning}\n`),
    `${next}${until === undefined ? "" : `\nIt ends ${until}.`} Agents dial ${address}; the record is in ${stateDirectory}. All of it took ${(tookMs / 1000).toFixed(1)} s.\n`,
    "drawbridge bootstrap status shows its state, drawbridge bootstrap teardown takes it away.\n",
  ].join("");
}
