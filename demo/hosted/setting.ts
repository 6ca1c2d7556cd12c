/** The steps until calls can go through the tunnel, and the last one. */
import { existsSync } from "node:fs";
import { HostedCluster } from "../../test/support/hosted-cluster/cluster.js";
import type { LabStory } from "../lab-story.js";
import type { Show } from "../report/show.js";
import { secondsSince } from "./seconds.js";
import type { HOSTED_TITLES } from "./titles.js";

/** As many kube-apiservers as in production: a roll-out always leaves others. */
const SIZE = { replicas: 3, workers: 2 };

export async function startCluster(story: LabStory<keyof typeof HOSTED_TITLES>, show: Show): Promise<HostedCluster> {
  show.note("building images, starting two clusters: the control plane of one is pods of the other");
  const began = Date.now();
  const tell = (words: string) => show.note(`${secondsSince(began)}  ${words}`);
  const cluster = await story.useLab(HostedCluster.start({ ...SIZE, tell }), ({ lab }) => lab.scope, show);
  const { lab, node, plane, workers } = cluster;
  show.note(`bs  ${lab.bs.address}  the management cluster's control plane`);
  show.note(`n1  ${node.address}  its node, where the hosted control plane is pods`);
  for (const { name, address } of workers)
    show.note(`${name}  ${address}  a node of the hosted cluster, behind a router`);
  const { gitVersion } = JSON.parse(await plane.admin.raw("/version")) as { gitVersion: string };
  story.caller = `kube-apiserver ${gitVersion}`;
  show.result(`two workers are Ready in a network that lets nobody in`);
  return cluster;
}

/** It must fail, or the rest would prove nothing. */
export async function callDirectly({ plane }: HostedCluster, show: Show): Promise<void> {
  const { code, stderr } = await plane.admin.try(["get", "--raw", "/api/v1/nodes/w1/proxy/healthz"]);
  if (code === 0) throw new Error("the hosted kube-apiserver reaches its workers without a tunnel");
  show.note(stderr.trim().split("\n").at(-1) ?? "");
  show.result("fails as it must: the hosted kube-apiserver cannot reach the kubelet");
}

export async function applyHosted(cluster: HostedCluster, show: Show): Promise<void> {
  show.note("drawbridge hosted apply --patch-kube-apiserver; the kube-apiserver gets its egress flag");
  const [{ code, stdout, stderr }] = await Promise.all([cluster.useTunnel(), cluster.startComponents()]);
  if (code !== 0) throw new Error(stderr.trim());
  show.note(`objects: ${stdout.trimEnd().split("\n").at(-1)}`);
  await cluster.workloadsReady();
  const logs = await cluster.plane.admin.run(["logs", "daemonset/talker"]);
  show.note(`kubectl logs daemonset/talker: ${logs.trim()}`);
  show.result(`a server beside each of ${SIZE.replicas} kube-apiservers, agents on both sides; kubectl logs works`);
}

export async function tidyUp({ lab }: HostedCluster, show: Show): Promise<void> {
  await lab.stop();
  if (existsSync(lab.scope.folder)) throw new Error(`${lab.scope.folder} is left`);
  show.result("both clusters, their networks and files are gone");
}
