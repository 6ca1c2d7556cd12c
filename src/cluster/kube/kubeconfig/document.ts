/** Kubeconfig files: their named entries, checked as clientcmd checks them, with paths resolved against their folder. */
import { statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { parse } from "yaml";
import { at, isRecord } from "../../../base/at.js";
import { messageOf } from "../../../base/errors/error.js";
import { plainText } from "../../../base/text.js";
import { configError, readAccessFile } from "../endpoint.js";
import { outsideKeyIn } from "../outside-key.js";

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

type Fields = Readonly<Record<string, unknown>>;

const PATHS = {
  cluster: ["certificate-authority"],
  context: [],
  user: ["client-certificate", "client-key", "tokenFile"],
} as const;

type EntryKind = keyof typeof PATHS;

/** Fields that must be strings, besides those that are paths. */
const STRINGS: Readonly<Record<EntryKind, readonly string[]>> = {
  cluster: ["server", "certificate-authority-data", "proxy-url", "tls-server-name"],
  context: ["cluster", "namespace", "user"],
  user: ["as", "as-uid", "client-certificate-data", "client-key-data", "password", "token", "username"],
};

/** The entries of all files by kind and name. */
interface Kubeconfig extends Record<EntryKind, Map<string, object>> {
  current: string;
}

/** Of entries with the same name, and of current contexts, the first file's counts as a whole. Throws DB_KUBECONFIG. */
function addFile(config: Kubeconfig, file: string, text: string): void {
  const document = parseDocument(file, text);
  try {
    const current = document["current-context"] ?? "";
    if (typeof current !== "string") throw new Error("current-context is not a string");
    config.current ||= current;
    for (const kind of Object.keys(PATHS) as EntryKind[])
      config[kind] = new Map([...entriesOf(document, kind, dirname(file)), ...config[kind]]);
  } catch (reason) {
    throw configError(`The kubeconfig ${file} cannot be used: ${messageOf(reason)}.`, reason);
  }
}

function parseDocument(file: string, text: string, maxAliasCount?: number): Fields {
  try {
    const document: unknown = parse(text, maxAliasCount === undefined ? {} : { maxAliasCount }) ?? {};
    if (!isRecord(document)) throw new Error("it is not a mapping");
    return document;
  } catch (reason) {
    // The parser's message quotes the line at fault, which may hold a token: only its first line is safe.
    throw configError(
      `The kubeconfig ${file} is not valid YAML: ${messageOf(reason).split("\n")[0]!.replace(/:$/, "")}`,
    );
  }
}

/** Paths in them are made absolute: they are relative to the file's folder. */
function entriesOf(document: Fields, kind: EntryKind, folder: string): Map<string, object> {
  const found = new Map<string, object>();
  const items = document[`${kind}s`] ?? [];
  if (!Array.isArray(items)) throw new Error(`${kind}s is not a list`);
  for (const item of items as unknown[]) {
    const name = at(item, "name");
    if (!isRecord(item) || typeof name !== "string") throw new Error(`${kind}s has an entry without a name`);
    if (found.has(name)) throw new Error(`${kind}s has ${JSON.stringify(name)} twice`);
    const entry = item[kind] ?? {};
    if (!isRecord(entry)) throw new Error(`${kind} ${JSON.stringify(name)} is not a mapping`);
    const isText = (field: string) => entry[field] == null || typeof entry[field] === "string";
    const other = [...PATHS[kind], ...STRINGS[kind]].find((field) => !isText(field));
    if (other !== undefined)
      throw new Error(`${other} of ${kind} ${JSON.stringify(name)} is not a string; put it into quotes`);
    const given = PATHS[kind].filter((path) => entry[path]);
    const paths = Object.fromEntries(given.map((path) => [path, resolve(folder, String(entry[path]))]));
    const exec = kind === "user" && entry.exec != null ? { exec: readExec(folder, entry.exec) } : {};
    found.set(name, { ...entry, ...paths, ...exec });
  }
  return found;
}

function readExec(folder: string, exec: unknown): ExecConfig {
  const command = at(exec, "command");
  if (!isRecord(exec) || typeof command !== "string" || command === "")
    throw new Error("an exec plugin has no command");
  // As in clientcmd: a bare name is looked up in PATH, anything else is relative to the file.
  return { ...exec, command: command.includes("/") ? resolve(folder, command) : command };
}

/** What a client needs of a kubeconfig: one context's cluster and user. */
export interface Selection {
  readonly cluster: KubeconfigCluster & { readonly server: string };
  readonly user: KubeconfigUser;
  /** Where they were read, as in `cluster "c" in the kubeconfig FILE`. */
  readonly places: { readonly cluster: string; readonly user: string };
}

/** Merges files as kubectl merges those of KUBECONFIG, which may be missing as long as one exists. Throws DB_KUBECONFIG. */
export function loadSelection(files: readonly string[], contextName: string): Selection {
  const found = files.length > 1 ? files.filter(exists) : files;
  const what = files.join(":");
  if (found.length === 0) throw configError(`None of the kubeconfig files ${what} exists.`);
  return selectionIn(new Map(found.map((file) => [file, readAccessFile("kubeconfig", file)])), what, contextName);
}

/** `texts` by file; `what` names all of them. Throws DB_KUBECONFIG. */
function selectionIn(texts: ReadonlyMap<string, string>, what: string, contextName: string): Selection {
  const found = [...texts.keys()];
  const config: Kubeconfig = { current: "", cluster: new Map(), context: new Map(), user: new Map() };
  for (const [file, text] of texts) addFile(config, file, text);
  const bad = (why: string, remedy?: string) =>
    configError(`The kubeconfig ${what} cannot be used: ${why}.`, undefined, remedy);
  const entry = (kind: EntryKind, name: string): object => {
    const one = config[kind].get(name);
    if (one === undefined) throw bad(`its ${kind} ${JSON.stringify(name)} is not among its ${kind}s`);
    return one;
  };
  if (config.context.size + config.cluster.size + config.user.size === 0)
    throw bad("it is empty: it has no contexts, clusters or users");
  const context = config.context.get(contextName || config.current);
  if (context === undefined) throw bad(...noContext(config, contextName, found));
  const { cluster: clusterName = "", user: userName = "" } = context as { cluster?: string; user?: string };
  const cluster: KubeconfigCluster = entry("cluster", clusterName);
  const { server } = cluster;
  if (!server) throw bad(`its cluster ${JSON.stringify(clusterName)} has no server`);
  if (!/^https?:\/\//i.test(server) || !URL.canParse(server)) {
    const instead =
      /^[^/]+:\/\//.test(server) || !URL.canParse(`https://${server}`) ? "https://HOST:PORT" : `https://${server}`;
    throw bad(
      `server of its cluster ${JSON.stringify(clusterName)} is ${JSON.stringify(plainText(server, 200))}, which is no URL of an API server; write it as ${instead}`,
    );
  }
  const user: KubeconfigUser = userName === "" ? {} : entry("user", userName);
  const contradiction = contradictionIn(cluster, user);
  if (contradiction !== undefined) throw bad(contradiction);
  const place = (kind: EntryKind, name: string) => `${kind} ${JSON.stringify(name)} in the kubeconfig ${what}`;
  const places = { cluster: place("cluster", clusterName), user: place("user", userName) };
  return { cluster: { ...cluster, server: server.replace(/\/+$/, "") }, user, places };
}

/**
 * The current context of a kubeconfig that somebody else wrote: it is used only with what it contains, and shown only to a server
 * with a certificate of its own authority. `place` as in "The kubeconfig PLACE cannot be used". Throws DB_KUBECONFIG.
 */
export function containedSelection(text: string, place: string): Selection {
  const bad = (why: string) => configError(`The kubeconfig ${place} cannot be used: ${why}.`);
  const key = outsideKeyIn(parseDocument(place, text, 0));
  if (key !== undefined) throw bad(`it names ${key}, and it is used only with what it contains`);
  const selection = selectionIn(new Map([[place, text]]), place, "");
  const { cluster } = selection;
  if (!/^https:/i.test(cluster.server))
    throw bad(`its server ${plainText(cluster.server, 200)} does not begin with https://`);
  if (!cluster["certificate-authority-data"])
    throw bad("it has no certificate-authority-data, so nobody knows whom to trust");
  return selection;
}

/** Why there is no context to use, and how to get one. kubectl goes on to localhost:8080 where none is current. */
function noContext(config: Kubeconfig, given: string, files: readonly string[]): [why: string, remedy: string] {
  const names = [...config.context.keys()].join(", ");
  const kubectl =
    files.length === 1 ? `kubectl --kubeconfig=${files[0]} config` : `KUBECONFIG=${files.join(":")} kubectl config`;
  if (names === "") {
    const [[cluster = "CLUSTER"] = [], [user = "USER"] = []] = [[...config.cluster.keys()], [...config.user.keys()]];
    const why = "it has no contexts, which say what cluster and what user belong together";
    return [why, `Run ${kubectl} set-context NAME --cluster=${cluster} --user=${user}, then config use-context NAME.`];
  }
  if (given !== "")
    return [
      `context ${JSON.stringify(given)} is not among its contexts (${names})`,
      "Give --context one of those that the message lists.",
    ];
  const why =
    config.current === ""
      ? `it has no current-context, and its contexts are ${names}`
      : `its current-context ${JSON.stringify(config.current)} is not among its contexts (${names})`;
  return [why, `Run ${kubectl} use-context NAME, or name one with --context where the command has it.`];
}

/** Pairs of fields of a user of which only one may be given. */
const EITHER = [
  ["client-certificate", "client-certificate-data"],
  ["client-key", "client-key-data"],
  ["token", "username"],
  ["tokenFile", "username"],
] as const;

/** What clientcmd refuses, too, and what only its built-in providers could do. */
function contradictionIn(cluster: KubeconfigCluster, user: KubeconfigUser): string | undefined {
  const [ca, caData] = [cluster["certificate-authority"], cluster["certificate-authority-data"]];
  if (ca && caData) return "its cluster has certificate-authority and certificate-authority-data; remove one of them";
  if (cluster["insecure-skip-tls-verify"] && (ca || caData))
    return "its cluster names a certificate authority and skips verification with insecure-skip-tls-verify";
  const both = EITHER.find(([one, other]) => user[one] && user[other]);
  if (both !== undefined) return `its user has ${both[0]} and ${both[1]}; remove one of them`;
  const certificate = user["client-certificate"] || user["client-certificate-data"];
  if (certificate && !user["client-key"] && !user["client-key-data"])
    return "its user has a client certificate without a client key; add client-key or client-key-data";
  const provider = user.exec === undefined ? user["auth-provider"]?.name : undefined;
  return (
    provider &&
    `auth-provider ${JSON.stringify(provider)} is not supported, use a token, a certificate or an exec plugin`
  );
}

/** A file whose status cannot be read is reported when it is read. */
function exists(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}
