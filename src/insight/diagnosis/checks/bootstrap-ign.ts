/** `drawbridge bootstrap inject --check`: the checks of a bridge that need only its bootstrap.ign. */
import { at, listOf } from "../../../base/at.js";
import { messageOf } from "../../../base/errors/error.js";
import { failed, ok } from "../../../base/finding.js";
import { BOOTKUBE, hooks, OVERRIDE_FLAG, SOURCE_LINE } from "../../../cluster/bootstrap/inject/bootkube.js";
import { classify } from "../../../cluster/bootstrap/inject/classify.js";
import {
  containerOf,
  type IgnitionConfig,
  manifestAt,
  textOf,
} from "../../../cluster/bootstrap/inject/ignition-config.js";
import { bashError, removeBridge } from "../../../cluster/bootstrap/inject/inject.js";
import { openshiftHost } from "../../../cluster/bootstrap/model/names.js";
import { egressReading } from "../../../cluster/bootstrap/settings/egress-config.js";
import { commandLine, containerWords } from "../../../cluster/bootstrap/settings/programs.js";
import { type Check, defineCheck, type FactSource } from "../check.js";
import { runChecks } from "../run.js";
import { egressAgreement } from "./egress.js";

/** A bootstrap.ign, with the files of the bridge read. */
export type BootstrapIgn = ReturnType<typeof readBootstrapIgn>;

function readBootstrapIgn(config: IgnitionConfig) {
  const { agentDaemonSet, configOverride, egressConfig, functions, serverPod } = openshiftHost;
  const server = manifestAt(config, serverPod);
  const daemonSet = manifestAt(config, agentDaemonSet);
  return {
    ...{ config, ...classify(config), functions: textOf(config, functions) ?? "", server, daemonSet },
    egress: manifestAt(config, egressConfig),
    override: manifestAt(config, configOverride),
    serverLine: commandLine(serverPod, containerWords(server)),
    agentLine: commandLine(agentDaemonSet, containerWords(at(daemonSet, "spec", "template"))),
  };
}

function sourceOf(ign: BootstrapIgn): FactSource {
  const path = openshiftHost.egressConfig;
  return {
    bootstrapIgn: () => ign,
    egress: () => (ign.egress === undefined ? { state: "absent", path } : egressReading(path, ign.egress)),
    serverFlags: () => ign.serverLine,
  };
}

export async function checkBootstrapIgn(config: IgnitionConfig) {
  const ign = readBootstrapIgn(config);
  const { state } = ign;
  // Bootstrap in place needs no bridge.
  const applicable = state !== "bootstrap-in-place";
  return { state, applicable, findings: applicable ? await runChecks(CHECKS, sourceOf(ign)) : [] };
}

const KAS_SOCKET = "/etc/kubernetes/config/konnectivity-server.socket";
const KAS_EGRESS = "/etc/kubernetes/config/egress-selector-config.yaml";
const HOST_EGRESS = "/etc/kubernetes/bootstrap-configs/egress-selector-config.yaml";
const NAMESPACE = "openshift-bootstrap-konnectivity";
const PLACEHOLDER_IMAGE = "$" + "{KONNECTIVITY_IMAGE}";
const PLACEHOLDER_ADDRESS = "$" + "{BOOTSTRAP_NODE_IP}";
const SCRIPTS = [BOOTKUBE, openshiftHost.functions, openshiftHost.certs];

const selection = (egress: unknown, name: string): unknown =>
  listOf(at(egress, "egressSelections")).find((entry) => at(entry, "name") === name);

const linesOf = (script: string): string[] => script.split("\n").map((line) => line.trim());

/** A check of one statement; `objection` gives undefined when the statement is true. */
function statement(id: string, about: string, objection: (ign: BootstrapIgn) => string | undefined): Check {
  const remedy = "Put the bridge in again: drawbridge bootstrap inject FILE.";
  return defineCheck({
    ...{ id, about, needs: ["bootstrapIgn"] },
    judge({ bootstrapIgn }) {
      const found = objection(bootstrapIgn);
      return [found === undefined ? ok(about) : failed(found, remedy)];
    },
  });
}

