/** Kubeconfig files: their named entries, checked as clientcmd checks them, with paths resolved against their folder. */
import { statSync } from "node:fs";
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

interface KubeconfigContext {
  readonly cluster?: string;
  readonly user?: string;
}

interface Kubeconfig {
  readonly clusters: ReadonlyMap<string, KubeconfigCluster>;
  readonly contexts: ReadonlyMap<string, KubeconfigContext>;
  readonly currentContext: string;
  readonly users: ReadonlyMap<string, KubeconfigUser>;
}

type Fields = Readonly<Record<string, unknown>>;

interface EntryKind {
  readonly kind: string;
  /** Fields that must be strings. */
  readonly strings: readonly string[];
  /** Fields that are paths from the folder of the kubeconfig. */
  readonly paths: readonly string[];
}

const CLUSTER_PATHS = ["certificate-authority"];
const USER_PATHS = ["client-certificate", "client-key", "tokenFile"];

const CLUSTERS: EntryKind = {
  kind: "cluster",
  strings: [...CLUSTER_PATHS, "server", "certificate-authority-data", "proxy-url", "tls-server-name"],
  paths: CLUSTER_PATHS,
};
const CONTEXTS: EntryKind = { kind: "context", strings: ["cluster", "namespace", "user"], paths: [] };
const USERS: EntryKind = {
  kind: "user",
  strings: [
    ...USER_PATHS,
    ...["as", "as-uid", "client-certificate-data", "client-key-data", "password", "token", "username"],
  ],
  paths: USER_PATHS,
};

/** Throws DB_KUBECONFIG. */
function readKubeconfig(file: string): Kubeconfig {
  const document = parseDocument(file, readAccessFile("kubeconfig", file));
  try {
    const currentContext = document["current-context"] ?? "";
    if (typeof currentContext !== "string") throw new Error("current-context is not a string");
    return {
      clusters: entries<KubeconfigCluster>(file, document, CLUSTERS),
      contexts: entries<KubeconfigContext>(file, document, CONTEXTS),
      currentContext,
      users: entries<KubeconfigUser>(file, document, USERS),
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

function entries<T>(file: string, document: Fields, { kind, strings, paths }: EntryKind): Map<string, T> {
  const found = new Map<string, T>();
  const list = `${kind}s`;
  const items = document[list] ?? [];
  if (!Array.isArray(items)) throw new Error(`${list} is not a list`);
  for (const item of items as unknown[]) {
    const name = isRecord(item) ? item.name : undefined;
    if (!isRecord(item) || typeof name !== "string") throw new Error(`${list} has an entry without a name`);
    if (found.has(name)) throw new Error(`${list} has ${JSON.stringify(name)} twice`);
    const entry = item[kind] ?? {};
    if (!isRecord(entry)) throw new Error(`${kind} ${JSON.stringify(name)} is not a mapping`);
    const other = strings.find((field) => entry[field] != null && typeof entry[field] !== "string");
    if (other !== undefined)
      throw new Error(`${other} of ${kind} ${JSON.stringify(name)} is not a string; put it into quotes`);
    const folder = dirname(file);
    const resolved = paths.filter((path) => entry[path]).map((path) => [path, resolve(folder, String(entry[path]))]);
    const exec = kind === "user" && entry.exec != null ? { exec: readExec(folder, entry.exec) } : {};
    found.set(name, { ...entry, ...Object.fromEntries(resolved), ...exec } as T);
  }
  return found;
}

function readExec(folder: string, exec: unknown): ExecConfig {
  const command = isRecord(exec) ? exec.command : undefined;
  if (!isRecord(exec) || typeof command !== "string" || command === "")
    throw new Error("an exec plugin has no command");
  // As in clientcmd: a bare name is looked up in PATH, anything else is relative to the file.
  return { ...exec, command: command.includes("/") ? resolve(folder, command) : command };
}

/** What a client needs of a kubeconfig: one context's cluster and user. */
export interface Selection {
  readonly cluster: KubeconfigCluster & { readonly server: string };
  readonly user: KubeconfigUser;
}

/** Merges files as kubectl merges those of KUBECONFIG, which may be missing as long as one exists. Throws DB_KUBECONFIG. */
export function loadSelection(files: readonly string[], contextName: string): Selection {
  const found = files.length > 1 ? files.filter(exists) : files;
  const what = files.join(":");
  if (found.length === 0) throw configError(`None of the kubeconfig files ${what} exists.`);
  return select(what, merge(found.map(readKubeconfig)), contextName);
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
  const context = config.contexts.get(name);
  if (context === undefined) {
    const which = contextName === "" ? "its current-context" : "context";
    const known = config.contexts.size === 0 ? "" : ` (${[...config.contexts.keys()].join(", ")})`;
    throw bad(`${which} ${JSON.stringify(name)} is not among its contexts${known}`);
  }
  const { cluster: clusterName = "", user: userName = "" } = context;
  const cluster = config.clusters.get(clusterName);
  if (cluster === undefined) throw bad(`its cluster ${JSON.stringify(clusterName)} is not among its clusters`);
  if (!cluster.server) throw bad(`its cluster ${JSON.stringify(clusterName)} has no server`);
  const user = userName === "" ? {} : config.users.get(userName);
  if (user === undefined) throw bad(`its user ${JSON.stringify(userName)} is not among its users`);
  const contradiction = contradictionIn(cluster, user);
  if (contradiction !== undefined) throw bad(contradiction);
  return { cluster: { ...cluster, server: cluster.server.replace(/\/+$/, "") }, user };
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

/** A file whose status cannot be read is reported when it is read. */
function exists(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}
