import { dirname, resolve } from "node:path";
// Not the package's entry: KubeConfig pulls in every generated API class, some 70 MiB; these parsers pull in nothing.
import {
  type Cluster,
  newClusters,
  newContexts,
  newUsers,
  type User,
} from "@kubernetes/client-node/dist/config_types.js";
import { parse } from "yaml";
import { messageOf } from "../errors/error.js";
import { configError, readConfigFile, readTokenFile } from "./config-file.js";
import type { KubeCredentials, KubeEndpoint, KubeTls } from "./endpoint.js";
import { execCredentials } from "./exec-credentials.js";

interface Document {
  readonly "current-context"?: unknown;
  readonly clusters?: unknown;
  readonly contexts?: unknown;
  readonly users?: { readonly name?: string; readonly user?: { readonly tokenFile?: string } }[];
}

/** The current context of a kubeconfig. This file is loaded only when there is one. */
export async function kubeconfigEndpoint(file: string): Promise<KubeEndpoint> {
  const document = parseDocument(file, await readConfigFile("kubeconfig", file));
  try {
    const current = document["current-context"];
    const context = newContexts(document.contexts).find(({ name }) => name === current);
    if (context === undefined) throw new Error(`its current-context ${quote(current)} is not among its contexts`);
    const cluster = newClusters(document.clusters).find(({ name }) => name === context.cluster);
    if (cluster === undefined) throw new Error(`its cluster ${quote(context.cluster)} is not among its clusters`);
    const user = newUsers(document.users).find(({ name }) => name === context.user);
    if (user === undefined) throw new Error(`its user ${quote(context.user)} is not among its users`);
    refuseUnsupported(cluster, user);
    // The package's parser does not know this field.
    const tokenFile = document.users?.find(({ name }) => name === user.name)?.user?.tokenFile;
    return { server: cluster.server, credentials: credentialReader(dirname(file), cluster, user, tokenFile) };
  } catch (reason) {
    throw configError(`The kubeconfig ${file} cannot be used: ${messageOf(reason)}.`, reason);
  }
}

function parseDocument(file: string, text: string): Document {
  try {
    const document: unknown = parse(text);
    if (typeof document !== "object" || document === null) throw new Error("it is not a mapping");
    return document;
  } catch (reason) {
    // The parser's message quotes the line at fault, which may hold a token: only its first line is safe.
    throw configError(`The kubeconfig ${file} is not valid YAML: ${messageOf(reason).split("\n")[0]}`);
  }
}

function refuseUnsupported(cluster: Cluster, user: User): void {
  if (cluster.proxyUrl !== undefined) throw new Error(`proxy-url of cluster ${quote(cluster.name)} is not supported`);
  const provider: unknown = user.authProvider?.name;
  if (provider !== undefined && user.exec == null) {
    throw new Error(`auth-provider ${quote(provider)} is not supported, use a token, a certificate or an exec plugin`);
  }
}

function credentialReader(
  directory: string,
  cluster: Cluster,
  user: User,
  tokenFile: string | undefined,
): () => Promise<KubeCredentials> {
  const exec = user.exec == null ? undefined : execCredentials(user);
  const inline = (data: string | null | undefined, file: string | null | undefined, what: string) =>
    data ? Buffer.from(data, "base64").toString() : file ? readConfigFile(what, resolve(directory, file)) : undefined;
  return async () => {
    const [ca, cert, key] = await Promise.all([
      inline(cluster.caData, cluster.caFile, "CA bundle"),
      inline(user.certData, user.certFile, "client certificate"),
      inline(user.keyData, user.keyFile, "client key"),
    ]);
    const fromExec = await exec?.();
    const authorization =
      fromExec?.authorization ?? (await staticAuthorization(user, tokenFile && resolve(directory, tokenFile)));
    const tls: KubeTls = {
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
      ...fromExec?.tls,
      ...(cluster.tlsServerName === undefined ? {} : { servername: cluster.tlsServerName }),
      ...(cluster.skipTLSVerify ? { rejectUnauthorized: false } : {}),
    };
    return {
      headers: {
        ...(authorization === undefined ? {} : { authorization }),
        ...(user.impersonateUser ? { "impersonate-user": user.impersonateUser } : {}),
      },
      tls,
    };
  };
}

async function staticAuthorization(user: User, tokenFile: string | undefined): Promise<string | undefined> {
  // As kubectl has it: a token file wins over a token written into the config.
  if (tokenFile) return `Bearer ${await readTokenFile(tokenFile)}`;
  if (user.token) return `Bearer ${user.token.trim()}`;
  if (user.username) return `Basic ${Buffer.from(`${user.username}:${user.password ?? ""}`).toString("base64")}`;
  return undefined;
}

function quote(name: unknown): string {
  return JSON.stringify(name ?? "");
}
