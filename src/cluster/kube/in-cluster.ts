import { isIPv6 } from "node:net";
import { join } from "node:path";
import { configError, readConfigFile, readTokenFile } from "./config-file.js";
import type { KubeEndpoint } from "./endpoint.js";

const SERVICE_ACCOUNT_DIR = "/var/run/secrets/kubernetes.io/serviceaccount";

/** What every pod is given: the API server's address in the environment, a token and a CA bundle as files. */
export function inClusterEndpoint(
  environment: NodeJS.ProcessEnv = process.env,
  directory = SERVICE_ACCOUNT_DIR,
): KubeEndpoint {
  const { KUBERNETES_SERVICE_HOST: host = "", KUBERNETES_SERVICE_PORT: port = "" } = environment;
  if (host === "" || port === "") {
    throw configError(
      "No kubeconfig is given and this process does not run in a pod (KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set).",
    );
  }
  return {
    server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
    async credentials() {
      const token = await readTokenFile(join(directory, "token"));
      const ca = await readConfigFile("CA bundle", join(directory, "ca.crt"));
      return { headers: { authorization: `Bearer ${token}` }, tls: { ca } };
    },
  };
}
