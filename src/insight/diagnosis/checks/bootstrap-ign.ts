/** `drawbridge bootstrap inject --check`: what can be known of a bridge from its bootstrap.ign alone. */
import { at, listOf } from "../../../base/at.js";
import { messageOf } from "../../../base/errors/error.js";
import { type Finding, failed, ok } from "../../../base/finding.js";
import { BOOTKUBE, hooks, OVERRIDE_FLAG, SOURCE_LINE } from "../../../cluster/bootstrap/inject/bootkube.js";
import { classify, type InjectionState } from "../../../cluster/bootstrap/inject/classify.js";
import {
  containerOf,
  type IgnitionConfig,
  type Manifest,
  manifestAt,
  textOf,
} from "../../../cluster/bootstrap/inject/ignition-config.js";
import { bashError, removeBridge } from "../../../cluster/bootstrap/inject/inject.js";
import { openshiftHost } from "../../../cluster/bootstrap/model/names.js";
import { egressReading } from "../../../cluster/bootstrap/settings/egress-config.js";
import { type CommandLine, commandLine, containerWords } from "../../../cluster/bootstrap/settings/programs.js";
import { type Check, defineCheck, type FactSource } from "../check.js";
import { runChecks } from "../run.js";
import { egressAgreement } from "./egress.js";

/** A bootstrap.ign, with the files of the bridge read. */
export interface BootstrapIgn {
  readonly config: IgnitionConfig;
  readonly state: InjectionState;
  readonly script: string;
  readonly functions: string;
  readonly egress: Manifest;
  readonly override: Manifest;
  readonly server: Manifest;
  readonly serverFlags: CommandLine["flags"];
  readonly daemonSet: Manifest;
  readonly agentFlags: CommandLine["flags"];
}

function sourceOf(config: IgnitionConfig, { state, script }: { state: InjectionState; script: string }): FactSource {
  const { serverPod, agentDaemonSet, egressConfig, configOverride, functions } = openshiftHost;
  const [server, daemonSet, egress] = [serverPod, agentDaemonSet, egressConfig].map((path) => manifestAt(config, path));
  const serverFlags = commandLine(serverPod, containerWords(server));
  const agentFlags = commandLine(agentDaemonSet, containerWords(at(daemonSet, "spec", "template")));
  return {
    bootstrapIgn: () => ({
      ...{ config, state, script, functions: textOf(config, functions) ?? "" },
      ...{ egress, override: manifestAt(config, configOverride), server, daemonSet },
      ...{ serverFlags: serverFlags.flags, agentFlags: agentFlags.flags },
    }),
    egress: () =>
      egress === undefined ? { state: "absent", path: egressConfig } : egressReading(egressConfig, egress),
    serverFlags: () => serverFlags,
  };
}

export interface IgnitionReport {
  readonly state: InjectionState;
  /** False for bootstrap in place, which needs no bridge: then there are no findings. */
  readonly applicable: boolean;
  readonly findings: readonly Finding[];
}

export async function checkBootstrapIgn(config: IgnitionConfig): Promise<IgnitionReport> {
  const classified = classify(config);
  const { state } = classified;
  if (state === "bootstrap-in-place") return { state, applicable: false, findings: [] };
  return { state, applicable: true, findings: await runChecks(checks, sourceOf(config, classified)) };
}

const KAS_SOCKET = "/etc/kubernetes/config/konnectivity-server.socket";
const KAS_EGRESS = "/etc/kubernetes/config/egress-selector-config.yaml";
const HOST_EGRESS = "/etc/kubernetes/bootstrap-configs/egress-selector-config.yaml";
const NAMESPACE = "openshift-bootstrap-konnectivity";
const PLACEHOLDER_IMAGE = "$" + "{KONNECTIVITY_IMAGE}";
const PLACEHOLDER_ADDRESS = "$" + "{BOOTSTRAP_NODE_IP}";

/** `objection` returns undefined when the statement is true. */
function statement(id: string, about: string, objection: (ign: BootstrapIgn) => string | undefined): Check {
  return defineCheck({
    ...{ id, about, needs: ["bootstrapIgn"] },
    judge({ bootstrapIgn }) {
      const found = objection(bootstrapIgn);
      return [
        found === undefined ? ok(about) : failed(found, "Put the bridge in again: drawbridge bootstrap inject FILE."),
      ];
    },
  });
}

