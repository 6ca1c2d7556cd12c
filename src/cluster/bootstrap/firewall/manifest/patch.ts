/** Finds the cluster's manifest in an install directory, changes it, and puts it back whole or not at all. */
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { DrawbridgeError, messageOf } from "../../../../base/errors/error.js";
import { replaceFile } from "../../../../base/files.js";
import type { FirewallRule } from "../../model/created.js";
import type { Platform } from "../plan.js";
import { InstallerManifest, type ManifestItem, type ManifestPath, UnknownShape } from "./document.js";
import { awsCluster, azureCluster, GROUP, ibmVpcCluster, type ManifestKind, powerVsCluster } from "./kinds.js";

const kinds: Partial<Readonly<Record<Platform, ManifestKind>>> = {
  aws: awsCluster,
  azure: azureCluster,
  azurestack: azureCluster,
  ibmcloud: ibmVpcCluster,
  powervs: powerVsCluster,
};

/** The comment above every rule we add. */
const COMMENT = "drawbridge: agents reach the bootstrap host, until it is gone";

export interface PatchInput {
  readonly dir: string;
  readonly platform: Platform;
  readonly rule: FirewallRule;
  readonly direction: "open" | "close";
}

/** Throws DB_FIREWALL_MANIFEST, and then the file is as it was. */
export async function patchManifest({ dir, platform, rule: { port }, direction }: PatchInput) {
  const kind = kinds[platform];
  if (kind === undefined)
    throw refused(
      `There is no manifest to change for ${platform}: only ${Object.keys(kinds).join(", ")} have the rule in a manifest.`,
    );
  const { file, text } = await findManifest(dir, kind.kind);
  try {
    const manifest = new InstallerManifest(text);
    const { name: cluster } = manifest;
    const apiVersion = String(manifest.value("apiVersion") ?? "");
    if (!kind.apiVersions.includes(apiVersion))
      throw new UnknownShape(`its apiVersion ${apiVersion} is not one of ${kind.apiVersions.join(", ")}`);
    if (!/^[a-z0-9][a-z0-9.-]*$/.test(cluster)) throw new UnknownShape("it has no usable metadata.name");
    const { where, paths } = kind.lists(manifest, direction);
    const edit = direction === "open" ? openIn : closeIn;
    const notes = edit(manifest, kind, port, where, paths);
    const changed = manifest.text !== text;
    if (changed) await replaceKeepingMode(file, manifest.text);
    const changes = changed ? [{ where, rule: kind.ruleText(cluster, port) }] : [];
    // Changes name the security group or list and the rule for people, notes say what was found and left alone.
    return { file, kind: kind.kind, cluster, changed, changes, notes };
  } catch (reason) {
    const what = reason instanceof UnknownShape ? "cannot be changed" : "cannot be written";
    throw refused(`${file} ${what}: ${messageOf(reason)}.`, reason);
  }
}

type Edit = (
  manifest: InstallerManifest,
  kind: ManifestKind,
  port: number,
  where: string,
  paths: readonly ManifestPath[],
) => string[];

const openIn: Edit = (manifest, kind, port, where, paths) => {
  const { name: cluster } = manifest;
  const lists = paths.map((path) => manifest.list(...path));
  const [present, ...others] = lists.map((rules) => rules.find((rule) => kind.admits(rule, port)));
  if (present !== undefined && others.every((rule) => rule !== undefined))
    return [`${where} already has ${titleOf(present)} for port ${port}.${kind.presentNote?.(present, cluster) ?? ""}`];
  const rule = kind.rule(cluster, port, lists.flat()) as { readonly name?: string };
  for (const [index, path] of paths.entries()) {
    const isThere = rule.name !== undefined && lists[index]?.some(({ name }) => name === rule.name);
    if (!isThere) manifest.append(path, rule, COMMENT);
  }
  return kind.addedNote === undefined ? [] : [kind.addedNote];
};

const closeIn: Edit = (manifest, kind, port, _where, paths) => {
  const isOurs = (rule: ManifestItem, comment: string | undefined): boolean =>
    (comment === COMMENT && kind.admits(rule, port)) || (kind.isOurs?.(rule, manifest.name, port) ?? false);
  for (const path of paths) manifest.drop(path, isOurs);
  const others = paths.flatMap((path) => manifest.list(...path)).filter((rule) => kind.admits(rule, port));
  const titles = [...new Set(others.map(titleOf))];
  return titles.map((title) => `${title[0]!.toUpperCase()}${title.slice(1)} for port ${port} is not ours and stays.`);
};

/** A rule of somebody else in a sentence; IBM Cloud's have no names. */
function titleOf({ name, description }: ManifestItem): string {
  const known = name ?? (description && JSON.stringify(description));
  return known === undefined ? "a rule" : `the rule ${known}`;
}

/** By kind, not by name: the installer calls the file 02_infra-cluster.yaml on AWS and otherwise elsewhere. */
async function findManifest(dir: string, kind: string) {
  const folder = join(dir, "cluster-api");
  const names = await readdir(folder).catch((reason: unknown) => {
    throw refused(`${folder} cannot be read: ${messageOf(reason)}.`, reason);
  });
  const found: { file: string; text: string }[] = [];
  for (const name of names.filter((candidate) => /\.ya?ml$/.test(candidate)).sort()) {
    const file = join(folder, name);
    const text = await readFile(file, "utf8");
    // Other files of the folder do not matter, whatever they hold.
    if (new RegExp(`^kind: *["']?${kind}["']? *$`, "m").test(text) && text.includes(GROUP)) found.push({ file, text });
  }
  const [only, second] = found;
  if (only === undefined) throw refused(`No file in ${folder} holds an object of kind ${kind}.`);
  if (second !== undefined) throw refused(`Both ${only.file} and ${second.file} hold an object of kind ${kind}.`);
  return only;
}

function refused(message: string, cause?: unknown): DrawbridgeError {
  return new DrawbridgeError("DB_FIREWALL_MANIFEST", message, { cause });
}

/** The file keeps its mode; a link is followed. */
async function replaceKeepingMode(path: string, text: string): Promise<void> {
  const target = await realpath(path);
  await replaceFile(target, text, (await stat(target)).mode & 0o7777);
}
