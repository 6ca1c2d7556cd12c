import { freePort } from "../processes/ports.js";
import { LabProcess } from "./process.js";
import { run } from "./run.js";
import type { Scope } from "./scope.js";

export interface Etcd {
  readonly url: string;
  /** The same, from other hosts of the lab. */
  readonly sharedUrl?: string;
}

/**
 * One member without TLS. On loopback nobody but the kube-apiserver beside it can reach it; `sharedAt` is an address of
 * its host at which everybody in the lab's own networks can.
 */
export async function startEtcd(scope: Scope, executable: string, netns?: string, sharedAt?: string): Promise<Etcd> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const urls = [url, ...(sharedAt === undefined ? [] : [`http://${sharedAt}:${port}`])];
  const peerUrl = `http://127.0.0.1:${await freePort()}`;
  const etcd = LabProcess.start(scope, {
    name: "etcd",
    netns,
    command: [
      executable,
      ...["--name=lab", `--data-dir=${scope.file("etcd")}`],
      ...[`--listen-client-urls=${urls.join(",")}`, `--advertise-client-urls=${url}`],
      ...[`--listen-peer-urls=${peerUrl}`, `--initial-advertise-peer-urls=${peerUrl}`],
      `--initial-cluster=lab=${peerUrl}`,
    ],
  });
  await etcd.ready("healthy", 60_000, async () => {
    const answer = await run(["curl", "-s", "--max-time", "2", `${url}/health`], { netns });
    return answer.stdout.includes('"health":"true"');
  });
  return { url, ...(sharedAt === undefined ? {} : { sharedUrl: `http://${sharedAt}:${port}` }) };
}
