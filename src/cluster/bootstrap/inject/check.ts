/** What can be known of a bridge from its bootstrap.ign alone, one answer for each question. */

import { at } from "../../../base/at.js";
import { messageOf } from "../../../base/errors/error.js";
import { openshiftHost } from "../model/names.js";
import { BOOTKUBE, hooks, OVERRIDE_FLAG, SOURCE_LINE } from "./bootkube.js";
import { classify, type InjectionState } from "./classify.js";
import { type IgnitionConfig, textOf } from "./ignition-config.js";
import { bashError, removeBridge } from "./inject.js";
import { type Argued, argumentsOf, containerOf, type Manifest, manifestAt } from "./manifest-reading.js";

export interface CheckResult {
  readonly id: string;
  readonly question: string;
  readonly ok: boolean;
  /** What was found. */
  readonly reason: string;
}

export interface CheckReport {
  readonly state: InjectionState;
  /** False for bootstrap in place, which needs no bridge: then there are no results. */
  readonly applicable: boolean;
  readonly results: readonly CheckResult[];
}

interface Subject {
  readonly config: IgnitionConfig;
  readonly state: InjectionState;
  readonly script: string;
  readonly functions: string;
  readonly egress: Manifest;
  readonly override: Manifest;
  readonly server: Manifest;
  readonly serverArguments: Argued;
  readonly daemonSet: Manifest;
  readonly agentArguments: Argued;
}

export function check(config: IgnitionConfig): CheckReport {
  const { state, script } = classify(config);
  if (state === "bootstrap-in-place") return { state, applicable: false, results: [] };
  const server = manifestAt(config, openshiftHost.serverPod);
  const daemonSet = manifestAt(config, openshiftHost.agentDaemonSet);
  const subject: Subject = {
    config,
    state,
    script,
    functions: textOf(config, openshiftHost.functions) ?? "",
    egress: manifestAt(config, openshiftHost.egressConfig),
    override: manifestAt(config, openshiftHost.configOverride),
    server,
    serverArguments: argumentsOf(server),
    daemonSet,
    agentArguments: argumentsOf(daemonSet),
  };
  const results = questions.map(({ id, question, answer }) => {
    const objection = answer(subject);
    return { id, question, ok: objection === undefined, reason: objection ?? "as it should be" };
  });
  return { state, applicable: true, results };
}

const KAS_SOCKET = "/etc/kubernetes/config/konnectivity-server.socket";
const HOST_SOCKET = "/etc/kubernetes/bootstrap-configs/konnectivity-server.socket";
const KAS_EGRESS = "/etc/kubernetes/config/egress-selector-config.yaml";
const HOST_EGRESS = "/etc/kubernetes/bootstrap-configs/egress-selector-config.yaml";
const NAMESPACE = "openshift-bootstrap-konnectivity";
const PLACEHOLDER_IMAGE = "$" + "{KONNECTIVITY_IMAGE}";
const PLACEHOLDER_ADDRESS = "$" + "{BOOTSTRAP_NODE_IP}";

interface Question {
  readonly id: string;
  readonly question: string;
  /** Undefined when all is well. */
  readonly answer: (subject: Subject) => string | undefined;
}

const questions: readonly Question[] = [
  // The plan's five checks, with the values that work.
  { id: "egress-config", question: "Is the egress selector configuration there?", answer: egressConfig },
  { id: "image", question: "Do both manifests get an image?", answer: images },
  { id: "server-pod", question: "Is the server's static pod there and put in place?", answer: serverPod },
  { id: "agent-daemonset", question: "Is the agents' DaemonSet there and put in place?", answer: daemonSet },
  {
    id: "override-flag",
    question: "Does the kube-apiserver's render get the override file, once?",
    answer: overrideFlag,
  },
  // What else has to fit together.
  {
    id: "override-file",
    question: "Does the override name the file that the kube-apiserver will see?",
    answer: overrideFile,
  },
  {
    id: "egress-copy",
    question: "Is the egress configuration copied to where the kube-apiserver sees it?",
    answer: egressCopy,
  },
  { id: "socket", question: "Do server and kube-apiserver mean the same socket?", answer: sockets },
  { id: "server-port", question: "Is the server's TCP door closed, as a socket demands?", answer: serverPort },
  { id: "protocol", question: "Do server and kube-apiserver speak the same protocol?", answer: protocol },
  { id: "agent-auth", question: "Does the server ask agents for certificates?", answer: agentAuth },
  { id: "address", question: "Do agents dial the address that the certificate is made for?", answer: address },
  { id: "namespace", question: "Are all of the agents' objects in the namespace that is deleted?", answer: namespace },
  { id: "hooks", question: "Does bootkube.sh call every function once?", answer: calls },
  { id: "modes", question: "Do the files have the right modes?", answer: modes },
  { id: "original", question: "Can the bridge be taken out again without a trace?", answer: original },
  { id: "syntax", question: "Does bash accept the scripts?", answer: syntax },
];