const checks: readonly Check[] = [
  // The five checks of the plan, with the values that work.
  egressAgreement,
  statement("image", "both manifests get an image", images),
  statement("server-pod", "the server's static pod is there and put in place", serverPod),
  statement("agent-daemonset", "the agents' DaemonSet is there and put in place", daemonSet),
  statement("override-flag", "the kube-apiserver's render gets the override file, once", overrideFlag),
  // Everything else that has to fit together.
  statement("override-file", "the override names the file that the kube-apiserver will see", overrideFile),
  statement("egress-copy", "the egress configuration is copied to where the kube-apiserver sees it", egressCopy),
  statement("egress-selections", "only connections to the cluster take the tunnel", egressSelections),
  statement("socket", "the kube-apiserver looks for the socket where its pod mounts it", socket),
  statement("server-port", "the server has no TCP frontend, as a socket demands", serverPort),
  statement("agent-auth", "the server asks agents for certificates", agentAuth),
  statement("address", "agents dial the address that the certificate is made for", address),
  statement("namespace", "all of the agents' objects are in the namespace that is deleted", namespace),
  statement("hooks", "bootkube.sh calls every function once", calls),
  statement("modes", "the files have the right modes", modes),
  statement("original", "the bridge can be taken out again without a trace", original),
  statement("syntax", "bash accepts the scripts", syntax),
];

function egressSelections({ egress }: BootstrapIgn): string | undefined {
  for (const name of ["controlplane", "etcd"]) {
    const found = at(selection(egress, name), "connection", "proxyProtocol");
    if (found !== "Direct")
      return `the selection ${name} is ${found === undefined ? "missing" : `not Direct but ${found}`}`;
  }
  return undefined;
}

const selection = (egress: Manifest, name: string): unknown =>
  listOf(egress?.egressSelections).find((entry) => at(entry, "name") === name);

function socket({ egress }: BootstrapIgn): string | undefined {
  const path = at(selection(egress, "cluster"), "connection", "transport", "uds", "udsName");
  return path === KAS_SOCKET ? undefined : `the kube-apiserver would look for ${path}, not ${KAS_SOCKET}`;
}

function images({ server, daemonSet, functions }: BootstrapIgn): string | undefined {
  for (const [what, manifest] of [["server", server] as const, ["agent", daemonSet] as const]) {
    const image = at(containerOf(manifest), "image");
    if (typeof image !== "string" || image === "") return `the ${what}'s manifest names no image`;
    const open = image.includes("${");
    if (open && image !== PLACEHOLDER_IMAGE) return `the ${what}'s image is ${image}, which nothing fills in`;
    if (open && !functions.includes("image_for apiserver-network-proxy"))
      return `${openshiftHost.functions} does not ask the payload for apiserver-network-proxy`;
  }
  return undefined;
}

function serverPod({ server, functions }: BootstrapIgn): string | undefined {
  if (server?.kind !== "Pod") return `${openshiftHost.serverPod} is missing or no Pod`;
  if (at(server, "metadata", "name") !== "konnectivity-server") return "the pod is not called konnectivity-server";
  if (at(server, "spec", "hostNetwork") !== true) return "the pod is not on the host's network";
  if (!String(at(containerOf(server), "command", "0")).endsWith("/proxy-server")) return "it does not run proxy-server";
  return functions.includes("konnectivity-server-pod.yaml") ? undefined : "no function writes it to the static pods";
}

function daemonSet({ daemonSet, functions }: BootstrapIgn): string | undefined {
  if (daemonSet?.kind !== "DaemonSet") return `${openshiftHost.agentDaemonSet} is missing or no DaemonSet`;
  if (at(daemonSet, "metadata", "name") !== "konnectivity-agent") return "it is not called konnectivity-agent";
  if (!String(at(containerOf(daemonSet), "command", "0")).endsWith("/proxy-agent"))
    return "it does not run proxy-agent";
  return /konnectivity-(agent-daemonset|\$name)\b/.test(functions)
    ? undefined
    : "no function writes it to the manifests";
}

