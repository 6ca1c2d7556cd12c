/** `drawbridge nodepool install`: what pools need in a cluster that has no HyperShift. */

import { outcomesText } from "../../cluster/kube/apply.js";
import type { Component, InstallConfig } from "../../cluster/nodes/install/render.js";
import { choice } from "../flags/choice.js";
import type { Flag, FlagSet } from "../flags/flag-set.js";
import { boolean, integer, string, stringSlice } from "../flags/flag-value.js";
import { json, refused, runPlainCommand } from "../framework/plain-command.js";
import { noWords } from "./flags.js";

const purpose = `Brings the NodePool resource, the pools' controller and the CSR approver into a cluster by server-side apply, with the rights
each needs and no others. It refuses where HyperShift is, whose operator looks after pools itself. With --output yaml it
prints the objects and asks no cluster. The approver belongs into the cluster that machines join; where that is another
one, install --components controller here and --components approver there.

With --components controller,approver,ignition the Ignition server runs there, too. It waits for the ConfigMap
drawbridge-ignition-payload (payload.yaml, see drawbridge ignition serve --help, and the files it names) and for the
Secret drawbridge-ignition-serving-cert, which the controller issues for the clusters' published addresses, unless they
name an ignitionCA: then tls.crt and tls.key are yours to put there.`;

const known: readonly string[] = ["controller", "approver", "ignition"] satisfies readonly Component[];
const isComponent = (word: string): word is Component => known.includes(word);

interface InstallFlags {
  readonly kubeconfig: Flag<string>;
  readonly namespace: Flag<string>;
  readonly image: Flag<string>;
  readonly components: Flag<readonly string[]>;
  readonly replicas: Flag<number>;
  readonly apiPorts: Flag<readonly string[]>;
  readonly approverFlags: Flag<readonly string[]>;
  readonly ignitionService: Flag<InstallConfig["ignitionService"] | undefined>;
  readonly force: Flag<boolean>;
  readonly output: Flag<"text" | "json" | "yaml" | undefined>;
}

export function nodepoolInstall(program: string, argv: readonly string[]): Promise<number> {
  return runPlainCommand(program, argv, { purpose, declare, check, run });
}

function declare(set: FlagSet): InstallFlags {
  const several = (name: string, otherwise: readonly string[], usage: string) =>
    set.add(name, stringSlice, otherwise, usage);
  return {
    kubeconfig: set.add("kubeconfig", string, "", "Access to the cluster. If empty, KUBECONFIG."),
    namespace: set.add("namespace", string, "drawbridge", "Where pools, controller and approver are."),
    image: set.add("image", string, "", "drawbridge's image, as npm run image makes it."),
    components: several("components", ["controller", "approver"], "What runs in the cluster beside the resource."),
    replicas: set.add("replicas", integer, 2, "Of each; one works, the others stand by."),
    apiPorts: several("api-port", ["443", "6443"], "Where pods may reach the API server."),
    approverFlags: several("approver-flag", [], "A flag of the approver, such as --node-cidr=10.0.0.0/16."),
    ignitionService: set.add(
      "ignition-service",
      choice("ClusterIP", "NodePort", "LoadBalancer"),
      undefined,
      "How machines reach the Ignition server. If empty, ClusterIP.",
    ),
    force: set.add("force-conflicts", boolean, false, "Take over fields that another manager set."),
    output: set.add("output", choice("text", "json", "yaml"), undefined, "yaml: print objects only. If empty, text."),
  };
}

function check(flags: InstallFlags, words: readonly string[]): void {
  noWords(words);
  configOf(flags);
}

function configOf(flags: InstallFlags): InstallConfig {
  const { value: image } = flags.image;
  if (image === "" || /\s/.test(image))
    throw refused("--image is missing: where can the cluster pull drawbridge from?");
  const wrong = flags.components.value.find((word) => !isComponent(word));
  if (wrong !== undefined) throw refused(`--components has "${wrong}"; there are ${known.join(", ")}`);
  if (flags.replicas.value < 1) throw refused(`--replicas must be at least 1, got ${flags.replicas.value}`);
  const stray = flags.approverFlags.value.find((flag) => !flag.startsWith("--"));
  if (stray !== undefined) throw refused(`--approver-flag "${stray}" must itself begin with --`);
  if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(flags.namespace.value)) {
    throw refused(`--namespace "${flags.namespace.value}" is not the name of a namespace`);
  }
  return {
    namespace: flags.namespace.value,
    image,
    components: flags.components.value.filter(isComponent),
    replicas: flags.replicas.value,
    apiPorts: flags.apiPorts.value.map(portOf),
    approverArgs: flags.approverFlags.value,
    ignitionService: flags.ignitionService.value ?? "ClusterIP",
  };
}

function portOf(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw refused(`--api-port "${text}" must be 1 to 65535`);
}

async function run(flags: InstallFlags): Promise<number> {
  const { applyInstall, renderInstall, streamOf } = await import("../../cluster/nodes/install/render.js");
  const manifests = renderInstall(configOf(flags));
  if (flags.output.value === "yaml") {
    process.stdout.write(streamOf(manifests));
    return 0;
  }
  const { openKubeApi } = await import("../../cluster/kube/open.js");
  const kubeconfig = flags.kubeconfig.value || (process.env.KUBECONFIG ?? "");
  const api = await openKubeApi({ kubeconfig, qps: 0, burst: 0 });
  try {
    const objects = await applyInstall(api, manifests, { force: flags.force.value });
    process.stdout.write(flags.output.value === "json" ? json({ objects }) : outcomesText(objects));
    return 0;
  } finally {
    api.close();
  }
}
