/**
 * Keeps the kubeconfig that machines join with in a Secret: its token is asked of the cluster that they join, and asked again
 * when half of its life has passed, when the cluster's ConfigMap names another API server, and when it is refused. A token that
 * was replaced stays valid until its own end, so machines that boot with it still join.
 */
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { isoTime } from "../../../base/text.js";
import { kubeManifest } from "../../kube/builders.js";
import { KubeApiError } from "../../kube/errors.js";
import { namedPath, typed } from "../../kube/paths.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import {
  type BootstrapCredential,
  type CredentialAnswer,
  credentialData,
  type JoinedApi,
  readCredential,
  tryCredential,
} from "../credential/credential.js";
import { BOOTSTRAPPER } from "../csr/request-context.js";
import { BOOTSTRAP_SECRET, type ConfigMap, nameOf, pathOf, type Secret } from "../objects.js";
import { isClusterObject, type View } from "../pool/input.js";
import type { WorkOutcome } from "../work-queue.js";
import type { Writer } from "./controller.js";
import { OWNER_LABEL, OWNER_NAME } from "./hypershift.js";

/** The cluster that machines join, as far as their first credential needs it. */
export interface CredentialIssuer {
  /** A new token of the machines' ServiceAccount. */
  token(): Promise<string>;
  attempt(credential: BootstrapCredential): Promise<CredentialAnswer>;
}

const DAY_MS = 24 * 60 * 60_000;
/** The API server may give less. */
const LIFE_MS = 7 * DAY_MS;
/** A credential that a person made is complained of this long before its end. */
export const ENDS_SOON_MS = 7 * DAY_MS;
const AFTER_REFUSAL_MS = 60_000;

/** `api`: of the cluster that machines join. */
export function credentialIssuer(api: KubeApi): CredentialIssuer {
  return { token: () => requestToken(api), attempt: tryCredential };
}

