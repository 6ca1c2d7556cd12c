/** Agents and their certificates in the cluster. */
import { DrawbridgeError, messageOf } from "../../../../base/errors/error.js";
import { isTransient } from "../../../kube/errors.js";
import { find } from "../../../kube/objects.js";
import { objectPath } from "../../../kube/paths.js";
import type { KubeApi, KubeObject } from "../../../kube/port.js";
import { clusterObjects } from "../../model/created.js";
import { BOOTSTRAP_ONLY_SELECTOR } from "../../model/names.js";
import { agentDaemonSet, agentNamespace, agentSecret } from "../../render/agent-objects.js";
import { waitFor } from "../host.js";
import { includes } from "../includes.js";
import type { Site } from "../site.js";
import type { Step, StepState } from "../step.js";
import { agentCertificates } from "./certificates.js";

const FIELD_MANAGER = "drawbridge-bootstrap";

interface Wanted extends KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

interface Live extends KubeObject {
  readonly metadata?: KubeObject["metadata"] & { readonly deletionTimestamp?: string };
}

export function agentsStep(site: Site): Step {
  const { host, model, api, timeoutMs } = site;
  const wanted = async (): Promise<Wanted[]> => {
    const certificates = await agentCertificates(site);
    return [agentNamespace(model), agentSecret(model, certificates), agentDaemonSet(model)];
  };
  return {
    name: "agents",
    title: "Agents in the cluster",
    makes: async () => clusterObjects(model),
    async check() {
      try {
        return await checkObjects(await api.cluster(), await wanted());
      } catch (reason) {
        return { state: "missing", detail: messageOf(reason).replace(/\.$/, "") };
      }
    },
    async do() {
      const kube = await api.cluster();
      await refuseForeignNamespace(kube, model.namespace);
      const isGone = async () => !(await isEnding(kube, model.namespace));
      // An earlier teardown does not wait for it.
      if (!(await waitFor(host, host.now() + timeoutMs, isGone, 500))) {
        const sentence = `The namespace ${model.namespace} of an earlier bridge is still being removed.`;
        throw new DrawbridgeError("DB_BRIDGE_EXISTS", sentence);
      }
      for (const object of await wanted()) await put(site, kube, object);
    },
  };
}

async function checkObjects(kube: KubeApi, wanted: readonly Wanted[]): Promise<StepState> {
  for (const object of wanted) {
    const { kind } = object;
    const { name } = object.metadata;
    const live = await liveOf(kube, object);
    if (live === undefined) return { state: "missing", detail: `the ${kind} ${name} is not there` };
    if (live.metadata?.deletionTimestamp) return { state: "missing", detail: `the ${kind} ${name} is being removed` };
    if (!includes(live, object)) return { state: "wrong", detail: `the ${kind} ${name} is not as it should be` };
  }
  const place = wanted[0]?.metadata.name;
  return { state: "done", detail: `${wanted.map(({ kind }) => kind).join(", ")} in ${place}` };
}

/** A fresh namespace has no service account for a moment, and a busy API server refuses now and then. */
async function put({ host, timeoutMs }: Site, kube: KubeApi, object: Wanted): Promise<void> {
  let last: unknown;
  const isPut = async (): Promise<boolean> => {
    try {
      await kube.apply(objectPath(object), object, { fieldManager: FIELD_MANAGER, force: true });
      return true;
    } catch (reason) {
      last = reason;
      if (!isTransient(reason)) throw reason;
      return false;
    }
  };
  if (!(await waitFor(host, host.now() + timeoutMs, isPut, 1_000))) throw last;
}

const liveOf = (kube: KubeApi, object: KubeObject): Promise<Live | undefined> =>
  find<Live>(kube, objectPath(object), { timeoutMs: 10_000 });

async function isEnding(kube: KubeApi, namespace: string): Promise<boolean> {
  const live = await liveOf(kube, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } }).catch(
    (reason: unknown) => {
      if (isTransient(reason)) return undefined;
      throw reason;
    },
  );
  return live?.metadata?.deletionTimestamp !== undefined;
}

/** Teardown removes the namespace with all that is in it, so it must be one that nobody else uses. */
async function refuseForeignNamespace(kube: KubeApi, name: string): Promise<void> {
  const live = await liveOf(kube, { apiVersion: "v1", kind: "Namespace", metadata: { name } }).catch(() => undefined);
  if (live === undefined) return;
  const [label = "", value] = BOOTSTRAP_ONLY_SELECTOR.split("=");
  if (live.metadata?.labels?.[label] === value) return;
  const sentence = `The namespace ${name} exists and does not carry the label ${BOOTSTRAP_ONLY_SELECTOR}.`;
  throw new DrawbridgeError("DB_BRIDGE_EXISTS", sentence);
}
