/** Access to the cluster of a kubeconfig's context. Loaded only when there is a kubeconfig. */
import {
  configError,
  type KubeCredentials,
  type KubeEndpoint,
  type KubeTls,
  readAccessFile,
  readTokenFile,
} from "../endpoint.js";
import { fingerprint, type KubeconfigUser, loadSelection, type Selection } from "./document.js";
import { execCredentials } from "./exec.js";

/**
 * `paths` is one file or, as in KUBECONFIG, several separated by colons; an empty `context` means the current one.
 * The files are read again when they change; while the new ones cannot be used, the last good ones count.
 */
export async function kubeconfigEndpoint(paths: string, context = ""): Promise<KubeEndpoint> {
  const files = paths.split(":").filter((file) => file !== "");
  if (files.length === 0) throw configError("The path of the kubeconfig is empty.");
  let mark = await fingerprint(files);
  let access = accessTo(await loadSelection(files, context));
  const refresh = async (): Promise<void> => {
    const now = await fingerprint(files);
    if (now === mark) return;
    const selection = await loadSelection(files, context).catch(() => undefined);
    if (selection === undefined) return;
    mark = now;
    access = accessTo(selection);
  };
  return {
    get server() {
      return access.server;
    },
    async credentials() {
      await refresh();
      return access.credentials();
    },
    refused: () => access.refused(),
  };
}

interface Access {
  readonly server: string;
  credentials(): Promise<KubeCredentials>;
  refused(): void;
}

function accessTo({ cluster, user }: Selection): Access {
  const exec = user.exec === undefined ? undefined : execCredentials(user.exec, cluster);
  return {
    server: cluster.server,
    refused: () => exec?.forget(),
    async credentials() {
      const [ca, cert, key, fromExec] = await Promise.all([
        inline(cluster["certificate-authority-data"], cluster["certificate-authority"], "CA bundle"),
        inline(user["client-certificate-data"], user["client-certificate"], "client certificate"),
        inline(user["client-key-data"], user["client-key"], "client key"),
        exec?.current(),
      ]);
      const authorization = (await staticAuthorization(user)) ?? fromExec?.authorization;
      const tls: KubeTls = {
        ...(ca === undefined ? {} : { ca }),
        ...(cert === undefined ? {} : { cert }),
        ...(key === undefined ? {} : { key }),
        ...fromExec?.tls,
        ...(cluster["tls-server-name"] ? { servername: cluster["tls-server-name"] } : {}),
        ...(cluster["insecure-skip-tls-verify"] ? { rejectUnauthorized: false } : {}),
      };
      const proxy = cluster["proxy-url"];
      return {
        headers: { ...(authorization === undefined ? {} : { authorization }), ...impersonation(user) },
        tls,
        ...(proxy ? { proxy } : {}),
      };
    },
  };
}

async function inline(data: string | undefined, file: string | undefined, what: string): Promise<string | undefined> {
  return data ? Buffer.from(data, "base64").toString() : file ? readAccessFile(what, file) : undefined;
}

/** A token file takes precedence over a token in the kubeconfig, as in client-go. */
async function staticAuthorization({
  password,
  token,
  tokenFile,
  username,
}: KubeconfigUser): Promise<string | undefined> {
  if (tokenFile) return `Bearer ${await readTokenFile(tokenFile)}`;
  if (token) return `Bearer ${token.trim()}`;
  if (username) return `Basic ${Buffer.from(`${username}:${password ?? ""}`).toString("base64")}`;
  return undefined;
}

function impersonation(user: KubeconfigUser): Record<string, string | string[]> {
  const extra = Object.entries(user["as-user-extra"] ?? {}).map(([key, values]) => [
    `impersonate-extra-${encodeURIComponent(key).toLowerCase()}`,
    [...values],
  ]);
  return {
    ...(user.as ? { "impersonate-user": user.as } : {}),
    ...(user["as-uid"] ? { "impersonate-uid": user["as-uid"] } : {}),
    ...(user["as-groups"]?.length ? { "impersonate-group": [...user["as-groups"]] } : {}),
    ...Object.fromEntries(extra),
  };
}
