import type { ChildProcess, SpawnOptions } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  addAddress,
  addNeighbour,
  addRoute,
  createNamespace,
  link,
  type Namespace,
} from "../../support/netns/index.js";

const REPOSITORY = fileURLToPath(new URL("../../..", import.meta.url));
const OUTSIDE = { address: "192.0.2.1/24", gateway: "192.0.2.2", nobody: "02:00:00:00:00:02" };

/** Binds our resolv.conf in a mount namespace of the program alone, so the machine's own file is never touched. */
const WITH_RESOLVER = 'mount --bind "$1" /etc/resolv.conf && shift && exec "$@"';

/** Where the suite may do as it likes: loopback works, every other address swallows packets, every name is unknown. */
export interface Isolation {
  /** A scratch folder that goes away with the isolation. */
  readonly folder: string;
  exec(argv: readonly string[], options?: SpawnOptions): ChildProcess;
  destroy(): Promise<void>;
}

export async function isolate(): Promise<Isolation> {
  const folder = await mkdtemp(join(tmpdir(), "db-suite-"));
  const spaces: Namespace[] = [];
  const destroy = async () => {
    for (const space of spaces) await space.destroy();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const suite = await createNamespace("suite");
    spaces.push(suite);
    const void_ = await createNamespace("void");
    spaces.push(void_);
    await losePackets(suite, void_);
    const resolver = join(folder, "resolv.conf");
    await writeFile(resolver, "nameserver 127.0.0.1\n");
    await knowNoNames(suite);
    const privately = ["unshare", "--mount", "--propagation", "private", "sh", "-c", WITH_RESOLVER, "sh", resolver];
    return { folder, destroy, exec: (argv, options) => suite.exec([...privately, ...argv], options) };
  } catch (error) {
    await destroy();
    throw error;
  }
}

async function losePackets(from: Namespace, into: Namespace): Promise<void> {
  await link(from, "out", into, "in");
  await addAddress(from, "out", OUTSIDE.address);
  // Without this entry a dial would end early with "no route to host" instead of running into its time limit.
  await addNeighbour(from, "out", OUTSIDE.gateway, OUTSIDE.nobody);
  await addRoute(from, "default", { via: OUTSIDE.gateway, device: "out" });
}

async function knowNoNames(inside: Namespace): Promise<void> {
  const script = fileURLToPath(new URL("./nxdomain.ts", import.meta.url));
  const responder = inside.exec([process.execPath, "--import", "tsx", script], {
    cwd: REPOSITORY,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(responder, "exit").then(() => Promise.reject(new Error("the DNS responder did not start")));
  // Later it ends with the namespace, which is no failure.
  ended.catch(() => undefined);
  await Promise.race([once(responder.stdout!, "data"), ended]);
}
