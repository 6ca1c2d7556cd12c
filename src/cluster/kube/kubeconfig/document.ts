/** One kubeconfig file: its named entries, checked as clientcmd checks them, with paths resolved against its folder. */

import { stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { parse } from "yaml";
import { isRecord } from "../../../base/at.js";
import { messageOf } from "../../../base/errors/error.js";
import { configError, readAccessFile } from "../endpoint.js";

export interface KubeconfigCluster {
  readonly server?: string;
  readonly "certificate-authority"?: string;
  readonly "certificate-authority-data"?: string;
  readonly "insecure-skip-tls-verify"?: boolean;
  readonly "proxy-url"?: string;
  readonly "tls-server-name"?: string;
  readonly extensions?: readonly { readonly name?: string; readonly extension?: unknown }[];
}

export interface KubeconfigUser {
  readonly as?: string;
  readonly "as-groups"?: readonly string[];
  readonly "as-uid"?: string;
  readonly "as-user-extra"?: Readonly<Record<string, readonly string[]>>;
  readonly "auth-provider"?: { readonly name?: string };
  readonly "client-certificate"?: string;
  readonly "client-certificate-data"?: string;
  readonly "client-key"?: string;
  readonly "client-key-data"?: string;
  readonly exec?: ExecConfig;
  readonly password?: string;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly username?: string;
}

/** A program that prints credentials. */
export interface ExecConfig {
  readonly apiVersion?: string;
  readonly args?: readonly string[];
  readonly command: string;
  readonly env?: readonly { readonly name: string; readonly value: string }[];
  readonly installHint?: string;
  readonly interactiveMode?: string;
  readonly provideClusterInfo?: boolean;
}

export interface KubeconfigContext {
  readonly cluster?: string;
  readonly namespace?: string;
  readonly user?: string;
}

export interface Kubeconfig {
  readonly clusters: ReadonlyMap<string, KubeconfigCluster>;
  readonly contexts: ReadonlyMap<string, KubeconfigContext>;
  readonly currentContext: string;
  readonly users: ReadonlyMap<string, KubeconfigUser>;
}

type Fields = Readonly<Record<string, unknown>>;

const clusterStrings = [
  "server",
  "certificate-authority",
  "certificate-authority-data",
  "proxy-url",
  "tls-server-name",
];
const userStrings = [
  ...["as", "as-uid", "client-certificate", "client-certificate-data", "client-key", "client-key-data"],
  ...["password", "token", "tokenFile", "username"],
];
const contextStrings = ["cluster", "namespace", "user"];

/** Throws DB_KUBECONFIG. */
export function readKubeconfig(file: string, text: string): Kubeconfig {
  const document = parseDocument(file, text);
  try {
    const local = (entry: Fields, ...names: string[]) => resolvePaths(dirname(file), entry, names);
    const current = document["current-context"] ?? "";
    if (typeof current !== "string") throw new Error("current-context is not a string");
    return {
      clusters: entries<KubeconfigCluster>(document, "clusters", "cluster", clusterStrings, (entry) =>
        local(entry, "certificate-authority"),
      ),
      contexts: entries<KubeconfigContext>(document, "contexts", "context", contextStrings, (entry) => entry),
      currentContext: current,
      users: entries<KubeconfigUser>(document, "users", "user", userStrings, (entry) => ({
        ...local(entry, "client-certificate", "client-key", "tokenFile"),
        ...(entry.exec == null ? {} : { exec: readExec(dirname(file), entry.exec) }),
      })),
    };
  } catch (reason) {
    throw configError(`The kubeconfig ${file} cannot be used: ${messageOf(reason)}.`, reason);
  }
}

function parseDocument(file: string, text: string): Fields {
  try {
    const document: unknown = parse(text) ?? {};
    if (!isRecord(document)) throw new Error("it is not a mapping");
    return document;
  } catch (reason) {
    // The parser's message quotes the line at fault, which may hold a token: only its first line is safe.
    throw configError(`The kubeconfig ${file} is not valid YAML: ${messageOf(reason).split("\n")[0]}`);
  }
}

function entries<T>(
  document: Fields,
  list: string,
  kind: string,
  strings: readonly string[],
  complete: (entry: Fields) => Fields,
): Map<string, T> {
  const found = new Map<string, T>();
  const items = document[list] ?? [];
  if (!Array.isArray(items)) throw new Error(`${list} is not a list`);
  for (const item of items as unknown[]) {
    const name = isRecord(item) ? item.name : undefined;
    if (!isRecord(item) || typeof name !== "string") throw new Error(`${list} has an entry without a name`);
    if (found.has(name)) throw new Error(`${list} has ${JSON.stringify(name)} twice`);
    const entry = item[kind] ?? {};
    if (!isRecord(entry)) throw new Error(`${kind} ${JSON.stringify(name)} is not a mapping`);
    for (const field of strings) {
      const value = entry[field];
      if (value != null && typeof value !== "string") {
        throw new Error(`${field} of ${kind} ${JSON.stringify(name)} is not a string; put it into quotes`);
      }
    }
    found.set(name, complete(entry) as T);
  }
  return found;
}

function resolvePaths(folder: string, entry: Fields, names: readonly string[]): Fields {
  const paths = names.filter((name) => entry[name]).map((name) => [name, resolve(folder, String(entry[name]))]);
  return { ...entry, ...Object.fromEntries(paths) };
}

function readExec(folder: string, exec: unknown): ExecConfig {
  const command = isRecord(exec) ? exec.command : undefined;
  if (!isRecord(exec) || typeof command !== "string" || command === "")
    throw new Error("an exec plugin has no command");
  // As in clientcmd: a bare name is looked up in PATH, anything else is relative to the file.
  return { ...exec, command: command.includes("/") ? resolve(folder, command) : command };
}

// Several kubeconfig files as one, merged as kubectl merges the files of KUBECONFIG.

/** What a client needs of a kubeconfig: one context with its cluster and user. */
export interface Selection {
  readonly cluster: KubeconfigCluster & { readonly server: string };
  readonly namespace: string | undefined;
  readonly user: KubeconfigUser;
}

/** Files of KUBECONFIG may be missing, as long as one is there. Throws DB_KUBECONFIG. */
export async function loadSelection(files: readonly string[], contextName: string): Promise<Selection> {
  const found: Kubeconfig[] = [];
  for (const file of files) {
    if (files.length > 1 && !(await exists(file))) continue;
    found.push(readKubeconfig(file, await readAccessFile("kubeconfig", file)));
  }
  const what = files.join(":");
  if (found.length === 0) throw configError(`None of the kubeconfig files ${what} exists.`);
  return select(what, merge(found), contextName);
}

/** Of entries with the same name, and of current contexts, the first file's counts as a whole. */
function merge(files: readonly Kubeconfig[]): Kubeconfig {
  const latest = [...files].reverse();
  return {
    clusters: new Map(latest.flatMap(({ clusters }) => [...clusters])),
    contexts: new Map(latest.flatMap(({ contexts }) => [...contexts])),
    currentContext: files.find(({ currentContext }) => currentContext !== "")?.currentContext ?? "",
    users: new Map(latest.flatMap(({ users }) => [...users])),
  };
}

function select(what: string, config: Kubeconfig, contextName: string): Selection {
  const bad = (why: string) => configError(`The kubeconfig ${what} cannot be used: ${why}.`);
  const name = contextName || config.currentContext;
  const context: KubeconfigContext | undefined = config.contexts.get(name);
  if (context === undefined) {
    const which = contextName === "" ? "its current-context" : "context";
    throw bad(`${which} ${JSON.stringify(name)} is not among its contexts${known(config.contexts)}`);
  }
  const { cluster: clusterName = "", namespace, user: userName = "" } = context;
  const cluster = config.clusters.get(clusterName);
  if (cluster === undefined) throw bad(`its cluster ${JSON.stringify(clusterName)} is not among its clusters`);
  if (!cluster.server) throw bad(`its cluster ${JSON.stringify(clusterName)} has no server`);
  const user = userName === "" ? {} : config.users.get(userName);
  if (user === undefined) throw bad(`its user ${JSON.stringify(userName)} is not among its users`);
  const contradiction = contradictionIn(cluster, user);
  if (contradiction !== undefined) throw bad(contradiction);
  return { cluster: { ...cluster, server: cluster.server.replace(/\/+$/, "") }, namespace, user };
}

function known(contexts: ReadonlyMap<string, unknown>): string {
  return contexts.size === 0 ? "" : ` (${[...contexts.keys()].join(", ")})`;
}

/** Pairs of fields of which only one may be given. */
const either: readonly (readonly [keyof KubeconfigUser, keyof KubeconfigUser])[] = [
  ["client-certificate", "client-certificate-data"],
  ["client-key", "client-key-data"],
  ["token", "username"],
  ["tokenFile", "username"],
];

/** What clientcmd refuses, too, and what only its built-in providers could do. */
function contradictionIn(cluster: KubeconfigCluster, user: KubeconfigUser): string | undefined {
  const [ca, caData] = [cluster["certificate-authority"], cluster["certificate-authority-data"]];
  if (ca && caData) return "its cluster has certificate-authority and certificate-authority-data; remove one of them";
  if (cluster["insecure-skip-tls-verify"] && (ca || caData)) {
    return "its cluster names a certificate authority and skips verification with insecure-skip-tls-verify";
  }
  const both = either.find(([one, other]) => user[one] && user[other]);
  if (both !== undefined) return `its user has ${both[0]} and ${both[1]}; remove one of them`;
  const certificate = user["client-certificate"] || user["client-certificate-data"];
  if (certificate && !user["client-key"] && !user["client-key-data"]) {
    return "its user has a client certificate without a client key";
  }
  const provider = user["auth-provider"]?.name;
  if (provider !== undefined && user.exec === undefined) {
    return `auth-provider ${JSON.stringify(provider)} is not supported, use a token, a certificate or an exec plugin`;
  }
  return undefined;
}

/** Differs when any of the files was replaced or changed. */
export async function fingerprint(files: readonly string[]): Promise<string> {
  const marks = await Promise.all(
    files.map((file) =>
      stat(file).then(
        ({ ino, mtimeMs, size }) => `${ino}:${mtimeMs}:${size}`,
        () => "",
      ),
    ),
  );
  return marks.join(" ");
}

function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    (reason: NodeJS.ErrnoException) => reason.code !== "ENOENT",
  );
}
