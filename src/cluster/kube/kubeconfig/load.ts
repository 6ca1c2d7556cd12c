/** Several kubeconfig files as one, merged as kubectl merges the files of KUBECONFIG. */
import { stat } from "node:fs/promises";
import { configError, readConfigFile } from "../config-file.js";
import { type Cluster, type Context, type Kubeconfig, readKubeconfig, type User } from "./document.js";

/** What a client needs of a kubeconfig: one context with its cluster and user. */
export interface Selection {
  readonly cluster: Cluster & { readonly server: string };
  readonly namespace: string | undefined;
  readonly user: User;
}

/** Files of KUBECONFIG may be missing, as long as one is there. Throws DB_KUBECONFIG. */
export async function loadSelection(files: readonly string[], contextName: string): Promise<Selection> {
  const found: Kubeconfig[] = [];
  for (const file of files) {
    if (files.length > 1 && !(await exists(file))) continue;
    found.push(readKubeconfig(file, await readConfigFile("kubeconfig", file)));
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
  const context: Context | undefined = config.contexts.get(name);
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
const either: readonly (readonly [keyof User, keyof User])[] = [
  ["client-certificate", "client-certificate-data"],
  ["client-key", "client-key-data"],
  ["token", "username"],
  ["tokenFile", "username"],
];

/** What clientcmd refuses, too, and what only its built-in providers could do. */
function contradictionIn(cluster: Cluster, user: User): string | undefined {
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