const CHECKS: readonly Check[] = [
  // The five checks of the plan, with the values that work.
  egressAgreement,
  statement("image", "both manifests get an image", ({ server, daemonSet, functions }) => {
    for (const [what, manifest] of [["server", server] as const, ["agent", daemonSet] as const]) {
      const image = at(containerOf(manifest), "image");
      if (typeof image !== "string" || image === "") return `the ${what}'s manifest names no image`;
      const isOpen = image.includes("${");
      if (isOpen && image !== PLACEHOLDER_IMAGE) return `the ${what}'s image is ${image}, which nothing fills in`;
      if (isOpen && !functions.includes("image_for apiserver-network-proxy"))
        return `${openshiftHost.functions} does not ask the payload for apiserver-network-proxy`;
    }
    return undefined;
  }),
  statement("server-pod", "the server's static pod is there and put in place", ({ server, functions }) => {
    if (at(server, "kind") !== "Pod") return `${openshiftHost.serverPod} is missing or no Pod`;
    if (at(server, "metadata", "name") !== "konnectivity-server") return "the pod is not called konnectivity-server";
    if (at(server, "spec", "hostNetwork") !== true) return "the pod is not on the host's network";
    const program = String(at(containerOf(server), "command", "0"));
    if (!program.endsWith("/proxy-server")) return "it does not run proxy-server";
    return functions.includes("konnectivity-server-pod.yaml") ? undefined : "no function writes it to the static pods";
  }),
  statement("agent-daemonset", "the agents' DaemonSet is there and put in place", ({ daemonSet, functions }) => {
    if (at(daemonSet, "kind") !== "DaemonSet") return `${openshiftHost.agentDaemonSet} is missing or no DaemonSet`;
    if (at(daemonSet, "metadata", "name") !== "konnectivity-agent") return "it is not called konnectivity-agent";
    const program = String(at(containerOf(daemonSet), "command", "0"));
    if (!program.endsWith("/proxy-agent")) return "it does not run proxy-agent";
    const isWritten = /konnectivity-(agent-daemonset|\$name)\b/.test(functions);
    return isWritten ? undefined : "no function writes it to the manifests";
  }),
  statement("override-flag", "the kube-apiserver's render gets the override file, once", ({ script }) => {
    const lines = linesOf(script);
    const found = lines.filter((line) => line.startsWith("--config-override-files=")).length;
    if (found !== 1) return `${found} arguments --config-override-files, 1 expected`;
    const flag = lines.findIndex((line) => line.startsWith(OVERRIDE_FLAG));
    if (flag === -1) return `the argument is not ${OVERRIDE_FLAG}`;
    let start = flag;
    while (lines[start - 1]?.endsWith("\\")) start -= 1;
    const command = lines.slice(start, flag).join(" ");
    return command.includes("cluster-kube-apiserver-operator render") ? undefined : "it is in another command";
  }),
  // Everything else that has to fit together.
  statement("override-file", "the override names the file that the kube-apiserver will see", ({ override }) => {
    const path = openshiftHost.configOverride;
    if (at(override, "kind") !== "KubeAPIServerConfig") return `${path} is missing or no KubeAPIServerConfig`;
    if (at(override, "apiVersion") !== "kubecontrolplane.config.openshift.io/v1")
      return `${path} has another apiVersion`;
    const value = at(override, "apiServerArguments", "egress-selector-config-file");
    const isSet = Array.isArray(value) && value.join() === KAS_EGRESS;
    return isSet ? undefined : `it does not set ${KAS_EGRESS} but ${value}`;
  }),
  statement("egress-copy", "the egress configuration is copied to where the kube-apiserver sees it", ({ script }) => {
    const copies = linesOf(script).filter((line) => line === `cp ${openshiftHost.egressConfig} ${HOST_EGRESS}`);
    return copies.length === 1 ? undefined : `${copies.length} lines copy it, 1 expected`;
  }),
  statement("egress-selections", "only connections to the cluster take the tunnel", ({ egress }) => {
    for (const name of ["controlplane", "etcd"]) {
      const found = at(selection(egress, name), "connection", "proxyProtocol");
      if (found !== "Direct")
        return `the selection ${name} is ${found === undefined ? "missing" : `not Direct but ${found}`}`;
    }
    return undefined;
  }),
  statement("socket", "the kube-apiserver looks for the socket where its pod mounts it", ({ egress }) => {
    const path = at(selection(egress, "cluster"), "connection", "transport", "uds", "udsName");
    return path === KAS_SOCKET ? undefined : `the kube-apiserver would look for ${path}, not ${KAS_SOCKET}`;
  }),
  statement("server-port", "the server has no TCP frontend, as a socket demands", ({ serverLine }) => {
    const port = serverLine.flags.get("server-port");
    return port === "0" ? undefined : `--server-port is ${port ?? "missing"}, 0 expected`;
  }),
  statement("agent-auth", "the server asks agents for certificates", ({ serverLine }) =>
    serverLine.flags.get("cluster-ca-cert") ? undefined : "--cluster-ca-cert is missing: anyone could be an agent",
  ),
  statement("address", "agents dial the address that the certificate is made for", ({ agentLine, functions }) => {
    const host = agentLine.flags.get("proxy-server-host");
    if (host !== PLACEHOLDER_ADDRESS)
      return `agents would dial ${host ?? "nothing"}, not the address found on the host`;
    const isCertified = functions.includes("BOOTSTRAP_NODE_IP") && functions.includes(openshiftHost.certs);
    return isCertified ? undefined : `${openshiftHost.functions} does not make certificates for that address`;
  }),
  statement("namespace", "all of the agents' objects are in the namespace that is deleted", ({ config, functions }) => {
    const named = at(manifestAt(config, openshiftHost.namespace), "metadata", "name");
    if (named !== NAMESPACE) return `the Namespace is ${named}`;
    for (const path of [openshiftHost.agentCertsSecret, openshiftHost.agentDaemonSet]) {
      const found = at(manifestAt(config, path), "metadata", "namespace");
      if (found !== NAMESPACE) return `${path} is in ${found}`;
    }
    return functions.includes(NAMESPACE) ? undefined : "no function deletes it";
  }),
  statement("hooks", "bootkube.sh calls every function once", ({ script }) => {
    const lines = linesOf(script);
    for (const call of [SOURCE_LINE, ...Object.values(hooks)]) {
      const found = lines.filter((line) => line === call).length;
      if (found !== 1) return `\`${call}\` is there ${found} times`;
    }
    return undefined;
  }),
  statement("modes", "the files have the right modes", ({ config }) => {
    for (const path of SCRIPTS) {
      const mode = config.files.get(path)?.mode;
      if (mode === undefined || (mode & 0o111) === 0) return `${path} is missing or cannot be executed`;
    }
    const files = [...config.files.values()];
    const writable = files.find(({ path, mode }) => path.includes("konnectivity") && mode! & 0o022);
    return writable === undefined ? undefined : `${writable.path} can be written by others than its owner`;
  }),
  statement("original", "the bridge can be taken out again without a trace", ({ state, config }) => {
    if (state !== "ours") return undefined;
    try {
      const { exact, warnings } = removeBridge(config);
      return exact ? undefined : warnings.join("; ");
    } catch (error) {
      return messageOf(error);
    }
  }),
  statement("syntax", "bash accepts the scripts", ({ config }) => {
    for (const path of SCRIPTS) {
      const objection = bashError(textOf(config, path) ?? "");
      if (objection) return `${path}: ${objection}`;
    }
    return undefined;
  }),
];
