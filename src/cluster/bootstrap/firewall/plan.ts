/** What must be let through to the bootstrap host, by whom, until when, and how it goes away again. */
import type { FirewallRule } from "../model/created.js";

export const platforms = [
  ...(["aws", "azure", "azurestack", "gcp", "openstack", "powervc", "ibmcloud", "powervs"] as const),
  ...(["vsphere", "nutanix", "baremetal", "none", "external", "ovirt", "host"] as const),
] as const;

export type Platform = (typeof platforms)[number];

export interface PlanInput {
  readonly rule: FirewallRule;
  readonly platform: Platform;
  /** User-provisioned infrastructure: nobody but the user makes machines and networks. */
  readonly upi: boolean;
  /** The installer makes machines in a network that was there before. */
  readonly byoNetwork: boolean;
  /** Undefined: a placeholder is used. */
  readonly infraId: string | undefined;
  /** Prefixes of the nodes; only some platforms write them into their rules. */
  readonly machineNetworks: readonly string[];
}

/** Something that is done, by whom and when. */
export interface PlanAction {
  readonly by: string;
  readonly what: string;
}

export interface PlanStep {
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

/** As the platforms see it: nothing is left open. */
export type PlatformPlanInput = Omit<PlanInput, "infraId" | "rule"> & {
  readonly infraId: string;
  readonly port: number;
};

/** Lines of one command block. */
type Lines = readonly (string | readonly string[])[];

const stepIn =
  (language: PlanStep["language"]) =>
  (title: string, ...lines: Lines): PlanStep => ({ title, language, text: lines.flat().join("\n") });

export const shell = stepIn("shell");
export const yaml = stepIn("yaml");
export const json = stepIn("json");
export const terraform = stepIn("terraform");
export const words = stepIn("words");

export const by = (who: string, what: string): PlanAction => ({ by: who, what });
export const you = (what: string): PlanAction => by("you", what);

export const isIPv6 = (prefix: string): boolean => prefix.includes(":");

/** Marks in every firewall what is ours, so that removal finds exactly that. */
export const MARK = "drawbridge-bootstrap";

/** The first release that opens the port itself. */
export const OPENS_ITSELF = "openshift-install 4.23 and later";

/** A value only the user knows: the shell stops with these words while the variable is not set. */
export function given(variable: string, what: string): string {
  return `"\${${variable}:?${what}}"`;
}
