import { stringify } from "yaml";
import { claimRules } from "../model/identifiers.js";
import type { HostedModel } from "../model/model.js";
import { mounts, names, ports } from "../model/names.js";
import { own, type RenderedObject } from "./manifest.js";

const yamlOf = (value: object): string => stringify(value, { aliasDuplicateObjects: false });
const direct = { proxyProtocol: "Direct" } as const;

/** Sends the kube-apiserver's calls into the hosted cluster to any of the servers, and nothing else. */
export function egressConfiguration() {
  const tlsConfig = {
    caBundle: `${mounts.apiServerCa}/ca.crt`,
    clientCert: `${mounts.apiServerClient}/tls.crt`,
    clientKey: `${mounts.apiServerClient}/tls.key`,
  };
  const tcp = { url: `https://${names.serverLocal}:${ports.frontend}`, tlsConfig };
  return {
    apiVersion: "apiserver.k8s.io/v1beta1",
    kind: "EgressSelectorConfiguration",
    egressSelections: [
      { name: "controlplane", connection: direct },
      { name: "etcd", connection: direct },
      { name: "cluster", connection: { proxyProtocol: "HTTPConnect", transport: { tcp } } },
    ],
  };
}

export function egressConfigMap(model: HostedModel): RenderedObject {
  const head = { apiVersion: "v1", kind: "ConfigMap", name: names.egress };
  return own(model, "control-plane", head, { data: { "config.yaml": yamlOf(egressConfiguration()) } });
}

export function claimsConfigMap(model: HostedModel): RenderedObject {
  const head = { apiVersion: "v1", kind: "ConfigMap", name: names.claims };
  return own(model, "control-plane", head, { data: { "claims.yaml": yamlOf(claimRules(model)) } });
}
