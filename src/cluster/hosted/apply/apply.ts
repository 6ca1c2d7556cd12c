/** `hosted apply`, `diff` and `delete`: a model's objects and two clusters brought into agreement. */

import { setTimeout as sleep } from "node:timers/promises";
import { DrawbridgeError } from "../../../base/errors/error.js";
import type { RotationStep } from "../../../tunnel/pki/keep.js";
import type { Manifest, ObjectOutcome } from "../../kube/apply.js";
import { find } from "../../kube/find.js";
import { namedPath } from "../../kube/paths.js";
import type { KubeObject, ObjectMeta } from "../../kube/port.js";
import type { HostedConfig } from "../config/config.js";
import { type HostedModel, hostedModel } from "../model/model.js";
import { FIELD_MANAGER, names } from "../model/names.js";
import type { Certificates } from "../render/certificates.js";
import type { RenderedObject } from "../render/manifest.js";
import { publishedObjects, render } from "../render/render.js";
import { apiServerPatch } from "../render/server-container.js";
import { applyAll, type Clusters, prune, release } from "./clusters.js";
import { currentCertificates } from "./kept-certificates.js";
import { publishedAddress } from "./published-address.js";

/** What `apply`, `diff` and `delete` did or would do. */
export interface HostedReport {
  readonly objects: readonly ObjectOutcome[];
  /** Certificates that were made, with the reason. */
  readonly issued: readonly { readonly name: string; readonly why: string }[];
}

export interface HostedApplyOptions {
  readonly version: string;
  readonly dryRun: boolean;
  readonly force: boolean;
  readonly rotation?: RotationStep | undefined;
  /** Also bring the server into the kube-apiserver's Deployment, as the fields of it that are ours. */
  readonly patchApiServer: boolean;
  /** For an address that the cluster has to assign. */
  readonly waitMs: number;
  readonly now?: Date;
}

export async function applyHosted(
  clusters: Clusters,
  config: HostedConfig,
  options: HostedApplyOptions,
): Promise<HostedReport> {
  const model = await modelIn(clusters, config, options);
  const certificates = await currentCertificates(clusters.management, model, options);
  const { objects } = render(model, certificates);
  const patch = options.patchApiServer
    ? [await patchOf(clusters, model, certificates)]
    : await patchesOf(clusters, model, certificates);
  const outcomes = await applyAll(clusters, [...objects, ...patch], options);
  const pruned = await prune(clusters, model.namespace, objects, options);
  return { objects: [...outcomes, ...pruned], issued: certificates.issued };
}

/** Any host does where only the objects' names count. */
const ANY_HOST = "unknown.invalid";

/** Publishes first where the address is the cluster's to say. */
async function modelIn(clusters: Clusters, config: HostedConfig, options: HostedApplyOptions): Promise<HostedModel> {
  const { publishing, controlPlaneNamespace: namespace } = config;
  const { version } = options;
  if (publishing.host !== undefined) return hostedModel(config, { version });
  if (!options.dryRun) {
    const published = publishedObjects(hostedModel(config, { version, host: ANY_HOST }));
    await applyAll(clusters, published, options);
  }
  const deadline = Date.now() + (options.dryRun ? 0 : options.waitMs);
  for (;;) {
    const { host } = await publishedAddress(clusters.management, namespace, publishing);
    if (host !== undefined || Date.now() >= deadline) return hostedModel(config, { version, host });
    await sleep(1000);
  }
}

export interface HostedDeleteOptions {
  readonly version: string;
  /** Although a kube-apiserver still has the server. */
  readonly force: boolean;
}

export async function deleteHosted(
  clusters: Clusters,
  config: HostedConfig,
  options: HostedDeleteOptions,
): Promise<HostedReport> {
  const model = hostedModel(config, { version: options.version, host: config.publishing.host ?? ANY_HOST });
  const given = await release(clusters, await patchesOf(clusters, model, undefined));
  if (!options.force) await refuseWhileInUse(clusters, model);
  const borrowed = render(model).objects.filter(({ isBorrowed }) => isBorrowed);
  const gone = await prune(clusters, model.namespace, [], { dryRun: false });
  return { objects: [...given, ...gone, ...(await release(clusters, borrowed))], issued: [] };
}

const deploymentPath = ({ namespace }: HostedModel): string =>
  namedPath("Deployment", { namespace, name: names.apiServer });

async function patchOf(
  { management }: Clusters,
  model: HostedModel,
  certificates: Certificates | undefined,
): Promise<RenderedObject> {
  if ((await find(management, deploymentPath(model))) === undefined) {
    throw new DrawbridgeError(
      "DB_HOSTED_CONFIG",
      `There is no Deployment ${model.namespace}/${names.apiServer} that the server could be brought into; leave --patch-kube-apiserver out and put it beside your kube-apiservers yourself.`,
    );
  }
  const manifest = apiServerPatch(model, certificates) as unknown as Manifest;
  return { side: "control-plane", manifest, isBorrowed: true };
}

/** The kube-apiserver's Deployment, if an apply changed it before; what others put there stays theirs. */
async function patchesOf(
  clusters: Clusters,
  model: HostedModel,
  certificates: Certificates | undefined,
): Promise<RenderedObject[]> {
  const deployment = await find<Deployment>(clusters.management, deploymentPath(model));
  const isOurs = deployment?.metadata?.managedFields?.some(({ manager }) => manager === FIELD_MANAGER);
  return isOurs ? [await patchOf(clusters, model, certificates)] : [];
}

interface Deployment extends KubeObject {
  readonly metadata?: ObjectMeta & { readonly managedFields?: readonly { readonly manager?: string }[] };
  readonly spec?: {
    readonly template?: { readonly spec?: { readonly containers?: readonly { readonly name: string }[] } };
  };
}

async function refuseWhileInUse({ management }: Clusters, model: HostedModel): Promise<void> {
  const deployment = await find<Deployment>(management, deploymentPath(model));
  if (!deployment?.spec?.template?.spec?.containers?.some(({ name }) => name === names.server)) return;
  throw new DrawbridgeError(
    "DB_HOSTED_IN_USE",
    `Deployment ${model.namespace}/${names.apiServer} still has the container ${names.server}, and none of its pods would start again.`,
  );
}
