/** The egress configuration of a kube-apiserver: how it reaches the proxy-server. */
import { readFile } from "node:fs/promises";
import { at, listOf } from "../../../base/at.js";
import { messageOf } from "../../../base/errors/error.js";
import type { ProxyProtocol } from "../model/model.js";
import { yamlOf } from "./programs.js";

export interface ClusterEgress {
  readonly protocol: ProxyProtocol;
  /** Under the kube-apiserver's own name for it. */
  readonly uds: string | undefined;
  readonly tcp:
    | { readonly url: string; readonly caFile: string; readonly certFile: string; readonly keyFile: string }
    | undefined;
}

export type EgressReading =
  | { readonly state: "absent"; readonly path: string }
  | { readonly state: "unusable"; readonly path: string; readonly why: string }
  | { readonly state: "read"; readonly path: string; readonly cluster: ClusterEgress };

export async function readEgress(path: string): Promise<EgressReading> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (reason) {
    const absent = (reason as NodeJS.ErrnoException).code === "ENOENT";
    return absent ? { state: "absent", path } : { state: "unusable", path, why: messageOf(reason) };
  }
  return egressReading(path, yamlOf(text));
}

export function egressReading(path: string, document: unknown): EgressReading {
  const found = clusterEgress(document);
  return typeof found === "string" ? { state: "unusable", path, why: found } : { state: "read", path, cluster: found };
}

/** As strict as a kube-apiserver, which refuses to start with most of these. A sentence when it is not good. */
function clusterEgress(document: unknown): ClusterEgress | string {
  if (at(document, "kind") !== "EgressSelectorConfiguration") return "it is no EgressSelectorConfiguration";
  const version = at(document, "apiVersion");
  if (version !== "apiserver.k8s.io/v1beta1" && version !== "apiserver.k8s.io/v1alpha1")
    return `its apiVersion is ${version}, not apiserver.k8s.io/v1beta1`;
  const selections = listOf(at(document, "egressSelections"));
  const named = selections.filter((selection) => String(at(selection, "name")).toLowerCase() === "cluster");
  const [cluster] = named;
  if (named.length !== 1) return `it has ${named.length} selections named cluster, not one`;
  const protocol = at(cluster, "connection", "proxyProtocol");
  if (protocol !== "GRPC" && protocol !== "HTTPConnect")
    return `its selection cluster has the proxyProtocol ${protocol}, not GRPC or HTTPConnect`;
  const transport = at(cluster, "connection", "transport");
  const uds = at(transport, "uds", "udsName");
  const url = at(transport, "tcp", "url");
  if ((uds === undefined) === (url === undefined)) return "its selection cluster needs one transport, uds or tcp";
  if (protocol === "GRPC" && uds === undefined) return "GRPC works over uds only";
  if (uds !== undefined) return { protocol, uds: String(uds), tcp: undefined };
  if (!URL.canParse(String(url))) return `its tcp url ${url} is none`;
  const file = (name: string): string => String(at(transport, "tcp", "tlsConfig", name) ?? "");
  const [caFile, certFile, keyFile] = [file("caBundle"), file("clientCert"), file("clientKey")];
  return { protocol, uds: undefined, tcp: { url: String(url), caFile, certFile, keyFile } };
}