async function requestToken(api: KubeApi): Promise<string> {
  const asked = {
    ...{ apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest" },
    spec: { expirationSeconds: LIFE_MS / 1000 },
  };
  const path = `${namedPath("ServiceAccount", BOOTSTRAPPER)}/token`;
  try {
    const { status } = await api.create<KubeObject & { status?: { token?: string } }>(path, asked as KubeObject);
    if (!status?.token) throw new Error("the API server answered without a token");
    return status.token;
  } catch (cause) {
    const isMissing = cause instanceof KubeApiError && (cause.status === 403 || cause.status === 404);
    const remedy = isMissing
      ? "Run drawbridge nodepool install with an administrator's kubeconfig in the cluster that machines join: it makes the ServiceAccount and the right to its tokens."
      : undefined;
    throw new DrawbridgeError("DB_NODE_CREDENTIAL", `${CANNOT} be made: ${messageOf(cause)}`, { cause, remedy });
  }
}

const CANNOT = "the bootstrap kubeconfig that machines join with cannot";

interface KeepCredentialOptions {
  readonly view: View;
  readonly namespace: string;
  readonly writer: Writer;
  readonly issuer: CredentialIssuer;
  readonly now: () => number;
  /** Called with what was issued, and why. */
  readonly onIssued?: ((sentence: string) => void) | undefined;
  /** Called with the time at which the credential in the Secret ends; undefined: there is none, or it does not say. */
  readonly onEnd?: ((until: number | undefined) => void) | undefined;
  readonly onError: (sentence: string, reason?: unknown) => void;
}

/** One pass over the credential. */
export async function keepCredential(options: KeepCredentialOptions): Promise<WorkOutcome> {
  const { namespace, now, onEnd, onError, view } = options;
  const secret = view.secrets.get(pathOf({ namespace, name: BOOTSTRAP_SECRET }));
  const kept = secret && (await credentialIn(secret));
  onEnd?.(kept?.life?.until);
  const joined = joinedApi(view);
  if (joined === undefined) return "wait";
  if (secret !== undefined && secret.metadata?.labels?.[OWNER_LABEL] !== OWNER_NAME) {
    return reportForeign(secret, kept?.life?.until, options);
  }
  const why = whyIssue(kept, joined, now());
  if (why !== undefined) return issue(why, joined, secret, options);
  const { life } = kept as BootstrapCredential;
  const answer = await options.issuer.attempt(kept as BootstrapCredential);
  if (answer.outcome === "refused") {
    // One that was accepted a moment ago is not replaced at once, and so not again and again.
    const again = life!.from + AFTER_REFUSAL_MS;
    return now() < again ? again : issue("its API server refuses the former one", joined, secret, options);
  }
  complain(answer, joined, onError);
  return halfLife(life!);
}

const halfLife = ({ from, until }: NonNullable<BootstrapCredential["life"]>): number => from + (until - from) / 2;

/** Undefined for one that cannot be read: it is made again. */
function credentialIn(secret: Secret): Promise<BootstrapCredential | undefined> {
  return readCredential(secret).catch(() => undefined);
}

function whyIssue(kept: BootstrapCredential | undefined, joined: JoinedApi, now: number): string | undefined {
  if (kept === undefined) return "there is none that can be used";
  if (kept.server !== joined.server) return `the cluster names another API server than ${kept.server}`;
  if (kept.authorityPem !== joined.authorityPem) return "the cluster names another authority";
  if (kept.life === undefined) return "it does not say when it ends";
  return now >= halfLife(kept.life) ? "half of its life has passed" : undefined;
}

async function issue(why: string, joined: JoinedApi, before: Secret | undefined, options: KeepCredentialOptions) {
  const { issuer, namespace, now, onEnd, onError, onIssued, writer } = options;
  const data = credentialData(joined, await issuer.token());
  const metadata = { name: BOOTSTRAP_SECRET, namespace, labels: { [OWNER_LABEL]: OWNER_NAME } };
  const secret: Secret = kubeManifest("Secret", metadata, { type: "Opaque", data });
  const credential = await readCredential(secret);
  const { life } = credential;
  if (life === undefined || halfLife(life) <= now()) {
    const end = life === undefined ? "does not say when it ends" : `ends on ${isoTime(life.until)}`;
    throw unusable(`be renewed in time: the token that was issued just now ${end}; see that the clocks are right`);
  }
  const answer = await issuer.attempt(credential);
  if (answer.outcome === "refused") {
    // Nobody could join with it, and the former one may still be good.
    onError(
      `${CANNOT} be made: ${joined.server} of the ConfigMap ${pathOf({ namespace, name: joined.cluster })} refuses a token that was issued for it just now, so machines join another cluster than the one that was asked; give its kubeconfig with --hosted-kubeconfig, or make the Secret ${pathOf(metadata)} yourself`,
      answer.error,
    );
    return now() + AFTER_REFUSAL_MS;
  }
  const renewed: Secret | undefined = before && { ...typed("Secret", before), data };
  await writer.perform(
    renewed === undefined ? { verb: "create", object: secret } : { verb: "update", object: renewed },
  );
  onEnd?.(life.until);
  onIssued?.(`the bootstrap kubeconfig was made, until ${isoTime(life.until)}: ${why}`);
  complain(answer, joined, onError);
  return halfLife(life);
}

function complain(
  answer: CredentialAnswer,
  { cluster, server }: JoinedApi,
  onError: KeepCredentialOptions["onError"],
): void {
  if (answer.outcome === "server") {
    onError(
      `machines cannot join at ${server} with the authority of the ConfigMap ${cluster}: ${answer.error.message}`,
      answer.error,
    );
  }
  if (answer.outcome === "accepted" && !answer.mayRequest) {
    onError(
      `machines cannot join at ${server}: the ServiceAccount ${pathOf(BOOTSTRAPPER)} may not create certificatesigningrequests; drawbridge nodepool install binds it to the ClusterRole system:node-bootstrapper`,
    );
  }
}

/** One that a person made stays as it is. */
function reportForeign(secret: Secret, end: number | undefined, { now, onError }: KeepCredentialOptions): WorkOutcome {
  const soon = end !== undefined && end - now() < ENDS_SOON_MS;
  const endWords = soon ? `, though it ${end <= now() ? "ended" : "ends"} on ${isoTime(end)}` : "";
  onError(
    `the Secret ${pathOf(nameOf(secret))} was not made by drawbridge, so it stays as it is${endWords}; give it the label ${OWNER_LABEL}=${OWNER_NAME}, or delete it, to have it made and renewed`,
  );
  return end === undefined || soon ? "wait" : end - ENDS_SOON_MS;
}

/** Undefined while no cluster names an API server. Throws when two name different ones, for which one Secret cannot do. */
function joinedApi({ configMaps }: View): JoinedApi | undefined {
  const named = [...configMaps.values()].filter((map) => isClusterObject(map) && map.data?.apiServer?.trim());
  const [first, ...others] = named.sort((a, b) => (nameOf(a).name < nameOf(b).name ? -1 : 1)).map(joinedOf);
  const other = others.find((each) => each.server !== first?.server || each.authorityPem !== first.authorityPem);
  if (first !== undefined && other !== undefined) {
    throw unusable(
      `be made: the clusters ${first.cluster} and ${other.cluster} have different API servers or authorities, and a namespace has one Secret ${BOOTSTRAP_SECRET}; give each cluster a namespace and a controller of its own`,
    );
  }
  return first;
}

function joinedOf(map: ConfigMap): JoinedApi {
  const { apiServer = "", apiServerCA = "" } = map.data ?? {};
  const server = apiServer.trim().replace(/\/+$/, "");
  const where = `the ConfigMap ${pathOf(nameOf(map))}`;
  if (!/^https:\/\//i.test(server) || !URL.canParse(server))
    throw unusable(`be made: apiServer of ${where} is not a URL that begins with https://`);
  if (!apiServerCA.includes("-----BEGIN CERTIFICATE-----"))
    throw unusable(`be made: apiServerCA of ${where} holds no certificate`);
  return { cluster: nameOf(map).name, server, authorityPem: apiServerCA };
}

const unusable = (why: string) => new DrawbridgeError("DB_NODE_CREDENTIAL", `${CANNOT} ${why}`);
