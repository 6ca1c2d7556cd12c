/** The one change in somebody else's process: the kube-apiserver's egress flag. */
import { basename } from "node:path";
import { DrawbridgeError } from "../../../base/errors/error.js";
import { createdObjects, egressFlag } from "../model/created.js";
import type { BridgeModel } from "../model/model.js";
import { apiServerVolumes, renderedFiles, toYaml } from "../render/render.js";
import { isApiServer } from "../settings/programs.js";
import { egressFileIn, withEgress, withoutEgress } from "./api-server/manifest.js";
import { type Host, hasFlag } from "./host.js";
import type { RecordKeeper, SettingMethod } from "./record.js";
import { type BridgeStep, lackAfter, type Site } from "./step.js";

/** Whether the manifest names this bridge's egress configuration; undefined without a manifest to look into. */
export async function isInManifest(
  host: Host,
  model: BridgeModel,
  setting: SettingMethod,
): Promise<boolean | undefined> {
  if (setting.by !== "manifest") return undefined;
  const text = await host.files.read(setting.manifest);
  return text === undefined ? undefined : egressFileIn(text) === egressFlag(model).value;
}

/** Brings the change about; whether it has taken effect is for the caller to wait for. */
export async function makeChange(host: Host, model: BridgeModel, keeper: RecordKeeper): Promise<void> {
  const setting = keeper.record.setting;
  if (setting.by === "manifest") return editManifest(host, model, keeper, setting);
  if (setting.by === "command") return runCommand(host, model, setting.apply);
}

/** Takes the change back. False when only a person can. */
export async function undoChange(host: Host, model: BridgeModel, setting: SettingMethod): Promise<boolean> {
  if (setting.by === "manifest") {
    await restoreManifest(host, model, setting);
    return true;
  }
  if (setting.by !== "command" || setting.restore === undefined) return false;
  await runCommand(host, model, setting.restore);
  return true;
}

type ByManifest = Extract<SettingMethod, { by: "manifest" }>;

async function editManifest(host: Host, model: BridgeModel, keeper: RecordKeeper, setting: ByManifest): Promise<void> {
  const { files } = host;
  const original = await files.read(setting.manifest);
  const status = await files.status(setting.manifest);
  if (original === undefined || status === undefined) {
    throw new DrawbridgeError(
      "DB_API_SERVER_CHANGE",
      `${setting.manifest}, the kube-apiserver's manifest, is not there.`,
    );
  }
  const edited = withEgress(original, model);
  if (edited === original) return;
  // Outside the manifests' directory, or the kubelet would run both.
  const backup = keeper.file(basename(setting.manifest));
  await files.write(backup, original, 0o600);
  await keeper.change({ setting: { ...setting, edit: { backup } } });
  await files.write(setting.manifest, edited, status.mode, { keep: true });
}

/** The very bytes of before, unless somebody has changed the manifest since; then only what is ours goes. */
async function restoreManifest({ files }: Host, model: BridgeModel, { manifest, edit }: ByManifest): Promise<void> {
  const present = await files.read(manifest);
  const status = await files.status(manifest);
  if (present === undefined || status === undefined) return;
  const original = edit && (await files.read(edit.backup));
  if (present === original) return;
  const restored =
    original !== undefined && isEditOf(original, present, model) ? original : withoutEgress(present, model);
  if (restored !== present) await files.write(manifest, restored, status.mode, { keep: true });
}

function isEditOf(original: string, present: string, model: BridgeModel): boolean {
  try {
    return withEgress(original, model) === present;
  } catch {
    // The copy was damaged.
    return false;
  }
}

/** For hosts where only their owner knows how a kube-apiserver is started. */
async function runCommand(host: Host, model: BridgeModel, command: string): Promise<void> {
  const { name, value } = egressFlag(model);
  const env = { EGRESS_FLAG: `--${name}=${value}`, EGRESS_CONFIG_FILE: value };
  const { code, stderr } = await host.run(["sh", "-c", command], { env, timeoutMs: 300_000 });
  if (code === 0) return;
  const complaint = stderr.trim().split("\n").at(-1) || "it printed nothing";
  const sentence = `The command ${JSON.stringify(command)} ended with ${code}: ${complaint}`;
  throw new DrawbridgeError("DB_API_SERVER_CHANGE", sentence);
}

