/** `hosted apply`, `diff` and `delete`: a model's objects and two clusters brought into agreement. */
import { pause, systemClock } from "../../../base/clock.js";
import { DrawbridgeError } from "../../../base/errors/error.js";
import type { PemPair } from "../../../tunnel/pki/issue.js";
import type { KeptSigner, RotationStep, UpToDatePki } from "../../../tunnel/pki/keep.js";
import { hostedProfile } from "../../../tunnel/pki/profiles.js";
import type { KubeManifest, ObjectOutcome } from "../../kube/apply.js";
import { find } from "../../kube/objects.js";
import { namedPath } from "../../kube/paths.js";
import type { KubeApi, KubeObject, ObjectMeta } from "../../kube/port.js";
import type { HostedConfig, Publishing } from "../config/config.js";
import { type DialAddress, type HostedModel, hostedModel, pkiOptions } from "../model/model.js";
import { FIELD_MANAGER, names } from "../model/names.js";
import type { RenderedObject } from "../render/manifest.js";
import { publishedObjects, renderHosted } from "../render/render.js";
import { apiServerPatch } from "../render/server.js";
import { applyAll, type HostedClusters, prune, release } from "./clusters.js";

/** What `apply`, `diff` and `delete` did or would do. */
export interface HostedReport {
  readonly objects: readonly ObjectOutcome[];
  /** Certificates that were made, with the reason. */
  readonly issued: readonly { readonly name: string; readonly why: string }[];
}

interface HostedApplyOptions extends CertificateOptions {
  /** The version of drawbridge. */
  readonly version: string;
  readonly dryRun: boolean;
  readonly force: boolean;
  /** Whether the server is added to the kube-apiserver's Deployment, as fields of it that are ours. */
  readonly patchApiServer: boolean;
  /** How long to wait for an address that the cluster has to assign. */
  readonly waitMs: number;
}

export async function applyHosted(
  clusters: HostedClusters,
  config: HostedConfig,
  options: HostedApplyOptions,
): Promise<HostedReport> {
  const model = await modelIn(clusters, config, options);
  const certificates = await currentCertificates(clusters.management, model, options);
  const { objects } = renderHosted(model, certificates);
  const deployment = await apiServerDeployment(clusters, model);
  if (options.patchApiServer && deployment === undefined) {
    throw new DrawbridgeError(
      "DB_HOSTED_CONFIG",
      `There is no Deployment ${model.namespace}/${names.apiServer} that the server could be brought into; leave --patch-kube-apiserver out and put it beside your kube-apiservers yourself.`,
    );
  }
  const isPatched = options.patchApiServer || isOurs(deployment);
  const patches = isPatched ? [borrowed(apiServerPatch(model, certificates))] : [];
  const outcomes = await applyAll(clusters, [...objects, ...patches], options);
  const pruned = await prune(clusters, model.namespace, objects, options);
  return { objects: [...outcomes, ...pruned], issued: certificates.issued };
}

/** Any host does where only the objects' names count. */
const ANY_HOST = "unknown.invalid";

/** The model with the address that agents dial, which the cluster assigns to published objects where the config has none. */
async function modelIn(clusters: HostedClusters, config: HostedConfig, options: HostedApplyOptions) {
  const { publishing, controlPlaneNamespace: namespace } = config;
  const { version } = options;
  if (publishing.host !== undefined) return hostedModel(config, { version });
  if (!options.dryRun)
    await applyAll(clusters, publishedObjects(hostedModel(config, { version, host: ANY_HOST })), options);
  const deadline = Date.now() + (options.dryRun ? 0 : options.waitMs);
  for (;;) {
    const { host } = await publishedAddress(clusters.management, namespace, publishing);
    if (host !== undefined || Date.now() >= deadline) return hostedModel(config, { version, host });
    await pause(systemClock, 1000);
  }
}

/** With `force`, deletes although a kube-apiserver still has the server. */
export async function deleteHosted(
  clusters: HostedClusters,
  config: HostedConfig,
  { force, version }: { readonly force: boolean; readonly version: string },
): Promise<HostedReport> {
  const model = hostedModel(config, { version, host: config.publishing.host ?? ANY_HOST });
  const deployment = await apiServerDeployment(clusters, model);
  const given = await release(clusters, isOurs(deployment) ? [borrowed(apiServerPatch(model, undefined))] : []);
  if (!force) await refuseWhileInUse(clusters, model);
  const others = renderHosted(model).objects.filter(({ isBorrowed }) => isBorrowed);
  const gone = await prune(clusters, model.namespace, [], { dryRun: false });
  return { objects: [...given, ...gone, ...(await release(clusters, others))], issued: [] };
}

