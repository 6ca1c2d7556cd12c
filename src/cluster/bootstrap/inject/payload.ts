/** The files that an injected bridge consists of. */
import { openshiftHost } from "../model/paths.js";
import { openshiftFiles } from "../render/openshift.js";
import certsScript from "../shell/certs.sh?raw";
import functionsScript from "../shell/functions.sh?raw";
import type { ClusterFacts } from "./cluster-facts.js";
import { type InjectOptions, modelFor, optionsLine } from "./options.js";

export interface PayloadFile {
  readonly path: string;
  readonly mode: number;
  readonly text: string;
}

/** Where the installer's own integration has its files too. */
export const payloadPaths: readonly string[] = [
  openshiftHost.functions,
  openshiftHost.certs,
  openshiftHost.egressConfig,
  openshiftHost.configOverride,
  openshiftHost.serverPod,
  openshiftHost.namespace,
  openshiftHost.agentCertsSecret,
  openshiftHost.agentServiceAccount,
  openshiftHost.agentRoleBinding,
  openshiftHost.agentDaemonSet,
];

/** As the installer gives them to scripts. */
const SCRIPT_MODE = 0o555;

export function payload(options: InjectOptions, facts: ClusterFacts): PayloadFile[] {
  const model = modelFor(options);
  const manifests = openshiftFiles(model).map(({ path, mode, text }) => {
    if (path === undefined || !payloadPaths.includes(path)) throw new Error(`the bridge has no place for ${path}`);
    return { path, mode, text };
  });
  return [
    { path: openshiftHost.functions, mode: SCRIPT_MODE, text: functions(options, facts, model.namespace) },
    { path: openshiftHost.certs, mode: SCRIPT_MODE, text: certsScript },
    ...manifests,
  ];
}

function functions(options: InjectOptions, facts: ClusterFacts, namespace: string): string {
  const settings = {
    KONNECTIVITY_BOOTSTRAP_IP: options.bootstrapIp ?? "",
    KONNECTIVITY_FAMILY: String(facts.family),
    KONNECTIVITY_MACHINE_NETWORKS: facts.machineNetworks.join(" "),
    KONNECTIVITY_PROBES: facts.probes.join(" "),
    KONNECTIVITY_SHARED_IPS: facts.sharedIps.join(" "),
    KONNECTIVITY_NAMESPACE: namespace,
  };
  return [
    "#!/usr/bin/env bash",
    "# Written by drawbridge bootstrap inject; its --remove takes everything out again.",
    optionsLine(options),
    ...Object.entries(settings).map(([name, value]) => `${name}='${value}'`),
    // The certificates' script is a process of its own.
    ...(options.validHours === undefined ? [] : [`export KONNECTIVITY_HOURS=${options.validHours}`]),
    "",
    functionsScript,
  ].join("\n");
}
