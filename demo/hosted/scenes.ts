/** What is done to the control plane while its callers go on. */
import type { HostedCluster } from "../../test/support/hosted-cluster/cluster.js";
import * as scenes from "../../test/support/hosted-cluster/scenes.js";
import { servedOf } from "../../test/support/hosted-cluster/traffic/report.js";
import { Traffic } from "../../test/support/hosted-cluster/traffic/traffic.js";
import type { Show } from "../report/show.js";
import { conclude, concludeKill } from "./conclusions.js";
import { secondsSince } from "./seconds.js";

/** What two cores carry beside two clusters. */
const WRITES_PER_SECOND = 20;
const FIRST_CALLS = 100;

export async function beginCalls(cluster: HostedCluster, show: Show): Promise<Traffic> {
  show.note(`${WRITES_PER_SECOND} writes a second past a webhook on the workers (failurePolicy Fail)`);
  show.note("5 calls a second each of aggregated APIs on the workers and in the control plane");
  show.note("kubectl exec for 3 seconds, in one worker after the other");
  show.note("5 HTTPS requests a second by a component's SOCKS5 sidecar");
  const traffic = await Traffic.start(cluster, { writesPerSecond: WRITES_PER_SECOND });
  let report = await traffic.count();
  while (servedOf(report) < FIRST_CALLS) report = await traffic.count();
  conclude(report, traffic.markedAt, show);
  return traffic;
}

export async function rollApiServers(cluster: HostedCluster, traffic: Traffic, show: Show): Promise<void> {
  const image = await cluster.otherApiServerImage();
  const before = await scenes.apiServerPods(cluster);
  const began = Date.now();
  traffic.mark();
  await cluster.roll({ image });
  show.note(`the Deployment has another image: ${before.length} pods are to be replaced`);
  await cluster.rolledOut();
  show.note(`${secondsSince(began)}  all new pods are ready`);
  await scenes.apiServersEnded(cluster);
  show.note(`${secondsSince(began)}  the last of the old kube-apiservers has ended`);
  conclude(await traffic.count(before), traffic.markedAt, show);
}

/** Not planned: what was open there is lost, and nothing that begins later. */
export async function killPod(cluster: HostedCluster, traffic: Traffic, show: Show): Promise<void> {
  const before = await scenes.apiServerPods(cluster);
  traffic.mark();
  const killedAt = await scenes.killApiServer(cluster);
  show.note("a kube-apiserver and the server beside it were killed (SIGKILL)");
  await cluster.rolledOut();
  show.note(`${secondsSince(killedAt)}  another pod is ready`);
  const after = await scenes.apiServerPods(cluster);
  const report = await traffic.count(before.filter((name) => !after.includes(name)));
  concludeKill(report, { markedAt: traffic.markedAt, killedAt }, show);
}
