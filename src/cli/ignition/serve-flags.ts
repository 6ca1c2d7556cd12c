/** Flags of `drawbridge ignition serve`. Those that HyperShift's server has, too, are called and set as there. */

import { splitHostPort } from "../../base/address.js";
import { DrawbridgeError, messageOf } from "../../base/errors/error.js";
import type { Endpoint } from "../../base/http.js";
import { SERVING_CERTIFICATE_SECRET } from "../../cluster/nodes/objects.js";
import type { FlagSet } from "../flags/flag-set.js";
import { string } from "../flags/flag-value.js";
import type { Environment } from "../framework/invocation.js";
import { addAdminFlags, checkAdminFlags } from "../tunnel/admin-flags.js";

const SERVING_CERTIFICATE = "/var/run/secrets/ignition/serving-cert";

// The return type is inferred: one entry a flag.
export function declareServeFlags(set: FlagSet, env: Environment) {
  const text = (name: string, usage: string, otherwise = "") => set.add(name, string, otherwise, usage);
  return {
    addr: text("addr", "Where machines fetch their payloads, over HTTPS.", "0.0.0.0:9090"),
    certFile: text(
      "cert-file",
      "Serving certificate; a new one is taken up by itself.",
      `${SERVING_CERTIFICATE}/tls.crt`,
    ),
    keyFile: text("key-file", "Its key.", `${SERVING_CERTIFICATE}/tls.key`),
    certSecret: text(
      "cert-secret",
      `Secret of the namespace with certificate and key, instead of files; ${SERVING_CERTIFICATE_SECRET} is the one of nodepool controller --issue-certificate.`,
    ),
    metricsAddr: text("metrics-addr", "Where /metrics is, over HTTP.", "0.0.0.0:8080"),
    adminAddr: text("admin-addr", "Where the admin API and the live page are, 127.0.0.1:8095 say. If empty, nowhere."),
    ...addAdminFlags(set),
    kubeconfig: text("kubeconfig", "Access to the cluster. If empty, KUBECONFIG, then the pod's service account."),
    namespace: text(
      "namespace",
      "Where the token Secrets are. Required; MY_NAMESPACE sets it, too.",
      env.MY_NAMESPACE ?? "",
    ),
    directory: text("directory", "Directory of YAML objects to use instead of a cluster."),
    payload: text("payload", "File that says how payloads are made. Required."),
    workerTokens: text("worker-tokens", "File with tokens of single workers, beside the Secrets that hold such."),
    auditLog: text("audit-log", "File to which every fetch is appended as a line of JSON. If empty, they are logged."),
    claimsFile: text("claims-file", "File of an inventory directory, for csr approver --require-claim."),
    claimsConfigMap: text(
      "claims-configmap",
      "The same as a ConfigMap, namespace/name, of an inventory in the cluster.",
    ),
    claimsKubeconfig: text("claims-kubeconfig", "Access to the cluster of that ConfigMap. If empty, --kubeconfig."),
  };
}

export type ServeFlags = ReturnType<typeof declareServeFlags>;

export interface ServeAddresses {
  readonly listen: Endpoint;
  readonly metrics: Endpoint;
  readonly admin: Endpoint | undefined;
  readonly claimsConfigMap: { readonly namespace: string; readonly name: string } | undefined;
}

/** Throws what runRole takes for misuse. */
export function checkServeFlags(flags: ServeFlags, [word]: readonly string[]): ServeAddresses {
  if (word !== undefined) throw refused(`"${word}" belongs to no flag`);
  for (const flag of [flags.namespace, flags.payload]) {
    if (flag.value === "") throw refused(`--${flag.name} must not be empty`);
  }
  if (flags.directory.value !== "" && flags.kubeconfig.value !== "") {
    throw refused("--directory and --kubeconfig exclude each other: objects are in one place");
  }
  if (flags.certSecret.value !== "" && (flags.certFile.changed || flags.keyFile.changed)) {
    throw refused("--cert-secret excludes --cert-file and --key-file: the certificate is in one place");
  }
  try {
    checkAdminFlags(flags);
  } catch (reason) {
    throw refused(messageOf(reason));
  }
  const { claimsConfigMap } = flags;
  const [, namespace = "", name = ""] = /^([^/\s]+)\/([^/\s]+)$/.exec(claimsConfigMap.value) ?? [];
  if (claimsConfigMap.value !== "" && name === "") throw refused("--claims-configmap must be namespace/name");
  return {
    listen: endpoint(flags.addr),
    metrics: endpoint(flags.metricsAddr),
    admin: flags.adminAddr.value === "" ? undefined : endpoint(flags.adminAddr),
    claimsConfigMap: name === "" ? undefined : { namespace, name },
  };
}

function endpoint({ name, value }: { readonly name: string; readonly value: string }): Endpoint {
  const split = splitHostPort(value);
  if ("error" in split) throw refused(`--${name} must be host:port: ${split.error}`);
  if (!/^\d{1,5}$/.test(split.port) || Number(split.port) > 65_535) {
    throw refused(`--${name} must end with a port from 0 to 65535, got ${value}`);
  }
  return { host: split.host, port: Number(split.port) };
}

function refused(sentence: string): DrawbridgeError {
  return new DrawbridgeError("DB_FLAG_VALUE", sentence);
}
