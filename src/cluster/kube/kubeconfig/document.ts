/** One kubeconfig file: its named entries, checked as clientcmd checks them, with paths resolved against its folder. */
import { dirname, resolve } from "node:path";
import { parse } from "yaml";
import { isRecord } from "../../../base/at.js";
import { messageOf } from "../../../base/errors/error.js";
import { configError } from "../config-file.js";

export interface Cluster {
  readonly server?: string;
  readonly "certificate-authority"?: string;
  readonly "certificate-authority-data"?: string;
  readonly "insecure-skip-tls-verify"?: boolean;
  readonly "proxy-url"?: string;
  readonly "tls-server-name"?: string;
  readonly extensions?: readonly { readonly name?: string; readonly extension?: unknown }[];
}

export interface User {
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

export interface Context {
  readonly cluster?: string;
  readonly namespace?: string;
  readonly user?: string;
}

export interface Kubeconfig {
  readonly clusters: ReadonlyMap<string, Cluster>;
  readonly contexts: ReadonlyMap<string, Context>;
  readonly currentContext: string;
  readonly users: ReadonlyMap<string, User>;
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
      clusters: entries<Cluster>(document, "clusters", "cluster", clusterStrings, (entry) =>
        local(entry, "certificate-authority"),
      ),
      contexts: entries<Context>(document, "contexts", "context", contextStrings, (entry) => entry),
      currentContext: current,
      users: entries<User>(document, "users", "user", userStrings, (entry) => ({
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
