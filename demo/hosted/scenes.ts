/** What is done to the control plane while its callers go on. */
import type { HostedCluster } from "../../test/support/hosted-cluster/cluster.js";
import { NAMESPACE } from "../../test/support/hosted-cluster/objects.js";
import { API_NAME } from "../../test/support/hosted-cluster/plane.js";
import { failuresOf, type Report, reportText, servedOf } from "../../test/support/hosted-cluster/traffic/report.js";
import { Traffic } from "../../test/support/hosted-cluster/traffic/traffic.js";
import { until } from "../../test/support/lab/wait.js";
import type { Show } from "../report/show.js";
import { secondsSince } from "./seconds.js";

/** What two cores carry beside two clusters. */
const WRITES_PER_SECOND = 20;
/** What a balancer and clients need to notice that a pod is gone. */
const NOTICED_WITHIN_MS = 1_000;

interface Pod {
  readonly metadata: { readonly name: string };
  readonly status: {
    readonly containerStatuses?: readonly { readonly containerID?: string; readonly ready: boolean }[];
  };
}

export async function beginCalls(cluster: HostedCluster, show: Show): Promise<Traffic> {
  show.note(`${WRITES_PER_SECOND} writes a second past a webhook on the workers (failurePolicy Fail)`);
  show.note("5 calls a second of an aggregated API on the workers, and of one in the control plane");
  show.note("kubectl exec for 3 seconds, in one worker after the other");
  show.note("5 HTTPS requests a second by the SOCKS5 sidecar of a control plane component");
  const traffic = await Traffic.start(cluster, { writesPerSecond: WRITES_PER_SECOND });
  await cluster.onlyNew();
  traffic.mark();
  await until("some more calls", 60_000, async () => (await traffic.count()).exec!.served > 1);
  conclude(await traffic.count(), traffic, show, "nothing else happens");
  return traffic;
}

export async function rollApiServers(cluster: HostedCluster, traffic: Traffic, show: Show): Promise<void> {
  const image = await cluster.otherApiServerImage();
  const before = (await apiServers(cluster)).map(({ metadata }) => metadata.name);
  traffic.mark();
  await cluster.roll({ image });
  const told = tellOf(show, before);
  await until("the kube-apiserver's roll-out", 280_000, async () => {
    const now = await apiServers(cluster);
    told(now);
    return now.length === before.length && !now.some(({ metadata }) => before.includes(metadata.name));
  });
  await cluster.rolledOut();
  conclude(await traffic.count(before), traffic, show, `${before.length} pods replaced`);
}

export async function rollAgents(cluster: HostedCluster, traffic: Traffic, show: Show): Promise<void> {
  const { image } = cluster.lab;
  traffic.mark();
  cluster.describe({ image: { server: image, agent: await cluster.otherImage(), sidecar: image } });
  const { code, stderr } = await cluster.run("apply", cluster.both);
  if (code !== 0) throw new Error(stderr.trim());
  await cluster.agentsRolledOut();
  conclude(await traffic.count(), traffic, show, "agents on both workers and in the control plane replaced");
}

/** Not planned: what was open there is lost, and what begins later is not. */
export async function killPod(cluster: HostedCluster, traffic: Traffic, show: Show): Promise<void> {
  const [victim] = await apiServers(cluster);
  if (victim === undefined) throw new Error("there is no pod to kill");
  const { name } = victim.metadata;
  traffic.mark();
  const ids = (victim.status.containerStatuses ?? []).map(({ containerID }) => containerID?.split("//")[1] ?? "");
  await Promise.all(ids.map((id) => cluster.node.ctr(["tasks", "kill", "--signal", "SIGKILL", id])));
  const killedAt = Date.now();
  show.note(`killed with SIGKILL: kube-apiserver and server in ${name}`);
  await until("the pod to be ready again", 110_000, async () => {
    const again = (await apiServers(cluster)).find(({ metadata }) => metadata.name === name);
    return isReady(again, ids);
  });
  show.note(`${secondsSince(killedAt)}  it is ready again`);
  const report = await traffic.count([name]);
  const late = failuresOf(report).filter(({ at }) => at > killedAt + NOTICED_WITHIN_MS);
  const lost = failuresOf(report).length - late.length;
  const outcome = `${servedOf(report)} calls served; ${lost} failed that began before or in the second after it`;
  figures(report, show);
  if (late.length > 0) throw failed(late.length, report, traffic, show);
  show.result(`${outcome}, 0 later`);
}

async function apiServers({ lab }: HostedCluster): Promise<readonly Pod[]> {
  const place = ["-n", NAMESPACE, "-l", `app=${API_NAME}`];
  return (await lab.bs.admin.json<{ items: readonly Pod[] }>(["get", "pods", ...place])).items;
}

/** With other containers than these. */
function isReady(pod: Pod | undefined, before: readonly string[] = []): boolean {
  const all = pod?.status.containerStatuses ?? [];
  return (
    all.length > 0 &&
    all.every(({ ready, containerID = "" }) => ready && !before.includes(containerID.split("//")[1] ?? ""))
  );
}

/** Says of each new pod when it is ready, and of each old one when it is gone. */
function tellOf(show: Show, before: readonly string[]): (now: readonly Pod[]) => void {
  const began = Date.now();
  const told = new Set<string>();
  const once = (name: string, what: string) => {
    if (told.has(name)) return;
    told.add(name);
    show.note(`${secondsSince(began)}  ${name} ${what}`);
  };
  return (now) => {
    const names = now.map(({ metadata }) => metadata.name);
    for (const pod of now) if (!before.includes(pod.metadata.name) && isReady(pod)) once(pod.metadata.name, "is ready");
    for (const name of before) if (!names.includes(name)) once(name, "is gone");
  };
}

/** Of a planned change: one failed call is a failure. */
function conclude(report: Report, traffic: Traffic, show: Show, what: string): void {
  figures(report, show);
  const count = failuresOf(report).length;
  if (count > 0) throw failed(count, report, traffic, show);
  const apart = Object.values(report).reduce((sum, counted) => sum + counted.apart.length, 0);
  const words = apart === 0 ? "" : `, ${apart} cut that were open on a pod which went`;
  show.result(`${servedOf(report)} calls served, 0 failed${words}: ${what}`);
}

function failed(count: number, report: Report, traffic: Traffic, show: Show): Error {
  for (const line of reportText(report, traffic.markedAt).trimEnd().split("\n")) show.note(line);
  return new Error(`${servedOf(report)} calls served, ${count} failed`);
}

function figures(report: Report, show: Show): void {
  const [served, count] = [servedOf(report), failuresOf(report).length];
  show.figures({ served, failed: count });
}
