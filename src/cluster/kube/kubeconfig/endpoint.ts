/** Access to the cluster of a kubeconfig's context. Loaded only when there is a kubeconfig. */
import { at } from "../../../base/at.js";
import { messageOf } from "../../../base/errors/error.js";
import { type CertificatePart, type CertificateSet, certificateSetOf } from "../../../tunnel/pki/certificate-set.js";
import { FollowedFiles } from "../../../tunnel/pki/followed-files.js";
import { configError, type KubeEndpoint, readAccessBytes, readTokenFile } from "../endpoint.js";
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
  // A process that needs the cluster only later says at its start what will not work then.
  certificatesOf(selection.current);
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

/** Of a kubeconfig that is not in a file. Throws DB_KUBECONFIG when its certificates cannot be used. */
export function selectionEndpoint(selection: Selection): KubeEndpoint {
  certificatesOf(selection);
  return { server: selection.cluster.server, credentials: credentialsOf(selection) };
}

function credentialsOf(selection: Selection): KubeEndpoint["credentials"] {
  const { cluster, places, user } = selection;
  const exec = user.exec && execCredentials(user.exec, cluster);
  let good: CertificateSet | undefined;
  const certificates = (): CertificateSet => {
    try {
      good = certificatesOf(selection);
    } catch (reason) {
      // One of two files may have been replaced a moment ago.
      if (good === undefined) throw reason;
    }
    return good;
  };
  return async (areRefused) => {
    const own = certificates();
    const fromExec = await exec?.(areRefused);
    const authorization = staticAuthorization(user, places.user) ?? fromExec?.authorization;
    const tls = {
      ...{ ...own, ...fromExec?.tls },
      servername: cluster["tls-server-name"] || undefined,
      rejectUnauthorized: cluster["insecure-skip-tls-verify"] ? false : undefined,
    };
    const proxy = cluster["proxy-url"] || undefined;
    return { headers: { ...(authorization && { authorization }), ...impersonation(user) }, tls, proxy };
  };
}

/** Read again each time. Throws DB_KUBECONFIG with the field at fault, before anybody is asked. */
function certificatesOf({ cluster, places, user }: Selection): CertificateSet {
  const part = (fields: object, name: string, place: string, what: string): CertificatePart | undefined => {
    const [data, file] = [at(fields, `${name}-data`), at(fields, name)];
    if (typeof data === "string" && data !== "") {
      const where = `${name}-data of ${place}`;
      if (OMITTED.test(data)) throw omitted(where);
      if (!BASE64.test(data)) throw configError(`${where} is not base64: write there what base64 -w0 FILE prints.`);
      return { place: where, bytes: Buffer.from(data, "base64") };
    }
    if (typeof file !== "string" || file === "") return undefined;
    return { place: `${name} ${file} of ${place}`, bytes: readAccessBytes(what, file) };
  };
  const ca = part(cluster, "certificate-authority", places.cluster, "CA bundle");
  const cert = part(user, "client-certificate", places.user, "client certificate");
  const key = part(user, "client-key", places.user, "client key");
  try {
    return certificateSetOf({ ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) });
  } catch (reason) {
    throw configError(messageOf(reason), reason);
  }
}

/** What `kubectl config view` shows in place of secrets and certificates. */
const OMITTED = /^(DATA\+OMITTED|REDACTED)$/;

const BASE64 = /^[A-Za-z0-9+/\s]+={0,2}\s*$/;

const omitted = (where: string) =>
  configError(
    `${where} holds nothing but what kubectl config view shows in its place; kubectl config view --raw writes the file with it.`,
  );

/** A token file takes precedence over a token in the kubeconfig, as in client-go. */
function staticAuthorization(user: KubeconfigUser, place: string): string | undefined {
  const { password, token, tokenFile, username } = user;
  if (tokenFile) return `Bearer ${readTokenFile(tokenFile)}`;
  if (token && OMITTED.test(token)) throw omitted(`token of ${place}`);
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
