/**
 * First of all the kube-apiserver stops using the bridge, and is ready without it. Any other order breaks every webhook
 * that must answer.
 */
import { messageOf } from "../../../base/errors/error.js";
import { collectionPath } from "../../kube/paths.js";
import type { Pod } from "../../kube/pods.js";
import type { KubeApi } from "../../kube/port.js";
import { isInManifest, runningApiServers, undoChange, undoInstructions } from "../host/api-server.js";
import { waitFor } from "../host/host.js";
import { egressFlag } from "../model/created.js";
import type { BridgeModel } from "../model/model.js";
import { openshiftHost } from "../model/names.js";
import type { Removal } from "./receipt.js";
import type { TeardownSite } from "./scope.js";

/** What became of the kube-apiserver's flag, with sentences for the receipt. */
export interface ApiServerRelease extends Removal {
  readonly warnings?: readonly string[];
  /** What only somebody else can see to. */
  readonly notes?: readonly string[];
  /** It is unknown what is left on the host. */
  readonly isUnknown?: boolean;
}

export async function releaseApiServer(site: TeardownSite): Promise<ApiServerRelease> {
  const { host, model, setting } = site;
  if (model.for === "openshift") {
    const [assets, done] = await Promise.all(
      [bootkubeMarks.assets, bootkubeMarks.done].map((path) => host.files.status(path)),
    );
    return releaseFromBootkube(assets !== undefined, done !== undefined);
  }
  if (setting.by === "manifest") await host.files.removeUnfinished(setting.manifest);
  const { using, others } = await runningApiServers(host, model);
  const written = (await isInManifest(host, model, setting)) === true;
  if (using.length > 0 || written) return releaseHere(site);
  if (others.length > 0) return { state: "absent", detail: "the kube-apiserver here runs without it" };
  return releaseElsewhere(site);
}

async function releaseHere({ host, model, setting, api, limit, report }: TeardownSite): Promise<ApiServerRelease> {
  const undo = undoInstructions(model, setting);
  const left = (detail: string) =>
    ({ state: "left", detail, warnings: [`${undo}, then run the teardown again.`] }) as const;
  try {
    if (!(await undoChange(host, model, setting))) report(`${undo}; waiting for it.`);
  } catch (reason) {
    return left(messageOf(reason));
  }
  let using = 1;
  const isFree = async (): Promise<boolean> => {
    using = (await runningApiServers(host, model)).using.length;
    return using === 0 && (api === undefined || (await api.localReady()));
  };
  if (await waitFor(host, limit.end, isFree))
    return { state: "restored", detail: "the kube-apiserver is ready without it" };
  if (using > 0) return left("a running kube-apiserver still has the flag");
  return {
    state: "restored",
    detail: "no kube-apiserver has it any more",
    warnings: ["The kube-apiserver was not ready again before the limit; its own log says why."],
  };
}

/** No kube-apiserver is on this host: a workstation, or a control plane that is down. */
async function releaseElsewhere({ host, model, setting, api }: TeardownSite): Promise<ApiServerRelease> {
  const { name, value } = egressFlag(model);
  const kube = await api?.cluster();
  const user = kube && (await userOf(kube, model));
  if (user !== undefined) {
    const where = "run the teardown on its host first, where its flag can be changed";
    return { state: "left", detail: user, warnings: [`${user}; ${where}, or give --force to break its webhooks.`] };
  }
  const absent = { state: "absent", detail: "no kube-apiserver was seen with it" } as const;
  const answered = kube !== undefined && (await api!.clusterReady());
  const knowsBridge = (await host.files.status(model.paths.egressConfig.host)) !== undefined;
  if (answered || !knowsBridge || setting.by === "manifest") return absent;
  const warning = `No kube-apiserver runs here. One that still has --${name}=${value} will not start again: take the flag away.`;
  return { ...absent, warnings: [warning] };
}

/** From afar: kubeadm's kube-apiservers are visible as pods, any kube-apiserver counts what it sent to a server. */
async function userOf(kube: KubeApi, model: BridgeModel): Promise<string | undefined> {
  const { name, value } = egressFlag(model);
  try {
    const { items } = await kube.list<Pod>(collectionPath("Pod", "kube-system"), {
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

/** Paths that show how far a bootstrap host is. */
export const bootkubeMarks = {
  /** This is such a host. */
  assets: openshiftHost.assets,
  /** The bootstrap kube-apiserver is gone. */
  done: `${openshiftHost.assets}/cb-bootstrap.done`,
  /** Nothing reads the injected scripts any more. */
  through: `${openshiftHost.assets}/.bootkube.done`,
} as const;

/** The kube-apiserver that uses an OpenShift bridge is itself a part of bootstrap, and ends with cluster-bootstrap. */
export function releaseFromBootkube(isHost: boolean, isDone: boolean): ApiServerRelease {
  if (!isHost || isDone) return { state: "absent", detail: "the bootstrap kube-apiserver is gone" };
  const detail = "cluster-bootstrap has not finished, so the bootstrap kube-apiserver may still use the bridge";
  const step = "Wait until bootstrap is complete, or give --force to break its webhooks.";
  return { state: "left", detail, warnings: [`On the bootstrap host ${detail}. ${step}`] };
}
