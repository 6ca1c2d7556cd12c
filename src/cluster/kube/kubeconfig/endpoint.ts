/** Access to the cluster of a kubeconfig's context. Loaded only when there is a kubeconfig. */
import { FollowedFiles } from "../../../tunnel/pki/followed-files.js";
import { configError, type KubeEndpoint, readAccessFile, readTokenFile } from "../endpoint.js";
import { type KubeconfigUser, loadSelection, type Selection } from "./document.js";
import { execCredentials } from "./exec.js";

/**
 * `paths` is one file or, as in KUBECONFIG, several separated by colons; an empty `context` means the current one.
 * The files are read again when they change; while the new ones cannot be used, the last good ones count.
 */
export async function kubeconfigEndpoint(paths: string, context = ""): Promise<KubeEndpoint> {
  const files = paths.split(":").filter((file) => file !== "");
  if (files.length === 0) throw configError("The path of the kubeconfig is empty.");
  const read = () => loadSelection(files, context);
  // Checked at each use instead of from time to time.
  const selection = new FollowedFiles<Selection>(files, read, { every: () => () => {} });
  let access = credentialsOf(selection.current);
  return {
    get server() {
      return selection.current.cluster.server;
    },
    credentials(areRefused) {
      if (selection.check()) access = credentialsOf(selection.current);
      return access(areRefused);
    },
  };
}

function credentialsOf({ cluster, user }: Selection): KubeEndpoint["credentials"] {
  const exec = user.exec && execCredentials(user.exec, cluster);
  return async (areRefused) => {
    const ca = inline(cluster["certificate-authority-data"], cluster["certificate-authority"], "CA bundle");
    const cert = inline(user["client-certificate-data"], user["client-certificate"], "client certificate");
    const key = inline(user["client-key-data"], user["client-key"], "client key");
    const fromExec = await exec?.(areRefused);
    const authorization = staticAuthorization(user) ?? fromExec?.authorization;
    const tls = {
      ...{ ca, cert, key, ...fromExec?.tls },
      servername: cluster["tls-server-name"] || undefined,
      rejectUnauthorized: cluster["insecure-skip-tls-verify"] ? false : undefined,
    };
    const proxy = cluster["proxy-url"] || undefined;
    return { headers: { ...(authorization && { authorization }), ...impersonation(user) }, tls, proxy };
  };
}

function inline(data: string | undefined, file: string | undefined, what: string): string | undefined {
  return data ? Buffer.from(data, "base64").toString() : file ? readAccessFile(what, file) : undefined;
}

/** A token file takes precedence over a token in the kubeconfig, as in client-go. */
function staticAuthorization({ password, token, tokenFile, username }: KubeconfigUser): string | undefined {
  if (tokenFile) return `Bearer ${readTokenFile(tokenFile)}`;
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
