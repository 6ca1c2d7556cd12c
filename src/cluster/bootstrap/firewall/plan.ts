/** What must be let through to the bootstrap host, by whom, until when, and how it goes away again. */
import type { FirewallRule } from "../model/created.js";

export const platforms = [
  ...(["aws", "azure", "azurestack", "gcp", "openstack", "powervc", "ibmcloud", "powervs"] as const),
  ...(["vsphere", "nutanix", "baremetal", "none", "external", "ovirt", "host"] as const),
] as const;

export type Platform = (typeof platforms)[number];

/** What is known of a cluster's network. */
export interface ClusterNetwork {
  readonly platform: Platform | undefined;
  /** User-provisioned infrastructure: nobody but the user makes machines and networks. */
  readonly upi: boolean;
  /** The installer makes machines in a network that was there before. */
  readonly byoNetwork: boolean;
  /** Undefined: a placeholder is used. */
  readonly infraId: string | undefined;
  /** Prefixes of the nodes; only some platforms write them into their rules. */
  readonly machineNetworks: readonly string[];
}

/** The facts that an install directory or a cluster may hold. */
export type FoundNetwork = Partial<Pick<ClusterNetwork, "platform" | "infraId" | "machineNetworks">>;

/** What was given wins over what was found. */
export function completedNetwork(given: ClusterNetwork, found: FoundNetwork = {}): ClusterNetwork {
  const { platform = found.platform, infraId = found.infraId, machineNetworks } = given;
  return {
    ...given,
    platform,
    infraId,
    machineNetworks: machineNetworks.length > 0 ? machineNetworks : (found.machineNetworks ?? []),
  };
}

export interface PlanInput extends ClusterNetwork {
  readonly rule: FirewallRule;
  readonly platform: Platform;
}

/** As the platforms see it: nothing is left open. */
export type PlatformPlanInput = PlanInput & { readonly infraId: string; readonly port: number };

/** Something that is done, by whom and when. */
interface PlanAction {
  readonly by: string;
  readonly what: string;
}

interface PlanStep {
  readonly title: string;
  readonly language: "shell" | "yaml" | "json" | "terraform" | "words";
  readonly text: string;
}

/** What a platform knows; the rest of the plan is the same everywhere. */
export interface PlatformPlan {
  /** The object that holds the rule. */
  readonly where: string;
  readonly sources: readonly string[];
  readonly opened: readonly PlanAction[];
  readonly removed: readonly PlanAction[];
  /** What stays behind unless somebody runs the removal by hand; empty when nothing does. */
  readonly forgotten: readonly string[];
  readonly open: readonly PlanStep[];
  readonly remove: readonly PlanStep[];
  readonly notes: readonly string[];
}

export interface FirewallPlan extends PlatformPlan {
  readonly platform: Platform;
  readonly provisioning: "installer" | "installer, network of your own" | "user" | "host";
  readonly infraId: string;
  readonly rule: FirewallRule;
}

type Values = readonly (string | number | readonly string[])[];

/** A text without the indentation that it has in the source; a list in it becomes lines. */
export function block(strings: TemplateStringsArray, ...values: Values): string {
  const indentation = /^\n */.exec(strings[0]!)?.[0] ?? "\n";
  const parts = strings.map((part) => part.replaceAll(indentation, "\n"));
  const texts = values.map((value) => (Array.isArray(value) ? value.join("\n") : String(value)));
  return String.raw({ raw: parts }, ...texts).trim();
}

const stepIn = (language: PlanStep["language"]) => (title: string) => {
  return (strings: TemplateStringsArray, ...values: Values): PlanStep => ({
    title,
    language,
    text: block(strings, ...values),
  });
};

export const shell = stepIn("shell");
export const yaml = stepIn("yaml");
export const json = stepIn("json");
export const terraform = stepIn("terraform");
export const words = stepIn("words");

/** One action a line: who does it, and behind a bar what. */
export function actions(strings: TemplateStringsArray, ...values: Values): PlanAction[] {
  const lines = block(strings, ...values).split("\n");
  return lines.map((line) => line.split(" | ")).map(([by = "", what = ""]) => ({ by, what }));
}

export const isIPv6 = (prefix: string): boolean => prefix.includes(":");

/** Marks in every firewall what is ours, so that removal finds exactly that. */
export const MARK = "drawbridge-bootstrap";

/** The first release that opens the port itself. */
export const OPENS_ITSELF = "openshift-install 4.23 and later";

/** A value only the user knows: the shell stops with these words while the variable is not set. */
export function given(variable: string, what: string): string {
  return `"\${${variable}:?${what}}"`;
}
