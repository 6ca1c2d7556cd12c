import { DEFAULT_STATE_DIRECTORY } from "../../cluster/bootstrap/host/record.js";
import { topologies } from "../../cluster/bootstrap/model/names.js";
import { choice } from "../flags/choice.js";
import { FlagSet } from "../flags/flag-set.js";
import { boolean, duration, integer, string, stringSlice } from "../flags/flag-value.js";
import type { Environment } from "../framework/invocation.js";
import { declareSshFlags } from "./ssh.js";

export type VerifyFlags = ReturnType<typeof declareVerifyFlags>["flags"];

// The return type is inferred: one entry a flag, each with the type its kind gives it.
export function declareVerifyFlags(program: string, env: Environment) {
  const set = new FlagSet();
  const text = (name: string, usage: string, value = "") => set.add(name, string, value, usage);
  const flags = {
    help: set.add("help", boolean, false, `help for ${program}`, { shorthand: "h" }),
    for: set.add("for", choice(...topologies), undefined, "Which kind of bridge. If empty, the one this host has."),
    kubeconfig: text(
      "kubeconfig",
      "Way to the kube-apiserver that uses the bridge. If empty, the files of KUBECONFIG, or what this kind of host has.",
      env.KUBECONFIG ?? "",
    ),
    dir: text(
      "dir",
      "Install directory of openshift-install on a workstation: asks the cluster of its auth/kubeconfig and the bootstrap host over SSH, not this host.",
    ),
    ...declareSshFlags(set, "The bootstrap host, with --dir. If empty, as --dir says."),
    stateDirectory: text(
      "state-dir",
      "Where up keeps its record, which tells whatever no flag says.",
      DEFAULT_STATE_DIRECTORY,
    ),
    uds: text("uds", "The server's socket. If empty, as in the egress configuration."),
    frontend: text("frontend", "host:port of a server that listens on TCP instead."),
    frontendCa: text("frontend-ca", "File with the authority of that server's certificate."),
    frontendCert: text("frontend-cert", "File with a client certificate for that server."),
    frontendKey: text("frontend-key", "File with its key."),
    protocol: set.add(
      "protocol",
      choice("grpc", "http-connect"),
      undefined,
      "What the server speaks. If empty, as in the egress configuration.",
    ),
    health: text("health", "URL of the server's health port. If empty, that of the server on this host."),
    address: text("address", "Where agents dial the server. If empty, as recorded by up or beside its certificates."),
    agentPort: set.add("agent-port", integer, 0, "The port for agents. If 0, that of the server on this host."),
    pki: text("pki", "Directory of the server's certificates. If empty, where this kind of host has it."),
    egressConfig: text("egress-config", "The kube-apiserver's egress configuration. If empty, as for --pki."),
    namespace: text("namespace", "Namespace of the agents. If empty, as for --pki."),
    webhook: set.add(
      "webhook",
      stringSlice,
      [],
      "Rehearse only these webhooks, by their own or their configuration's name; repeatable. If empty, all of them.",
    ),
    conversion: set.add(
      "conversion",
      stringSlice,
      [],
      "Rehearse only the conversion webhooks of these CustomResourceDefinitions; repeatable. Without this and --webhook all webhooks and aggregated APIs are rehearsed.",
    ),
    resolve: set.add(
      "resolve",
      choice("endpoints", "cluster-ip"),
      undefined,
      "How services are dialled. If empty, as the kube-apiserver's --enable-aggregator-routing says.",
    ),
    deployTestWebhook: set.add(
      "deploy-test-webhook",
      boolean,
      false,
      "Also put a webhook into the cluster, let the kube-apiserver call it, and remove it again.",
    ),
    testImage: text("test-image", "drawbridge's image, for that webhook. If empty, the agents' image."),
    output: set.add("output", choice("text", "json", "junit"), undefined, "How to report. If empty, text."),
    timeout: set.add(
      "timeout",
      duration,
      180_000_000_000n,
      "For everything together; removals are finished all the same.",
    ),
  };
  return { set, flags };
}
