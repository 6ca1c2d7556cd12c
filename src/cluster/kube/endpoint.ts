/** Where an API server is and how a client identifies itself to it, from the files of a pod or of a kubeconfig. */
import { readFileSync } from "node:fs";
import { isIPv6 } from "node:net";
import { join } from "node:path";
import { DrawbridgeError } from "../../base/errors/error.js";
import { unreadBecause } from "../../base/errors/unread.js";

/** The address of an API server and the credentials for it. */
export interface KubeEndpoint {
  /** For example `https://10.0.0.1:6443`, perhaps with a path, never with a slash at its end. */
  readonly server: string;
  /** Read again each time: tokens and certificates are replaced on disk while we run. `areRefused`: the last ones are. */
  credentials(areRefused?: boolean): Promise<KubeCredentials>;
}

export interface KubeCredentials {
  readonly headers: Readonly<Record<string, string | string[]>>;
  /** The URL of the proxy in between. */
  readonly proxy?: string | undefined;
  readonly tls: KubeTls;
}

export interface KubeTls {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly servername?: string | undefined;
  readonly rejectUnauthorized?: boolean | undefined;
}

export function configError(sentence: string, cause?: unknown, remedy?: string): DrawbridgeError {
  return new DrawbridgeError("DB_KUBECONFIG", sentence, { cause, remedy });
}

/** `what` names the file's role, as in "the token file /x/token cannot be read: ...". */
export function readAccessFile(what: string, file: string): string {
  return readAccessBytes(what, file).toString();
}

export function readAccessBytes(what: string, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (reason) {
    throw configError(`The ${what} ${file} cannot be read: ${unreadBecause(reason)}`, reason);
  }
}

/** A token is sent in a header; the newline that editors and `echo` leave behind must not be. */
export function readTokenFile(file: string): string {
  const token = readAccessFile("token file", file).trim();
  if (token === "") throw configError(`The token file ${file} is empty.`);
  return token;
}

const SERVICE_ACCOUNT_DIR = "/var/run/secrets/kubernetes.io/serviceaccount";

/** What every pod is given: the API server's address in the environment, a token and a CA bundle as files. */
export function inClusterEndpoint(
  environment: NodeJS.ProcessEnv = process.env,
  directory = SERVICE_ACCOUNT_DIR,
): KubeEndpoint {
  const { KUBERNETES_SERVICE_HOST: host = "", KUBERNETES_SERVICE_PORT: port = "" } = environment;
  if (host === "" || port === "") {
    const message =
      "No kubeconfig is given and this process does not run in a pod (KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set).";
    throw configError(message, undefined, "Give the cluster's kubeconfig with --kubeconfig.");
  }
  return {
    server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
    async credentials() {
      const token = readTokenFile(join(directory, "token"));
      const ca = readAccessFile("CA bundle", join(directory, "ca.crt"));
      return { headers: { authorization: `Bearer ${token}` }, tls: { ca } };
    },
  };
}
