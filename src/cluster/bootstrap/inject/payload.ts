/** The files that an injected bridge consists of. */

import { isIP } from "node:net";
import { DrawbridgeError } from "../../../base/errors/error.js";
import { type BridgeModel, type BridgeOptions, bridgeModel } from "../model/model.js";
import { openshiftHost, openshiftShipped } from "../model/names.js";
import { openshiftFiles } from "../render/render.js";
import certsScript from "../shell/certs.sh?raw";
import cleanupUnit from "../shell/cleanup.service?raw";
import functionsScript from "../shell/functions.sh?raw";
import type { ClusterFacts } from "./cluster-facts.js";

export interface PayloadFile {
  readonly path: string;
  readonly mode: number;
  readonly text: string;
}

/** Where the installer's own integration has its files too. */
export const payloadPaths = openshiftShipped;

/** As the installer gives them to scripts. */
const SCRIPT_MODE = 0o555;

export function payloadFiles(options: InjectOptions, facts: ClusterFacts): PayloadFile[] {
  const model = modelFor(options);
  const manifests = openshiftFiles(model).map(({ path, mode, text }) => {
    if (path === undefined || !payloadPaths.includes(path)) throw new Error(`the bridge has no place for ${path}`);
    return { path, mode, text };
  });
  return [
    { path: openshiftHost.functions, mode: SCRIPT_MODE, text: functions(options, facts, model.namespace) },
    { path: openshiftHost.certs, mode: SCRIPT_MODE, text: certsScript },
    { path: openshiftHost.cleanupUnit, mode: 0o644, text: cleanupUnit },
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

type SharedOptions = "image" | "serverImage" | "agentImage" | "imageKind" | "protocol" | "agentNetwork";

/** What a user may decide about an injected bridge. It is kept in the injected script, so that a later run knows it. */
export interface InjectOptions extends Pick<BridgeOptions, SharedOptions> {
  /** The address that agents dial; without it the host finds its own. */
  readonly bootstrapIp?: string;
  /** How long the certificates live. */
  readonly validHours?: number;
}

/** Throws DB_BRIDGE_OPTIONS or DB_FLAG_VALUE. */
export function modelFor(options: InjectOptions): BridgeModel {
  const { bootstrapIp, validHours, ...rest } = checked(options);
  return bridgeModel({
    for: "openshift",
    ...rest,
    ...(validHours === undefined ? {} : { validForMs: validHours * 3_600_000 }),
  });
}

/** True when the payload need not have them. */
export function namesImages({ image, serverImage, agentImage, imageKind }: InjectOptions): boolean {
  return image !== undefined || (serverImage !== undefined && agentImage !== undefined) || imageKind === "upstream";
}

function checked(options: InjectOptions): InjectOptions {
  const { bootstrapIp, validHours } = options;
  if (bootstrapIp !== undefined && (isIP(bootstrapIp) === 0 || bootstrapIp.includes("%")))
    throw unusable(`--bootstrap-ip "${bootstrapIp}" is not an IP address`);
  if (validHours !== undefined && !(Number.isInteger(validHours) && validHours >= 1 && validHours <= 9999))
    throw unusable(`--valid-hours ${validHours} is not a whole number from 1 to 9999`);
  if (options.imageKind === "drawbridge" && !namesImages(options))
    throw unusable("--image-kind drawbridge needs --image: the cluster's nodes have to pull it from somewhere");
  return options;
}

const unusable = (message: string) => new DrawbridgeError("DB_FLAG_VALUE", message);

const MARK = "# options: ";

/** In one order, so that the order of flags makes no other file. */
export const optionsLine = (options: InjectOptions): string =>
  MARK + JSON.stringify(Object.fromEntries(Object.entries(options).sort(([a], [b]) => (a < b ? -1 : 1))));

/** The options of an earlier run; empty when the script has none that can be read. */
export function storedOptions(functions: string): InjectOptions {
  const line = functions.split("\n", 10).find((text) => text.startsWith(MARK));
  try {
    const value: unknown = JSON.parse(line?.slice(MARK.length) ?? "{}");
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}
