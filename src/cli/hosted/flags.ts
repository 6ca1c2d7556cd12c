/** Flags that all of `drawbridge hosted` has: the description, as a file and in parts, and the way to the clusters. */
import { DrawbridgeError } from "../../base/errors/error.js";
import type { Overrides } from "../../cluster/hosted/config/check-config.js";
import type { HostedConfig } from "../../cluster/hosted/config/config.js";
import { choice } from "../flags/choice.js";
import { FlagSet } from "../flags/flag-set.js";
import { boolean, integer, string, stringSlice } from "../flags/flag-value.js";
import { quote } from "../flags/go-text.js";
import type { Environment } from "../framework/invocation.js";

export type HostedFlags = ReturnType<typeof declareHostedFlags>["flags"];

const imageKinds = ["payload", "upstream", "drawbridge"] as const;

// The return type is inferred: one entry a flag, each with the type its kind gives it.
export function declareHostedFlags(program: string, env: Environment) {
  const set = new FlagSet();
  const text = (name: string, usage: string, value = "") => set.add(name, string, value, usage);
  const list = (name: string, usage: string) => set.add(name, stringSlice, [], usage);
  const flags = {
    help: set.add("help", boolean, false, `help for ${program}`, { shorthand: "h" }),
    config: text("config", "File that describes the hosted control plane (docs/hosted.md). Flags win over it."),
    name: text("name", "The hosted cluster's name."),
    controlPlaneNamespace: text(
      "control-plane-namespace",
      "Namespace of the control plane in the management cluster. If empty, clusters-NAME.",
    ),
    publish: set.add(
      "publish",
      choice("Route", "NodePort", "LoadBalancer"),
      undefined,
      "How agents of the hosted cluster reach the servers.",
    ),
    hostname: text("hostname", "DNS name that those agents dial."),
    address: text("address", "IP address that those agents dial, instead."),
    port: set.add("port", integer, 0, "Port that those agents dial. If 0, 443 of a Route, 8091 of a load balancer."),
    replicas: set.add("replicas", integer, 0, "How many kube-apiservers, and so servers, there are. If 0, 3."),
    imageKind: set.add(
      "image-kind",
      choice(...imageKinds),
      undefined,
      "Whose programs run: the OpenShift payload's, upstream's, or drawbridge's (default).",
    ),
    serverImage: text("server-image", "Pull spec of the servers' image. If empty, the kind's own."),
    agentImage: text("agent-image", "Pull spec of the agents' image. If empty, the kind's own."),
    sidecarImage: text("sidecar-image", "Pull spec of the image with the SOCKS5 and HTTPS proxies."),
    aggregatedApi: list("aggregated-api", "Address that the control plane itself serves; repeatable."),
    signers: set.add(
      "signers",
      choice("separate", "shared"),
      undefined,
      "One signer for each role (default), or one for all as HyperShift has it.",
    ),
    machineNetwork: list("machine-network", "Prefix of the hosted cluster's nodes; repeatable."),
    serviceNetwork: list("service-network", "Prefix of its services; repeatable."),
    clusterNetwork: list("cluster-network", "Prefix of its pods; repeatable."),
    kubeconfig: text(
      "kubeconfig",
      "Kubeconfig of the management cluster. If empty, the files of KUBECONFIG.",
      env.KUBECONFIG ?? "",
    ),
  };
  return { set, flags };
}

/** Reads file and flags; throws with every fault. */
export async function hostedConfig(flags: HostedFlags): Promise<HostedConfig> {
  const { readHostedConfig: readConfig } = await import("../../cluster/hosted/config/check-config.js");
  return readConfig(flags.config.value, overridesOf(flags));
}

function overridesOf(flags: HostedFlags): Overrides {
  const given = (flag: { readonly value: unknown; readonly changed: boolean }) =>
    flag.changed && flag.value !== "" ? flag.value : undefined;
  return present({
    name: given(flags.name),
    controlPlaneNamespace: given(flags.controlPlaneNamespace),
    publishing: group({
      type: given(flags.publish),
      hostname: given(flags.hostname),
      address: given(flags.address),
      port: given(flags.port),
    }),
    replicas: given(flags.replicas),
    image: group({
      kind: given(flags.imageKind),
      server: given(flags.serverImage),
      agent: given(flags.agentImage),
      sidecar: given(flags.sidecarImage),
    }),
    aggregatedApis: given(flags.aggregatedApi),
    signers: given(flags.signers),
    networks: group({
      machine: given(flags.machineNetwork),
      service: given(flags.serviceNetwork),
      cluster: given(flags.clusterNetwork),
    }),
  });
}

function present(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function group(fields: Readonly<Record<string, unknown>>): Record<string, unknown> | undefined {
  const some = present(fields);
  return Object.keys(some).length === 0 ? undefined : some;
}

export function refuseWords([word]: readonly string[]): void {
  if (word !== undefined) throw refused(`${quote(word)} belongs to no flag`);
}

export function refused(sentence: string): DrawbridgeError {
  return new DrawbridgeError("DB_FLAG_VALUE", sentence);
}
