/** Finds the cluster's manifest in an install directory, changes it, and puts it back whole or not at all. */
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { DrawbridgeError, messageOf } from "../../../../base/errors/error.js";
import { replaceFile } from "../../../../base/files.js";
import type { FirewallRule } from "../../model/created.js";
import type { Platform } from "../plan.js";
import { GROUP, Manifest, type ManifestChange, type ManifestRules, UnknownShape } from "./document.js";
import { awsRules, azureRules, ibmCloudRules, powerVsRules } from "./kinds.js";

const rulesOf: Partial<Readonly<Record<Platform, ManifestRules>>> = {
  aws: awsRules,
  azure: azureRules,
  azurestack: azureRules,
  ibmcloud: ibmCloudRules,
  powervs: powerVsRules,
};

export const patchablePlatforms = Object.keys(rulesOf);

export interface PatchResult {
  readonly file: string;
  readonly kind: string;
  readonly cluster: string;
  readonly changed: boolean;
  readonly changes: readonly ManifestChange[];
  readonly notes: readonly string[];
}

export interface PatchInput {
  readonly dir: string;
  readonly platform: Platform;
  readonly rule: FirewallRule;
  readonly direction: "open" | "close";
}

/** Throws DB_FIREWALL_MANIFEST, and then the file is as it was. */
export async function patchManifest({ dir, platform, rule, direction }: PatchInput): Promise<PatchResult> {
  const rules = rulesOf[platform];
  if (rules === undefined) {
    const which = `only ${patchablePlatforms.join(", ")} have the rule in a manifest`;
    throw new DrawbridgeError("DB_FIREWALL_MANIFEST", `There is no manifest to change for ${platform}: ${which}.`);
  }
  const { file, text, manifest } = await findManifest(dir, rules.kind);
  try {
    if (!rules.apiVersions.includes(manifest.apiVersion)) {
      throw new UnknownShape(`its apiVersion ${manifest.apiVersion} is not one of ${rules.apiVersions.join(", ")}`);
    }
    if (!/^[a-z0-9][a-z0-9.-]*$/.test(manifest.name)) throw new UnknownShape("it has no usable metadata.name");
    const { changes, notes } = rules[direction](manifest, rule);
    const changed = manifest.text !== text;
    if (changed) await replaceKeepingMode(file, manifest.text);
    return { file, kind: rules.kind, cluster: manifest.name, changed, changes, notes };
  } catch (reason) {
    const what = reason instanceof UnknownShape ? "cannot be changed" : "cannot be written";
    throw new DrawbridgeError("DB_FIREWALL_MANIFEST", `${file} ${what}: ${messageOf(reason)}.`, { cause: reason });
  }
}

/** By kind, not by name: the installer calls the file 02_infra-cluster.yaml on AWS and otherwise elsewhere. */
async function findManifest(dir: string, kind: string): Promise<{ file: string; text: string; manifest: Manifest }> {
  const folder = join(dir, "cluster-api");
  const names = await readdir(folder).catch((reason: unknown) => {
    throw notFound(`${folder} cannot be read: ${messageOf(reason)}.`, reason);
  });
  const found: { file: string; text: string; manifest: Manifest }[] = [];
  for (const name of names.filter((candidate) => /\.ya?ml$/.test(candidate)).sort()) {
    const file = join(folder, name);
    const text = await readFile(file, "utf8");
    // A cheap look first: other files of the folder are none of our business, whatever is in them.
    if (!new RegExp(`^kind: *["']?${kind}["']? *$`, "m").test(text) || !text.includes(GROUP)) continue;
    found.push({ file, text, manifest: parse(file, text) });
  }
  const [only, second] = found;
  if (only === undefined) throw notFound(`No file in ${folder} holds an object of kind ${kind}.`);
  if (second !== undefined) throw notFound(`Both ${only.file} and ${second.file} hold an object of kind ${kind}.`);
  return only;
}

function parse(file: string, text: string): Manifest {
  try {
    return new Manifest(text);
  } catch (reason) {
    throw notFound(`${file} cannot be changed: ${messageOf(reason)}.`, reason);
  }
}

function notFound(message: string, cause?: unknown): DrawbridgeError {
  return new DrawbridgeError("DB_FIREWALL_MANIFEST", message, { cause });
}

/** The file keeps its mode; a link is followed. */
async function replaceKeepingMode(path: string, text: string): Promise<void> {
  const target = await realpath(path);
  await replaceFile(target, text, (await stat(target)).mode & 0o7777);
}