function egressConfig({ egress }: Subject): string | undefined {
  const path = openshiftHost.egressConfig;
  if (egress === undefined) return `${path} is missing or no YAML`;
  if (egress.kind !== "EgressSelectorConfiguration") return `${path} is of kind ${egress.kind}`;
  if (egress.apiVersion !== "apiserver.k8s.io/v1beta1") return `${path} is of version ${egress.apiVersion}`;
  for (const name of ["controlplane", "etcd"]) {
    const found = at(selection(egress, name), "connection", "proxyProtocol");
    if (found !== "Direct")
      return `the selection ${name} is ${found === undefined ? "missing" : `not Direct but ${found}`}`;
  }
  return selection(egress, "cluster") === undefined ? "the selection cluster is missing" : undefined;
}

function selection(egress: Manifest, name: string): unknown {
  const list = egress?.egressSelections;
  return Array.isArray(list) ? list.find((entry) => at(entry, "name") === name) : undefined;
}

function images({ server, daemonSet, functions }: Subject): string | undefined {
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

function serverPod({ server, functions }: Subject): string | undefined {
  if (server?.kind !== "Pod") return `${openshiftHost.serverPod} is missing or no Pod`;
  if (at(server, "metadata", "name") !== "konnectivity-server") return "the pod is not called konnectivity-server";
  if (at(server, "spec", "hostNetwork") !== true) return "the pod is not on the host's network";
  if (!String(at(containerOf(server), "command", "0")).endsWith("/proxy-server")) return "it does not run proxy-server";
  return functions.includes("konnectivity-server-pod.yaml") ? undefined : "no function writes it to the static pods";
}

function daemonSet({ daemonSet, functions }: Subject): string | undefined {
  if (daemonSet?.kind !== "DaemonSet") return `${openshiftHost.agentDaemonSet} is missing or no DaemonSet`;
  if (at(daemonSet, "metadata", "name") !== "konnectivity-agent") return "it is not called konnectivity-agent";
  if (!String(at(containerOf(daemonSet), "command", "0")).endsWith("/proxy-agent"))
    return "it does not run proxy-agent";
  return /konnectivity-(agent-daemonset|\$name)\b/.test(functions)
    ? undefined
    : "no function writes it to the manifests";
}

function overrideFlag({ script }: Subject): string | undefined {
  const lines = script.split("\n").map((line) => line.trim());
  const found = lines.filter((line) => line.startsWith("--config-override-files=")).length;
  if (found !== 1) return `${found} arguments --config-override-files, 1 expected`;
  const flag = lines.findIndex((line) => line.startsWith(OVERRIDE_FLAG));
  if (flag === -1) return `the argument is not ${OVERRIDE_FLAG}`;
  let start = flag;
  while (lines[start - 1]?.endsWith("\\")) start -= 1;
  const command = lines.slice(start, flag).join(" ");
  return command.includes("cluster-kube-apiserver-operator render") ? undefined : "it stands in another command";
}

function overrideFile({ override }: Subject): string | undefined {
  const path = openshiftHost.configOverride;
  if (override?.kind !== "KubeAPIServerConfig") return `${path} is missing or no KubeAPIServerConfig`;
  if (override.apiVersion !== "kubecontrolplane.config.openshift.io/v1") return `${path} has another apiVersion`;
  const value = at(override, "apiServerArguments", "egress-selector-config-file");
  return Array.isArray(value) && value.join() === KAS_EGRESS ? undefined : `it does not set ${KAS_EGRESS} but ${value}`;
}

function egressCopy({ script }: Subject): string | undefined {
  const copies = script.split("\n").filter((line) => line.trim() === `cp ${openshiftHost.egressConfig} ${HOST_EGRESS}`);
  return copies.length === 1 ? undefined : `${copies.length} lines copy it, 1 expected`;
}

function sockets({ egress, serverArguments }: Subject): string | undefined {
  const theirs = at(selection(egress, "cluster"), "connection", "transport", "uds", "udsName");
  const ours = serverArguments.get("--uds-name");
  if (theirs !== KAS_SOCKET) return `the kube-apiserver would look for ${theirs}, not ${KAS_SOCKET}`;
  return ours === HOST_SOCKET ? undefined : `the server would make ${ours}, not ${HOST_SOCKET}`;
}

function serverPort({ serverArguments }: Subject): string | undefined {
  const port = serverArguments.get("--server-port");
  return port === "0" ? undefined : `--server-port is ${port ?? "missing"}, 0 expected`;
}

const modeOf: Readonly<Record<string, string>> = { GRPC: "grpc", HTTPConnect: "http-connect" };

function protocol({ egress, serverArguments }: Subject): string | undefined {
  const theirs = String(at(selection(egress, "cluster"), "connection", "proxyProtocol"));
  const ours = serverArguments.get("--mode") ?? "grpc";
  return modeOf[theirs] === ours ? undefined : `the kube-apiserver speaks ${theirs}, the server ${ours}`;
}

function agentAuth({ serverArguments }: Subject): string | undefined {
  return serverArguments.get("--cluster-ca-cert")
    ? undefined
    : "--cluster-ca-cert is missing: anyone could be an agent";
}

function address({ agentArguments, functions }: Subject): string | undefined {
  const host = agentArguments.get("--proxy-server-host");
  if (host !== PLACEHOLDER_ADDRESS) return `agents would dial ${host ?? "nothing"}, not the address found on the host`;
  return functions.includes("BOOTSTRAP_NODE_IP") && functions.includes(openshiftHost.certs)
    ? undefined
    : `${openshiftHost.functions} does not make certificates for that address`;
}

function namespace({ config, functions }: Subject): string | undefined {
  const named = at(manifestAt(config, openshiftHost.namespace), "metadata", "name");
  if (named !== NAMESPACE) return `the Namespace is ${named}`;
  for (const path of [openshiftHost.agentCertsSecret, openshiftHost.agentDaemonSet]) {
    const found = at(manifestAt(config, path), "metadata", "namespace");
    if (found !== NAMESPACE) return `${path} is in ${found}`;
  }
  return functions.includes(NAMESPACE) ? undefined : "no function deletes it";
}

function calls({ script }: Subject): string | undefined {
  const lines = script.split("\n").map((line) => line.trim());
  for (const call of [SOURCE_LINE, ...Object.values(hooks)]) {
    const found = lines.filter((line) => line === call).length;
    if (found !== 1) return `\`${call}\` stands ${found} times`;
  }
  return undefined;
}

function modes({ config }: Subject): string | undefined {
  for (const path of [BOOTKUBE, openshiftHost.functions, openshiftHost.certs]) {
    const mode = config.files.get(path)?.mode;
    if (mode === undefined || (mode & 0o111) === 0) return `${path} is missing or cannot be executed`;
  }
  const writable = [...config.files.values()].filter(
    ({ path, mode }) => path.includes("konnectivity") && mode! & 0o022,
  );
  return writable[0] === undefined ? undefined : `${writable[0].path} can be written by others than its owner`;
}

function original({ state, config }: Subject): string | undefined {
  if (state !== "ours") return undefined;
  try {
    const { exact, warnings } = removeBridge(config);
    return exact ? undefined : warnings.join("; ");
  } catch (error) {
    return messageOf(error);
  }
}

function syntax({ config }: Subject): string | undefined {
  for (const path of [BOOTKUBE, openshiftHost.functions, openshiftHost.certs]) {
    const objection = bashError(textOf(config, path) ?? "");
    if (objection) return `${path}: ${objection}`;
  }
  return undefined;
}
