/** The calls of collect.sh for a host, from the same model that put the files there. */
import { existsSync } from "node:fs";
import { DEFAULT_STATE_DIRECTORY } from "../host/record.js";
import { type BridgeModel, bridgeModel } from "../model/model.js";
import {
  AGENT_NAME,
  CLEANUP_UNIT,
  openshiftHost,
  ports,
  SERVER_NAME,
  SERVER_UNIT,
  topologies,
} from "../model/names.js";

/** A function of collect.sh and its arguments. */
export type Call = readonly [string, ...string[]];

export interface HostPlan {
  /** Further logs, by the name of their program. */
  readonly logs: readonly { readonly name: string; readonly file: string }[];
  /** Further directories with certificates. */
  readonly pki: readonly string[];
  /** Ports of a server that does not have the usual ones. */
  readonly healthPort?: number | undefined;
  readonly adminPort?: number | undefined;
  /** A bridge in directories of its own, as `up` recorded it. */
  readonly recorded?: { readonly directory: string; readonly model: BridgeModel } | undefined;
}

export const nothingFurther: HostPlan = { logs: [], pki: [] };

/** Beside the units named here the installer's own records show which one failed. */
const UNITS = [
  "bootkube.service",
  "kubelet.service",
  "crio.service",
  "release-image.service",
  SERVER_UNIT,
  CLEANUP_UNIT,
];
/** Certificates, and records that drawbridge writes beside them; never keys. */
const PUBLIC_FILES = ["*.crt", "pki.json"];

export function bootstrapCalls(plan: HostPlan = nothingFurther): Call[] {
  const { healthPort = ports.health, adminPort = ports.admin } = plan;
  return [
    ...plan.logs.map(({ name, file }): Call => ["file", file, `bootstrap/containers/${name}-given.log`]),
    ...plan.pki.flatMap((directory) => publicOf(directory, "bootstrap/pki")),
    ["files", "/var/log/openshift", "*.json", "bootstrap/services"],
    ...UNITS.map((unit): Call => ["journal", unit, "bootstrap"]),
    ["containers", "bootstrap", SERVER_NAME, "kube-apiserver"],
    ["users", "bootstrap/processes.txt", "kube-apiserver", "proxy-server"],
    ["put", "bootstrap/selinux.txt", "getenforce"],
    ...networkCalls("bootstrap"),
    ["answer", `http://127.0.0.1:${healthPort}/readyz`, "bootstrap/health/readyz.txt"],
    ["answer", `http://127.0.0.1:${healthPort}/healthz`, "bootstrap/health/healthz.txt"],
    ["metrics", `http://127.0.0.1:${adminPort}/metrics`, "bootstrap/metrics/server.txt"],
    ...openshiftCalls(),
    ...(plan.recorded ? [...placeCalls(plan.recorded.model), ...stateCalls(plan.recorded.directory)] : []),
    ...topologies.flatMap((topology) => placeCalls(bridgeModel({ for: topology }))),
    ...stateCalls(DEFAULT_STATE_DIRECTORY),
  ];
}

function stateCalls(directory: string): Call[] {
  return [
    ["file", `${directory}/server.log`, `bootstrap/containers/${SERVER_NAME}-process.log`],
    ["files", directory, "*.json", "bootstrap/state"],
  ];
}

export function nodeFolder(name: string): string {
  return `control-plane/${name}`;
}

/** Hosts where agents run. */
export function nodeCalls(name: string): Call[] {
  const folder = nodeFolder(name);
  return [["containers", folder, AGENT_NAME], ["journal", "kubelet.service", folder], ...networkCalls(folder)];
}

function networkCalls(folder: string): Call[] {
  return [
    ["put", `${folder}/network/ip-addr.txt`, "ip", "addr"],
    ["put", `${folder}/network/ip-route.txt`, "ip", "route", "show", "table", "all"],
    ["put", `${folder}/network/netstat.txt`, "ss", "-ltnp"],
    ["put", `${folder}/network/hostname.txt`, "hostname"],
    ["file", "/etc/resolv.conf", `${folder}/network/resolv.conf`],
    ["put", `${folder}/time.txt`, "date", "--utc", "+%Y-%m-%dT%H:%M:%SZ"],
    ["put", `${folder}/chrony.txt`, "chronyc", "tracking"],
  ];
}

const CONFIGS = "/etc/kubernetes/bootstrap-configs";

/** Where an OpenShift bootstrap host keeps what bootstrap.ign brought and what its scripts made of it. */
function openshiftCalls(): Call[] {
  const rendered = "rendered-assets/openshift";
  const {
    assets,
    manifests,
    stages,
    functions,
    certs,
    cleanupUnit,
    agentCertsSecret: _secret,
    ...texts
  } = openshiftHost;
  const { agentCertsSecret: _filled, ...objects } = manifests;
  return [
    ["file", functions, "bootstrap/scripts/konnectivity.sh"],
    ["file", certs, "bootstrap/scripts/konnectivity-certs.sh"],
    ["file", cleanupUnit, `bootstrap/units/${CLEANUP_UNIT}`],
    ...[...Object.values(texts), ...Object.values(objects)].map(
      (path): Call => ["file", path, `${rendered}${path.slice(assets.length)}`],
    ),
    ...stages.map((stage): Call => ["listing", `${assets}/${stage}.done`, `${rendered}/done.txt`]),
    ...publicOf(`${assets}/tls/konnectivity`, `${rendered}/tls/konnectivity`),
    ["file", `${CONFIGS}/kube-apiserver-config.yaml`, "bootstrap/kubernetes/kube-apiserver-config.yaml"],
  ];
}

function placeCalls({ for: topology, paths }: BridgeModel): Call[] {
  return [
    ["file", paths.staticPod, "bootstrap/kubernetes/konnectivity-server-pod.yaml"],
    ["file", "/etc/kubernetes/manifests/kube-apiserver.yaml", "bootstrap/kubernetes/kube-apiserver.yaml"],
    // OpenShift's has another name; its flags and mounts say whether it can use the tunnel.
    ["files", "/etc/kubernetes/manifests", "*kube-apiserver*.yaml", "bootstrap/kubernetes"],
    ["file", paths.unit, `bootstrap/units/${SERVER_UNIT}`],
    ["file", paths.egressConfig.host, `bootstrap/${topology}/egress-selector-config.yaml`],
    ["listing", paths.socketDirectory.host, `bootstrap/${topology}/socket-directory.txt`],
    ["access", paths.socket.host, `bootstrap/${topology}/socket-access.txt`],
    ...(topology === "openshift" ? [] : publicOf(paths.pki.host, "bootstrap/pki")),
  ];
}

function publicOf(directory: string, target: string): Call[] {
  return PUBLIC_FILES.map((pattern): Call => ["files", directory, pattern, target]);
}

/** Whether this is a host where a bridge is, was or should have been. */
export function isBridgeHost(): boolean {
  const places = topologies.flatMap((topology) => {
    const { paths } = bridgeModel({ for: topology });
    return [paths.socket.host, paths.staticPod, paths.unit, paths.egressConfig.host, paths.pki.host];
  });
  return [...places, openshiftHost.functions, "/usr/local/bin/bootkube.sh", DEFAULT_STATE_DIRECTORY].some(existsSync);
}
