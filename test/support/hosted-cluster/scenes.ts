/** Changes of a hosted cluster as its operators make them, each to its end. */

import { PROFILES } from "../../../src/cluster/hosted/model/profiles.js";
import type { KubeObject } from "../../../src/cluster/kube/port.js";
import { STRATEGY_AGENTS_METRIC } from "../../../src/tunnel/server/strategy-counts.js";
import { get } from "../lab/http.js";
import { metric } from "../lab/metrics.js";
import { run } from "../lab/run.js";
import { until } from "../lab/wait.js";
import { COMPONENT, type HostedCluster } from "./cluster.js";
import { NAMESPACE } from "./objects.js";
import { API_NAME, API_PORT } from "./plane.js";

interface Pod extends KubeObject {
  readonly status: { readonly podIP?: string };
}

interface Named {
  readonly name: string;
  readonly address: string;
  readonly isEnding: boolean;
}

/** Pods of the control plane, by their label `app`. */
async function podsOf({ lab }: HostedCluster, app: string): Promise<Named[]> {
  const { items } = await lab.bs.admin.json<{ items: Pod[] }>(["get", "pods", "-n", NAMESPACE, "-l", `app=${app}`]);
  return items.map(({ metadata, status }) => ({
    name: metadata?.name ?? "",
    address: status.podIP ?? "",
    isEnding: metadata?.deletionTimestamp !== undefined,
  }));
}

/** Names of those that are not ending. */
export async function apiServerPods(cluster: HostedCluster): Promise<string[]> {
  return (await podsOf(cluster, API_NAME)).filter(({ isEnding }) => !isEnding).map(({ name }) => name);
}

/** Nothing listens any more in pods that are ending, though servers beside may still wait for their tunnels. */
export async function apiServersEnded(cluster: HostedCluster): Promise<void> {
  const { netns } = cluster.node;
  await until("the kube-apiservers of ending pods to have ended", 100_000, async () => {
    for (const { address, isEnding } of await podsOf(cluster, API_NAME)) {
      if (!isEnding || address === "") continue;
      const { code } = await run(["curl", "-sk", "--max-time", "2", `https://${address}:${API_PORT}/livez`], { netns });
      if (code === 0) return false;
    }
    return true;
  });
}

/** One on each worker, and two in the control plane. */
const ALL_AGENTS = 4;

/** As an operator looks before the next change: every server has all agents of both sides. */
export async function settled(cluster: HostedCluster): Promise<void> {
  const { health } = PROFILES.hypershift.ports;
  await until("every server to have all agents", 100_000, async () => {
    for (const { address, isEnding } of await podsOf(cluster, API_NAME)) {
      if (isEnding) continue;
      const { body } = await get(`http://${address}:${health}/metrics`, cluster.node.netns);
      if (metric(body, STRATEGY_AGENTS_METRIC) < ALL_AGENTS) return false;
    }
    return true;
  });
}

export async function rollAgents(cluster: HostedCluster, image: string): Promise<void> {
  const { image: own } = cluster.lab;
  cluster.describe({ image: { server: own, agent: image, sidecar: own } });
  await cluster.mustRun("apply", cluster.both);
  await cluster.agentsRolledOut();
  await cluster.onlyNew("konnectivity-agent");
}

export async function rollSidecars(cluster: HostedCluster, image: string): Promise<void> {
  const sidecars = ["socks5", "https"].map((mode) => `konnectivity-proxy-${mode}=${image}`);
  await cluster.lab.kubectl("set", "image", `deployment/${COMPONENT}`, "-n", NAMESPACE, ...sidecars);
  await cluster.rolledOut(COMPONENT);
  await cluster.onlyNew(COMPONENT);
}

export async function drain({ plane }: HostedCluster, node: string): Promise<void> {
  await plane.admin.run(["drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=100s"]);
  await plane.admin.run(["rollout", "status", "deployment/webhook", "-n", "lab", "--timeout=60s"]);
  await plane.admin.run(["uncordon", node]);
}

/** docs/hosted.md, Certificates: the kube-apiservers of one step are gone before the next. */
export async function rotateSigners(cluster: HostedCluster): Promise<void> {
  for (const step of ["introduce", "switch", "retire"]) {
    await cluster.mustRun("apply", cluster.both, `--rotate-signers=${step}`, "--patch-kube-apiserver");
    await cluster.rolledOut();
    await apiServersEnded(cluster);
  }
}

/** All programs of one pod at once, as when the machine's memory is at its end; gives the time at which they were dead. */
export async function killApiServer(cluster: HostedCluster): Promise<number> {
  const { node } = cluster;
  const [name = ""] = await apiServerPods(cluster);
  const containers = [API_NAME, "konnectivity-server"].map((container) =>
    node.ctr([
      "containers",
      "ls",
      "-q",
      `labels."io.kubernetes.pod.name"==${name},labels."io.kubernetes.container.name"==${container}`,
    ]),
  );
  const ids = (await Promise.all(containers)).map((text) => text.trim());
  await Promise.all(ids.map((id) => node.ctr(["tasks", "kill", "-s", "SIGKILL", id])));
  const at = Date.now();
  await cluster.lab.kubectl("delete", "pod", name, "-n", NAMESPACE, "--force", "--grace-period=0");
  return at;
}

/** One is taken out and the other brought in; callers notice it. One kube-apiserver is enough to show it. */
export async function changeProfile(cluster: HostedCluster, profile: string): Promise<void> {
  await cluster.inOneRollOut(async () => {
    await cluster.mustRun("delete", cluster.both);
    cluster.describe({ profile, replicas: 1 });
    await cluster.mustRun("apply", cluster.both, "--patch-kube-apiserver");
    await cluster.roll({ replicas: 1 });
  });
  await cluster.agentsRolledOut();
}