function overrideFlag({ script }: BootstrapIgn): string | undefined {
  const lines = script.split("\n").map((line) => line.trim());
  const found = lines.filter((line) => line.startsWith("--config-override-files=")).length;
  if (found !== 1) return `${found} arguments --config-override-files, 1 expected`;
  const flag = lines.findIndex((line) => line.startsWith(OVERRIDE_FLAG));
  if (flag === -1) return `the argument is not ${OVERRIDE_FLAG}`;
  let start = flag;
  while (lines[start - 1]?.endsWith("\\")) start -= 1;
  const command = lines.slice(start, flag).join(" ");
  return command.includes("cluster-kube-apiserver-operator render") ? undefined : "it is in another command";
}

function overrideFile({ override }: BootstrapIgn): string | undefined {
  const path = openshiftHost.configOverride;
  if (override?.kind !== "KubeAPIServerConfig") return `${path} is missing or no KubeAPIServerConfig`;
  if (override.apiVersion !== "kubecontrolplane.config.openshift.io/v1") return `${path} has another apiVersion`;
  const value = at(override, "apiServerArguments", "egress-selector-config-file");
  return Array.isArray(value) && value.join() === KAS_EGRESS ? undefined : `it does not set ${KAS_EGRESS} but ${value}`;
}

function egressCopy({ script }: BootstrapIgn): string | undefined {
  const copies = script.split("\n").filter((line) => line.trim() === `cp ${openshiftHost.egressConfig} ${HOST_EGRESS}`);
  return copies.length === 1 ? undefined : `${copies.length} lines copy it, 1 expected`;
}

function serverPort({ serverFlags }: BootstrapIgn): string | undefined {
  const port = serverFlags.get("server-port");
  return port === "0" ? undefined : `--server-port is ${port ?? "missing"}, 0 expected`;
}

function agentAuth({ serverFlags }: BootstrapIgn): string | undefined {
  return serverFlags.get("cluster-ca-cert") ? undefined : "--cluster-ca-cert is missing: anyone could be an agent";
}

function address({ agentFlags, functions }: BootstrapIgn): string | undefined {
  const host = agentFlags.get("proxy-server-host");
  if (host !== PLACEHOLDER_ADDRESS) return `agents would dial ${host ?? "nothing"}, not the address found on the host`;
  return functions.includes("BOOTSTRAP_NODE_IP") && functions.includes(openshiftHost.certs)
    ? undefined
    : `${openshiftHost.functions} does not make certificates for that address`;
}

function namespace({ config, functions }: BootstrapIgn): string | undefined {
  const named = at(manifestAt(config, openshiftHost.namespace), "metadata", "name");
  if (named !== NAMESPACE) return `the Namespace is ${named}`;
  for (const path of [openshiftHost.agentCertsSecret, openshiftHost.agentDaemonSet]) {
    const found = at(manifestAt(config, path), "metadata", "namespace");
    if (found !== NAMESPACE) return `${path} is in ${found}`;
  }
  return functions.includes(NAMESPACE) ? undefined : "no function deletes it";
}

function calls({ script }: BootstrapIgn): string | undefined {
  const lines = script.split("\n").map((line) => line.trim());
  for (const call of [SOURCE_LINE, ...Object.values(hooks)]) {
    const found = lines.filter((line) => line === call).length;
    if (found !== 1) return `\`${call}\` is there ${found} times`;
  }
  return undefined;
}

function modes({ config }: BootstrapIgn): string | undefined {
  for (const path of [BOOTKUBE, openshiftHost.functions, openshiftHost.certs]) {
    const mode = config.files.get(path)?.mode;
    if (mode === undefined || (mode & 0o111) === 0) return `${path} is missing or cannot be executed`;
  }
  const writable = [...config.files.values()].filter(
    ({ path, mode }) => path.includes("konnectivity") && mode! & 0o022,
  );
  return writable[0] === undefined ? undefined : `${writable[0].path} can be written by others than its owner`;
}

function original({ state, config }: BootstrapIgn): string | undefined {
  if (state !== "ours") return undefined;
  try {
    const { exact, warnings } = removeBridge(config);
    return exact ? undefined : warnings.join("; ");
  } catch (error) {
    return messageOf(error);
  }
}

function syntax({ config }: BootstrapIgn): string | undefined {
  for (const path of [BOOTKUBE, openshiftHost.functions, openshiftHost.certs]) {
    const objection = bashError(textOf(config, path) ?? "");
    if (objection) return `${path}: ${objection}`;
  }
  return undefined;
}
