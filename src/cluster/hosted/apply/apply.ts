/** `hosted apply`, `diff` and `delete`: a model's objects and two clusters brought into agreement. */
import { pause, systemClock } from "../../../base/clock.js";
import type { PemPair } from "../../../tunnel/pki/issue.js";
import type { KeptSigner, RotationStep, UpToDatePki } from "../../../tunnel/pki/keep.js";
import { hostedProfile } from "../../../tunnel/pki/profiles.js";
import type { KubeManifest, ObjectOutcome } from "../../kube/apply.js";
import { find } from "../../kube/objects.js";
import { namedPath } from "../../kube/paths.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import { isAtLeast } from "../../kube/version.js";
import type { HostedConfig, Publishing } from "../config/config.js";
import { type DialAddress, type HostedModel, hostedModel, pkiOptions } from "../model/model.js";
import { names } from "../model/names.js";
import type { RenderedObject } from "../render/manifest.js";
import { publishedObjects, renderHosted } from "../render/render.js";
import { apiServerPatch } from "../render/server.js";
import { applyToApiServer, readApiServer, releaseApiServer } from "./api-server.js";
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

/** Before, a kube-apiserver looks for an aggregated API's address in Endpoints only. */
const SLICES_SINCE = 33;

/** Everything is checked by the clusters before anything is changed. */
export async function applyHosted(
  clusters: HostedClusters,
  config: HostedConfig,
  options: HostedApplyOptions,
): Promise<HostedReport> {
  const { publishing, controlPlaneNamespace: namespace } = config;
  const { management } = clusters;
  const { isPatched, facts } = await readApiServer(management, config, options.patchApiServer);
  const isOld = clusters.hosted !== undefined && !(await isAtLeast(clusters.hosted, SLICES_SINCE));
  const endpointKind = isOld ? "Endpoints" : "EndpointSlice";
  const wantedWith = async (host: string | undefined) => {
    const model = hostedModel(config, { version: options.version, host, facts, endpointKind });
    const certificates = await currentCertificates(management, model, options);
    const { objects } = renderHosted(model, certificates);
    return { model, objects, certificates, patch: isPatched ? apiServerPatch(model, certificates) : undefined };
  };
  const assigned = publishing.host ?? (await publishedAddress(management, namespace, publishing)).host;
  let wanted = await wantedWith(assigned ?? (options.dryRun ? undefined : ANY_HOST));
  if (!options.dryRun) await applyWanted(clusters, wanted, { ...options, dryRun: true });
  if (assigned === undefined) wanted = await wantedWith(await assignedHost(clusters, wanted.model, options));
  const outcomes = await applyWanted(clusters, wanted, options);
  const pruned = await prune(clusters, namespace, wanted.objects, options);
  return { objects: [...outcomes, ...pruned], issued: wanted.certificates.issued };
}

interface Wanted {
  readonly model: HostedModel;
  readonly objects: readonly RenderedObject[];
  /** Of the kube-apiserver's Deployment, if it is to be changed. */
  readonly patch: KubeManifest | undefined;
}

async function applyWanted(
  clusters: HostedClusters,
  { model, objects, patch }: Wanted,
  options: HostedApplyOptions,
): Promise<ObjectOutcome[]> {
  const isPolicy = ({ manifest }: RenderedObject) => manifest.kind === "NetworkPolicy";
  const policies = objects.filter(isPolicy);
  const outcomes = await applyAll(
    clusters,
    objects.filter((object) => !isPolicy(object)),
    options,
  );
  if (patch !== undefined) outcomes.push(await applyToApiServer(clusters.management, patch, model, options));
  // Last: they close every port that they do not name.
  return [...outcomes, ...(await applyAll(clusters, policies, options))];
}

/** Any host does where only the objects' names count. */
const ANY_HOST = "unknown.invalid";

/** Publishes the servers and waits for the address that the cluster assigns. */
async function assignedHost(clusters: HostedClusters, model: HostedModel, options: HostedApplyOptions) {
  await applyAll(clusters, publishedObjects(model), options);
  const deadline = systemClock.now() + options.waitMs;
  for (;;) {
    const { host } = await publishedAddress(clusters.management, model.namespace, model.publishing);
    if (host !== undefined || systemClock.now() >= deadline) return host;
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
  const given = await releaseApiServer(clusters.management, model, { force });
  const others = renderHosted(model).objects.filter(({ isBorrowed }) => isBorrowed);
  const gone = await prune(clusters, model.namespace, [], { dryRun: false });
  const released = await release(clusters, others);
  return { objects: [...(given ? [given] : []), ...gone, ...released], issued: [] };
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
