/**
 * First of all the kube-apiserver stops using the bridge, and is ready without it. Any other order breaks every webhook
 * that must answer.
 */
import { messageOf } from "../../../base/errors/error.js";
import { collectionPath } from "../../kube/paths.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import { isInManifest, runningApiServers, undoChange, undoInstructions } from "../host/api-server.js";
import { type Host, waitFor } from "../host/host.js";
import type { SettingMethod } from "../host/record.js";
import type { ApiAccess } from "../host/step.js";
import { apiServerFlag } from "../model/created.js";
import type { BridgeModel } from "../model/model.js";
import { openshiftHost } from "../model/names.js";
import type { Removal } from "./receipt.js";

export interface ApiServerRelease extends Removal {
  readonly warnings: readonly string[];
}

export interface ReleaseInput {
  readonly host: Host;
  readonly model: BridgeModel;
  readonly setting: SettingMethod;
  /** Undefined without a kubeconfig. */
  readonly api: ApiAccess | undefined;
  readonly limit: TeardownLimit;
  /** Told at once, since somebody has to act while we wait. */
  readonly report: (sentence: string) => void;
}

export async function releaseApiServer(input: ReleaseInput): Promise<ApiServerRelease> {
  const { host, model, setting } = input;
  if (model.for === "openshift") return releaseOpenShift(host);
  if (setting.by === "manifest") await host.files.removeUnfinished(setting.manifest);
  const { using, others } = await runningApiServers(host, model);
  const written = (await isInManifest(host, model, setting)) === true;
  if (using.length > 0 || written) return releaseHere(input);
  if (others.length > 0) return { state: "absent", detail: "the kube-apiserver here runs without it", warnings: [] };
  return elsewhere(input);
}

async function releaseHere(input: ReleaseInput): Promise<ApiServerRelease> {
  const { host, model, setting, api, limit, report } = input;
  const undo = undoInstructions(model, setting);
  try {
    if (!(await undoChange(host, model, setting))) report(`${undo}; waiting for it.`);
  } catch (reason) {
    return { state: "left", detail: messageOf(reason), warnings: [`${undo}, then run the teardown again.`] };
  }
  let using = 1;
  const isFree = async (): Promise<boolean> => {
    using = (await runningApiServers(host, model)).using.length;
    return using === 0 && (api === undefined || (await api.localReady()));
  };
  if (await waitFor(host, limit.end, isFree)) {
    return { state: "restored", detail: "the kube-apiserver is ready without it", warnings: [] };
  }
  if (using > 0) {
    const detail = "a running kube-apiserver still has the flag";
    return { state: "left", detail, warnings: [`${undo}, then run the teardown again.`] };
  }
  return {
    state: "restored",
    detail: "no kube-apiserver has it any more",
    warnings: ["The kube-apiserver was not ready again before the limit; its own log says why."],
  };
}

/** No kube-apiserver is on this host: a workstation, or a control plane that is down. */
async function elsewhere({ host, model, setting, api }: ReleaseInput): Promise<ApiServerRelease> {
  const { name, value } = apiServerFlag(model);
  const kube = await api?.cluster();
  const user = kube && (await userOf(kube, model));
  if (user !== undefined) {
    const where = "run the teardown on its host first, where its flag can be changed";
    return { state: "left", detail: user, warnings: [`${user}; ${where}, or give --force to break its webhooks.`] };
  }
  const answered = kube !== undefined && (await api!.clusterReady());
  const knowsBridge = (await host.files.status(model.paths.egressConfig.host)) !== undefined;
  const warnings =
    !answered && knowsBridge && setting.by !== "manifest"
      ? [`No kube-apiserver runs here. One that still has --${name}=${value} will not start again: take the flag away.`]
      : [];
  return { state: "absent", detail: "no kube-apiserver was seen with it", warnings };
}

interface ApiServerPod extends KubeObject {
  readonly spec?: {
    readonly containers?: readonly { readonly command?: readonly string[]; readonly args?: readonly string[] }[];
  };
}

/** From afar: kubeadm's kube-apiservers are visible as pods, any kube-apiserver counts what it sent to a server. */
async function userOf(kube: KubeApi, model: BridgeModel): Promise<string | undefined> {
  const { name, value } = apiServerFlag(model);
  try {
    const { items } = await kube.list<ApiServerPod>(collectionPath("Pod", "kube-system"), {
      labelSelector: "component=kube-apiserver",
      timeoutMs: 5_000,
    });
    const pod = items.find(({ spec }) =>
      spec?.containers?.some(({ command = [], args = [] }) => [...command, ...args].includes(`--${name}=${value}`)),
    );
    if (pod !== undefined) return `The kube-apiserver ${pod.metadata?.name} still uses the bridge`;
    // Two that are beside each other in a cluster answer for themselves, so those that kubeadm shows are believed.
    if (items.length > 0) return undefined;
    const dials = await kube.text("/metrics", { timeoutMs: 5_000 });
    if (/^apiserver_egress_dialer_dial_start_total\{[^}]*\} [1-9]/m.test(dials))
      return "The kube-apiserver behind the kubeconfig sends its calls through a bridge";
  } catch {
    // One that does not answer cannot be hurt.
  }
  return undefined;
}

/**
 * How far a bootstrap host is, by the marks that bootkube.sh leaves. The kube-apiserver that uses an OpenShift bridge is
 * itself a part of bootstrap, and ends with cluster-bootstrap.
 */
export const bootkubeMarks = {
  /** The bootstrap kube-apiserver is gone. */
  done: `${openshiftHost.assets}/cb-bootstrap.done`,
  /** Nothing reads the injected scripts any more. */
  through: `${openshiftHost.assets}/.bootkube.done`,
  release: {
    state: "left",
    detail: "cluster-bootstrap has not finished, so the bootstrap kube-apiserver still uses the bridge",
    warnings: ["Wait until bootstrap is complete, or give --force to break its webhooks."],
  } satisfies ApiServerRelease,
} as const;

export function released(detail = "the bootstrap kube-apiserver is gone"): ApiServerRelease {
  return { state: "absent", detail, warnings: [] };
}

export async function releaseOpenShift({ files }: Host): Promise<ApiServerRelease> {
  const isHost = (await files.status(openshiftHost.assets)) !== undefined;
  const isAtWork = isHost && (await files.status(bootkubeMarks.done)) === undefined;
  return isAtWork ? bootkubeMarks.release : released();
}

/** The time limit of a whole teardown, whatever does not answer. */
export class TeardownLimit {
  readonly #host: Pick<Host, "now">;
  readonly end: number;

  constructor(host: Pick<Host, "now">, ms: number) {
    this.#host = host;
    this.end = host.now() + ms;
  }

  get leftMs(): number {
    return Math.max(0, this.end - this.#host.now());
  }

  /** For one request: no longer than usual, no longer than is left, but long enough to be answered at all. */
  requestMs(usual = 10_000): number {
    return Math.min(usual, Math.max(1_000, this.leftMs));
  }
}