/** The kube-apiservers that run with this bridge's flag, and the others; only that says whether a change is in force. */
export async function runningApiServers(host: Host, model: BridgeModel) {
  const { name, value } = egressFlag(model);
  const processes = await host.processes();
  const using = processes.filter((process) => hasFlag(process, name, value));
  const others = processes.filter((process) => !using.includes(process) && isApiServer(process.argv));
  return { using, others };
}

/** What a person has to change in the kube-apiserver, to the letter. */
export function instructionsFor(model: BridgeModel, setting: SettingMethod) {
  const { name, value } = egressFlag(model);
  const flag = `--${name}=${value}`;
  const files = renderedFiles(model)
    .filter(({ part }) => part === "kube-apiserver")
    .map(({ name: file, text }) => ({ name: file, text }));
  return {
    flag,
    /** For a terminal. */
    text: setting.by === "manifest" ? editOf(model, setting.manifest, flag) : flagOf(model, flag),
    /** The same for kubeadm itself, when it makes the kube-apiserver. */
    files: model.for === "kubeadm" ? files : [],
  };
}

function editOf(model: BridgeModel, manifest: string, flag: string): string {
  const { volumeMounts, volumes } = apiServerVolumes(model);
  return [
    `In ${manifest} add to the kube-apiserver's container (keep a copy of the file outside its directory):`,
    "",
    indented(toYaml({ command: [flag], volumeMounts })),
    "and to the pod:",
    "",
    indented(toYaml({ volumes })),
    "The kubelet then restarts it. drawbridge bootstrap up --apply does the same.",
    "For a kube-apiserver that kubeadm is still to make, merge one of the ClusterConfiguration fragments or use the patches of",
    "drawbridge bootstrap render --for-platform kubeadm --part kube-apiserver --out DIR.",
  ].join("\n");
}

function flagOf({ paths }: BridgeModel, flag: string): string {
  return [
    "Add this flag to the kube-apiserver's command and restart it:",
    "",
    `  ${flag}`,
    "",
    `A kube-apiserver in a container needs ${paths.egressConfig.host} and ${paths.socketDirectory.host} mounted under the same paths.`,
  ].join("\n");
}

/** The reverse. */
export function undoInstructions(model: BridgeModel, setting: SettingMethod): string {
  const { name, value } = egressFlag(model);
  const where = setting.by === "manifest" ? `in ${setting.manifest}` : "from the kube-apiserver's command";
  return `Take --${name}=${value} away ${where} and restart the kube-apiserver`;
}

function indented(text: string): string {
  return text.replace(/^(?=.)/gm, "  ");
}

/** The kube-apiserver gets its flag: from us with --apply, otherwise from a person. */

export function apiServerStep(site: Site, apply: boolean): BridgeStep {
  const { host, model, keeper, api, timeoutMs } = site;
  const setting = keeper.record.setting;
  const step: BridgeStep = {
    name: "kube-apiserver",
    title: "kube-apiserver uses the bridge",
    makes: async () => createdObjects(model).filter(({ type }) => type === "setting"),
    async check() {
      const { using, others } = await runningApiServers(host, model);
      const written = await isInManifest(host, model, setting);
      const [process] = using;
      if (process !== undefined && written !== false) {
        return (await api.localReady())
          ? { state: "done", detail: `process ${process.pid} has the flag and is ready` }
          : { state: "missing", detail: `process ${process.pid} has the flag but is not ready` };
      }
      if (process !== undefined) return { state: "missing", detail: "its manifest has lost the flag" };
      if (written) return { state: "missing", detail: "its manifest has the flag, but it does not run with it yet" };
      const seen =
        others.length === 0 ? "no kube-apiserver runs here" : "the kube-apiserver here runs without the flag";
      return { state: "missing", detail: seen };
    },
    async do() {
      if ((await isInManifest(host, model, setting)) !== true) await makeChange(host, model, keeper);
      const lack = await lackAfter(site, step.check);
      if (lack === undefined) return;
      const sentence = `The kube-apiserver did not take up the bridge within ${timeoutMs / 1000} s: ${lack}.`;
      throw new DrawbridgeError("DB_API_SERVER_WAIT", sentence);
    },
  };
  return apply ? step : { ...step, byHand: instructionsFor(model, setting).text };
}
