/** Finds the cluster's manifest in an install directory, changes it, and puts it back whole or not at all. */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { DrawbridgeError, messageOf, unwrittenRemedy } from "../../../../base/errors/error.js";
import { rewriteFile } from "../../../../base/files.js";
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

/** Where rules have no names: the port that we opened. */
const ANNOTATIONS = ["metadata", "annotations"];
const ANNOTATION = "drawbridge/opened-port";

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
    if (changed) await rewriteFile(file, manifest.text, 0o640);
    const changes = changed ? [{ where, rule: kind.ruleText(cluster, port) }] : [];
    // Changes name the security group or list and the rule for people, notes say what was found and left alone.
    return { file, kind: kind.kind, cluster, changed, changes, notes };
  } catch (reason) {
    const what = reason instanceof UnknownShape ? "cannot be changed" : "cannot be written";
    const details = { cause: reason, remedy: unwrittenRemedy(reason) };
    throw new DrawbridgeError("DB_FIREWALL_MANIFEST", `${file} ${what}: ${messageOf(reason)}.`, details);
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
  if (kind.isOurs === undefined) manifest.set(ANNOTATIONS, ANNOTATION, String(port));
  return kind.addedNote === undefined ? [] : [kind.addedNote];
};

const closeIn: Edit = (manifest, kind, port, where, paths) => {
  const isOurs = (rule: ManifestItem, comment: string | undefined): boolean =>
    (comment === COMMENT && kind.admits(rule, port)) || (kind.isOurs?.(rule, manifest.name, port) ?? false);
  const dropped = paths.reduce((count, path) => count + manifest.drop(path, isOurs), 0);
  if (kind.isOurs === undefined) dropAnnotated(manifest, kind, port, where, paths, dropped > 0);
  const others = paths.flatMap((path) => manifest.list(...path)).filter((rule) => kind.admits(rule, port));
  const titles = [...new Set(others.map(titleOf))];
  return titles.map((title) => `${title[0]!.toUpperCase()}${title.slice(1)} for port ${port} is not ours and stays.`);
};

/** Our rule by its content, in an object whose annotation says that there is one. Throws UnknownShape when it is not plain which. */
function dropAnnotated(
  manifest: InstallerManifest,
  kind: ManifestKind,
  port: number,
  where: string,
  paths: readonly ManifestPath[],
  isDone: boolean,
): void {
  if (manifest.value(...ANNOTATIONS, ANNOTATION) !== String(port)) return;
  const ours = JSON.parse(JSON.stringify(kind.rule(manifest.name, port, [])));
  const isSame = (rule: ManifestItem): boolean => isDeepStrictEqual(rule, ours);
  if (!isDone) {
    const all = paths.flatMap((path) => manifest.list(...path));
    const count = all.filter(isSame).length;
    // Somebody took it out already.
    const isGone = !all.some((rule) => kind.admits(rule, port));
    if (count !== 1 && !isGone)
      throw new UnknownShape(
        `${where} has ${count === 0 ? "no rule that is" : `${count} rules that are`} exactly the one that patch added for TCP ${port}, so it is not known which one is ours: take it out by hand, and the annotation ${ANNOTATION} with it`,
      );
    for (const path of paths) manifest.drop(path, isSame);
  }
  manifest.unset(ANNOTATIONS, ANNOTATION);
}

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
