import { freePort } from "./ports.js";
import { LabProcess } from "./process.js";
import { run } from "./run.js";
import type { Scope } from "./scope.js";

export interface Etcd {
  readonly url: string;
}

/** One member, on loopback of its place, without TLS: nobody but the kube-apiserver beside it can reach it. */
export async function startEtcd(scope: Scope, executable: string, netns?: string): Promise<Etcd> {
  const url = `http://127.0.0.1:${await freePort()}`;
  const peerUrl = `http://127.0.0.1:${await freePort()}`;
  const etcd = LabProcess.start(scope, {
    name: "etcd",
    netns,
    command: [
      executable,
      ...["--name=lab", `--data-dir=${scope.file("etcd")}`],
      ...[`--listen-client-urls=${url}`, `--advertise-client-urls=${url}`],
      ...[`--listen-peer-urls=${peerUrl}`, `--initial-advertise-peer-urls=${peerUrl}`],
      `--initial-cluster=lab=${peerUrl}`,
    ],
  });
  await etcd.ready("healthy", 30_000, async () => {
    const answer = await run(["curl", "-s", "--max-time", "2", `${url}/health`], { netns });
    return answer.stdout.includes('"health":"true"');
  });
  return { url };
}
