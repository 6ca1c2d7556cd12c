/**
 * Callers of a hosted cluster that go on and on behind a balancer of their own, and write a line for each call.
 *
 *   main.ts <file with settings>
 */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { openKubeApi } from "../../../../src/cluster/kube/open.js";
import { collectionPath } from "../../../../src/cluster/kube/paths.js";
import type { KubeApi, KubeObject } from "../../../../src/cluster/kube/port.js";
import { writeKubeconfig } from "../../lab/kubectl.js";
import { membersOf } from "./backends.js";
import { Balancer, type Entrance } from "./balancer.js";
import { Caller } from "./caller.js";
import { type Line, parseLine } from "./calls.js";
import { requester } from "./requests.js";
import { type Slot, sessions, type Talker } from "./sessions.js";
import type { Settings } from "./settings.js";

interface Pod extends KubeObject {
  readonly spec: { readonly nodeName?: string };
  readonly status: {
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

const LOOK_EVERY_MS = 200;
const STATUS_EVERY_MS = 200;
/** More than begin within the time that each of them has: a slow answer is no lost one. */
const MOST_REQUESTS = 1_000;
const MOST_SESSIONS = 10;

const settings = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as Settings;
const { management, hosted, perSecond } = settings;
const write = (line: Line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const tell = (words: string) => process.stdout.write(`${new Date().toISOString()} ${words}\n`);

const balancer = new Balancer({ ca: hosted.ca, client: hosted.client, port: management.apiPort }, tell);
const entrance = await balancer.listen();
const slots = await Promise.all(Array.from({ length: MOST_SESSIONS }, (_, index) => openSlot(index)));
let talkers: readonly Talker[] = [];
/** Pods of the component, and whether their lines are being read. */
const watched = new Map<string, boolean>();

await follow(management.kubeconfig, management.namespace, management.apiServers, (pods) => {
  const seen = pods.map((pod) => ({
    ...{ name: pod.metadata?.name ?? "", address: pod.status.podIP ?? "" },
    ...{ isReady: isReady(pod), isEnding: pod.metadata?.deletionTimestamp !== undefined },
  }));
  balancer.follow(membersOf(seen, balancer.known));
});
await follow(management.kubeconfig, management.namespace, `app=${management.component}`, (pods) => {
  for (const pod of pods) if (isReady(pod)) readLines(pod.metadata?.name ?? "");
});
while (balancer.ready.length === 0) await sleep(LOOK_EVERY_MS);
await follow(kubeconfigFor("callers", entrance), "", hosted.talkers, (pods) => {
  const usable = pods.filter((pod) => isReady(pod) && pod.metadata?.deletionTimestamp === undefined);
  talkers = usable.map(({ metadata, spec }) => ({
    ...{ namespace: metadata?.namespace ?? "", name: metadata?.name ?? "", node: spec.nodeName ?? "" },
  }));
});

const ask = requester(entrance, hosted.ca, hosted.client);
const path = `/api/v1/namespaces/${hosted.namespace}/configmaps?dryRun=All`;
const callers = [
  new Caller(
    {
      ...{ kind: "write", perSecond: perSecond.writes, atMost: MOST_REQUESTS },
      call: () => ask({ method: "POST", path, body: hosted.configMap, status: 201 }),
    },
    write,
  ),
  ...Object.entries(hosted.aggregated).map(([kind, where]) => {
    const call = () => ask({ method: "GET", path: where, status: 200 });
    return new Caller({ kind, perSecond: perSecond.calls, atMost: MOST_REQUESTS, call }, write);
  }),
  new Caller(
    { kind: "exec", perSecond: perSecond.sessions, atMost: MOST_SESSIONS, call: sessions(slots, () => talkers) },
    write,
  ),
];

setInterval(() => {
  for (const { source, oldest } of callers) write({ source, oldest: oldest ?? Date.now() });
}, STATUS_EVERY_MS);

async function openSlot(index: number): Promise<Slot> {
  const own = await balancer.listen();
  return { entrance: own, kubectl: [settings.kubectl, `--kubeconfig=${kubeconfigFor(`session-${index}`, own)}`] };
}

function kubeconfigFor(name: string, { port }: Entrance): string {
  const api = { url: `https://127.0.0.1:${port}`, caFile: hosted.ca };
  return writeKubeconfig(join(settings.folder, `${name}.kubeconfig`), api, hosted.client);
}

/** Pods as they are, again and again; returns once they are known. */
async function follow(kubeconfig: string, namespace: string, labels: string, use: (pods: readonly Pod[]) => void) {
  const api = await openKubeApi({ kubeconfig, qps: 50, burst: 50 });
  const look = async () => use(await list(api, namespace, labels));
  while (!(await look().then(() => true, notYet))) await sleep(LOOK_EVERY_MS);
  void (async () => {
    for (;;) {
      await sleep(LOOK_EVERY_MS);
      await look().catch(notYet);
    }
  })();
}

async function list(api: KubeApi, namespace: string, labelSelector: string): Promise<readonly Pod[]> {
  const where = collectionPath("Pod", namespace === "" ? undefined : namespace);
  return (await api.list<Pod>(where, { labelSelector, timeoutMs: 5_000 })).items;
}

/** What was known stays. */
function notYet(reason: unknown): false {
  tell(String(reason));
  return false;
}

function isReady({ status }: Pod): boolean {
  return (status.conditions ?? []).some(({ type, status }) => type === "Ready" && status === "True");
}

/** The component's own lines, until its pod is gone. */
function readLines(pod: string): void {
  if (watched.get(pod)) return;
  // Those of before are known.
  const from = watched.has(pod) ? "--tail=0" : "--tail=-1";
  watched.set(pod, true);
  const access = [`--kubeconfig=${management.kubeconfig}`, "-n", management.namespace];
  const command = ["logs", "-f", from, ...access, pod, "-c", management.component];
  const child = spawn(settings.kubectl, command, { stdio: ["ignore", "pipe", "inherit"] });
  createInterface(child.stdout).on("line", (text) => {
    const line = parseLine(text);
    if (line !== undefined) write(line);
  });
  child.once("exit", () => watched.set(pod, false));
}
