/** Finds the cluster's manifest in an install directory, changes it, and puts it back whole or not at all. */
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { DrawbridgeError, messageOf } from "../../../../base/errors/error.js";
import { replaceFile } from "../../../../base/files.js";
import type { FirewallRule } from "../../model/created.js";
import type { Platform } from "../plan.js";
import { InstallerManifest, UnknownShape } from "./document.js";
import { awsCluster, azureCluster, COMMENT, GROUP, ibmVpcCluster, type ManifestKind, powerVsCluster } from "./kinds.js";

const kinds: Partial<Readonly<Record<Platform, ManifestKind>>> = {
  aws: awsCluster,
  azure: azureCluster,
  azurestack: azureCluster,
  ibmcloud: ibmVpcCluster,
  powervs: powerVsCluster,
};

interface ManifestChanges {
  /** Each names the security group or list, and the rule, for people. */
  readonly changes: readonly { readonly where: string; readonly rule: string }[];
  /** Sentences about what was found and left alone. */
  readonly notes: readonly string[];
}

export interface PatchResult extends ManifestChanges {
  readonly file: string;
  readonly kind: string;
  readonly cluster: string;
  readonly changed: boolean;
}

export interface PatchInput {
  readonly dir: string;
  readonly platform: Platform;
  readonly rule: FirewallRule;
  readonly direction: "open" | "close";
}

/** Throws DB_FIREWALL_MANIFEST, and then the file is as it was. */
export async function patchManifest({ dir, platform, rule, direction }: PatchInput): Promise<PatchResult> {
  const kind = kinds[platform];
  if (kind === undefined) {
    const which = `only ${Object.keys(kinds).join(", ")} have the rule in a manifest`;
    throw new DrawbridgeError("DB_FIREWALL_MANIFEST", `There is no manifest to change for ${platform}: ${which}.`);
  }
  const { file, text, manifest } = await findManifest(dir, kind.kind);
  try {
    if (!kind.apiVersions.includes(manifest.apiVersion))
      throw new UnknownShape(`its apiVersion ${manifest.apiVersion} is not one of ${kind.apiVersions.join(", ")}`);
    if (!/^[a-z0-9][a-z0-9.-]*$/.test(manifest.name)) throw new UnknownShape("it has no usable metadata.name");
    const result = direction === "open" ? openIn(manifest, kind, rule.port) : closeIn(manifest, kind, rule.port);
    const changed = manifest.text !== text;
    if (changed) await replaceKeepingMode(file, manifest.text);
    return { file, kind: kind.kind, cluster: manifest.name, changed, ...result };
  } catch (reason) {
    const what = reason instanceof UnknownShape ? "cannot be changed" : "cannot be written";
    throw new DrawbridgeError("DB_FIREWALL_MANIFEST", `${file} ${what}: ${messageOf(reason)}.`, { cause: reason });
  }
}

function openIn(manifest: InstallerManifest, kind: ManifestKind, port: number): ManifestChanges {
  const { where, paths } = kind.lists(manifest, "open");
  const lists = paths.map((path) => manifest.list(...path));
  const [present, ...others] = lists.map((rules) => rules.find((rule) => kind.admits(rule, port)));
  if (present !== undefined && others.every((rule) => rule !== undefined)) {
    const note = `${where} already has ${kind.title(present)} for port ${port}.`;
    return { changes: [], notes: [note + (kind.presentNote?.(present, manifest.name) ?? "")] };
  }
  const rule = kind.rule(manifest.name, port, lists.flat()) as { readonly name?: string };
  for (const [index, path] of paths.entries()) {
    const isThere = rule.name !== undefined && lists[index]?.some(({ name }) => name === rule.name);
    if (!isThere) manifest.append(path, rule, COMMENT);
  }
  const notes = kind.addedNote === undefined ? [] : [kind.addedNote];
  return { changes: [{ where, rule: kind.ruleText(manifest.name, port) }], notes };
}

function closeIn(manifest: InstallerManifest, kind: ManifestKind, port: number): ManifestChanges {
  const { where, paths } = kind.lists(manifest, "close");
  const { name } = manifest;
  const dropped = paths.map((path) =>
    manifest.drop(path, ({ value, comment }) => kind.isOurs(value, comment, name, port)),
  );
  const others = paths.flatMap((path) => manifest.list(...path)).filter((rule) => kind.admits(rule, port));
  const titles = new Set(others.map((rule) => kind.title(rule)));
  return {
    changes: dropped.some((count) => count > 0) ? [{ where, rule: kind.ruleText(name, port) }] : [],
    notes: [...titles].map(
      (title) => `${title.replace(/^./, (first) => first.toUpperCase())} for port ${port} is not ours and stays.`,
    ),
  };
}

/** By kind, not by name: the installer calls the file 02_infra-cluster.yaml on AWS and otherwise elsewhere. */
async function findManifest(
  dir: string,
  kind: string,
): Promise<{ file: string; text: string; manifest: InstallerManifest }> {
  const folder = join(dir, "cluster-api");
  const names = await readdir(folder).catch((reason: unknown) => {
    throw notFound(`${folder} cannot be read: ${messageOf(reason)}.`, reason);
  });
  const found: { file: string; text: string; manifest: InstallerManifest }[] = [];
  for (const name of names.filter((candidate) => /\.ya?ml$/.test(candidate)).sort()) {
    const file = join(folder, name);
    const text = await readFile(file, "utf8");
    // A cheap test first: other files of the folder do not matter, whatever they hold.
    if (!new RegExp(`^kind: *["']?${kind}["']? *$`, "m").test(text) || !text.includes(GROUP)) continue;
    found.push({ file, text, manifest: parse(file, text) });
  }
  const [only, second] = found;
  if (only === undefined) throw notFound(`No file in ${folder} holds an object of kind ${kind}.`);
  if (second !== undefined) throw notFound(`Both ${only.file} and ${second.file} hold an object of kind ${kind}.`);
  return only;
}

function parse(file: string, text: string): InstallerManifest {
  try {
    return new InstallerManifest(text);
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
