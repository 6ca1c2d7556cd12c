/** Kills whoever holds it at a chosen change, as SIGKILL would: nothing more can be changed afterwards. */
import * as nodeFs from "node:fs/promises";
import type { KubeApi } from "../../../kube/port.js";
import { HostFiles } from "../files.js";
import type { Host } from "../host.js";

export class Fuse {
  readonly #blowsAt: number;
  changes = 0;

  /** At the how-manyeth change, counted from 1; it is still made. */
  constructor(blowsAt = Number.POSITIVE_INFINITY) {
    this.#blowsAt = blowsAt;
  }

  get isBlown(): boolean {
    return this.changes >= this.#blowsAt;
  }

  /** `what` names the operation, for those who blow at one kind only. */
  async change<T>(make: () => T | Promise<T>, _what: string): Promise<T> {
    if (this.isBlown) throw new Error("this process is dead");
    const made = await make();
    this.changes++;
    if (!this.isBlown) return made;
    // A dead process has no files open.
    if (made !== null && typeof made === "object" && "close" in made) await (made as { close(): unknown }).close();
    throw new Error("this process was killed");
  }
}

const changing = ["chmod", "chown", "mkdir", "open", "rename", "rm", "rmdir"] as const;
const operations: Readonly<Record<string, unknown>> = nodeFs;

/** The same host, whose files are changed through the fuse. */
export function fused(host: Host, root: string, fuse: Fuse): Host {
  const throughFuse = { ...nodeFs };
  for (const name of changing) {
    const plain = operations[name] as (...args: unknown[]) => Promise<unknown>;
    Object.assign(throughFuse, { [name]: (...args: unknown[]) => fuse.change(() => plain(...args), name) });
  }
  return {
    ...methodsOf(host),
    files: new HostFiles(root, throughFuse),
    run: (argv, options) => fuse.change(() => host.run(argv, options), "run"),
    launch: (argv, log) => fuse.change(() => host.launch(argv, log), "launch"),
  };
}

function methodsOf(host: Host): Host {
  return {
    files: host.files,
    network: host.network,
    now: () => host.now(),
    date: () => host.date(),
    pause: (ms) => host.pause(ms),
    run: (argv, options) => host.run(argv, options),
    launch: (argv, log) => host.launch(argv, log),
    processes: () => host.processes(),
    signal: (pid, name) => host.signal(pid, name),
    listens: (port) => host.listens(port),
    ask: (url) => host.ask(url),
  };
}

export function fusedApi(api: KubeApi, fuse: Fuse): KubeApi {
  return {
    ...api,
    apply: (path, object, options) => fuse.change(() => api.apply(path, object, options), "apply"),
    delete: (path, options) => fuse.change(() => api.delete(path, options), "delete"),
  };
}