interface Deployment extends KubeObject {
  readonly metadata?: ObjectMeta & { readonly managedFields?: readonly { readonly manager?: string }[] };
  readonly spec?: {
    readonly template?: { readonly spec?: { readonly containers?: readonly { readonly name: string }[] } };
  };
}

const apiServerDeployment = ({ management }: HostedClusters, { namespace }: HostedModel) =>
  find<Deployment>(management, namedPath("Deployment", { namespace, name: names.apiServer }));

/** Whether an apply changed it before; what others put there stays theirs. */
const isOurs = (deployment: Deployment | undefined): boolean =>
  deployment?.metadata?.managedFields?.some(({ manager }) => manager === FIELD_MANAGER) ?? false;

const borrowed = (manifest: KubeManifest): RenderedObject => ({ side: "control-plane", manifest, isBorrowed: true });

async function refuseWhileInUse(clusters: HostedClusters, model: HostedModel): Promise<void> {
  const deployment = await apiServerDeployment(clusters, model);
  if (!deployment?.spec?.template?.spec?.containers?.some(({ name }) => name === names.server)) return;
  throw new DrawbridgeError(
    "DB_HOSTED_IN_USE",
    `Deployment ${model.namespace}/${names.apiServer} still has the container ${names.server}, and none of its pods would start again.`,
  );
}

interface Secret extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

const DAY_MS = 24 * 60 * 60_000;

interface CertificateOptions {
  readonly rotation?: RotationStep | undefined;
  readonly now?: Date;
}

/** The certificates of the control plane's Secrets, with those made or renewed that have to be. */
export async function currentCertificates(
  api: KubeApi,
  model: HostedModel,
  { rotation, now = new Date() }: CertificateOptions = {},
): Promise<UpToDatePki> {
  const set = hostedProfile(pkiOptions(model));
  const { namespace } = model;
  const pairsIn = async (name: string, ...keys: readonly string[]): Promise<(PemPair | undefined)[]> => {
    const { data = {} } = (await find<Secret>(api, namedPath("Secret", { namespace, name }))) ?? {};
    const text = (key: string) => Buffer.from(data[key] ?? "", "base64").toString();
    return keys.map((key) => {
      const pair = { certificatePem: text(`${key}.crt`), privateKeyPem: text(`${key}.key`) };
      return pair.certificatePem === "" || pair.privateKeyPem === "" ? undefined : pair;
    });
  };
  const signers = new Map<string, KeptSigner>();
  for (const { name } of set.signers) {
    const [pair, next] = await pairsIn(name, "ca", "next");
    if (pair !== undefined) signers.set(name, { ...pair, next });
  }
  const leaves = new Map<string, PemPair>();
  for (const { name } of set.leaves) {
    const [pair] = await pairsIn(name, "tls");
    if (pair !== undefined) leaves.set(name, pair);
  }
  const { keepOrIssue } = await import("../../../tunnel/pki/keep.js");
  const renewBeforeMs = model.certificates.renewDays * DAY_MS;
  return keepOrIssue(set, { signers, leaves }, { renewBeforeMs, rotation, now });
}

interface Service extends KubeObject {
  readonly spec?: { readonly type?: string; readonly ports?: readonly { readonly nodePort?: number }[] };
  readonly status?: {
    readonly loadBalancer?: { readonly ingress?: readonly { readonly hostname?: string; readonly ip?: string }[] };
  };
}

interface Route extends KubeObject {
  readonly spec?: { readonly host?: string };
}

/** Where agents reach the servers, as the management cluster has it; host or port may still be missing. */
export async function publishedAddress(
  api: KubeApi,
  namespace: string,
  { type, host, port }: Publishing,
): Promise<Partial<DialAddress>> {
  if (type === "Route") {
    const path = namedPath("Route", { namespace, name: names.server });
    const route = await find<Route>(api, path);
    return endpoint(host ?? route?.spec?.host, route && port);
  }
  const service = await find<Service>(api, namedPath("Service", { namespace, name: names.server }));
  if (service === undefined) return {};
  if (type === "NodePort") return endpoint(host, service.spec?.ports?.[0]?.nodePort);
  const [first] = service.status?.loadBalancer?.ingress ?? [];
  return endpoint(host ?? first?.hostname ?? first?.ip, port);
}

const endpoint = (host: string | undefined, port: number | undefined): Partial<DialAddress> => ({
  ...(host && { host }),
  ...(port && { port }),
});
