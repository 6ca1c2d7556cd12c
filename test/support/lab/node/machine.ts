import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { LabProcess } from "../process.js";
import { must, type Outcome, type RunOptions, run } from "../run.js";
import type { Scope } from "../scope.js";
import { sweepDeadLabs } from "../sweep.js";
import { giveTimeToPods, removeCgroups } from "./cgroups.js";
import { CONTAINERD_SOCKET, podLogsFolder, type Snapshotter, writeContainerdConfig } from "./configuration.js";
import { writeImages } from "./image.js";
import { type Booted, writeInit } from "./init.js";
import { readPodLog } from "./pod-logs.js";
import { chooseSnapshotter } from "./snapshotter.js";

export interface MachineOptions {
  readonly name: string;
  /** Of the host it is. */
  readonly netns: string;
  readonly executables: { readonly containerd: string; readonly ctr: string; readonly busybox: string };
  /** The kubelet's command line; `folder` is the machine's own. */
  readonly kubelet: (folder: string) => readonly string[];
  /** A folder to be seen as /etc/kubernetes there. */
  readonly etcKubernetes?: string;
  /** Runs with what a first boot gave it: its kubelet is told nothing beyond its command line, and is started again when it ends. */
  readonly booted?: Booted & { readonly containerdConfig: string };
}

/** containerd, runc and a kubelet with files, processes and network of their own, as somebody with a shell there sees it. */
export class Machine {
  readonly name: string;
  readonly netns: string;
  readonly folder: string;
  readonly process: LabProcess;
  readonly #ctr: string;
  readonly #snapshotter: Snapshotter;

  protected constructor(options: MachineOptions, folder: string, process: LabProcess, snapshotter: Snapshotter) {
    this.name = options.name;
    this.netns = options.netns;
    this.folder = folder;
    this.process = process;
    this.#ctr = options.executables.ctr;
    this.#snapshotter = snapshotter;
  }

  /** Returns as soon as it runs; whether its kubelet does is for the caller to wait for. */
  static async start(scope: Scope, options: MachineOptions): Promise<Machine> {
    return new Machine(...(await launch(scope, options)));
  }

  /** Puts the images of an archive where the kubelet finds them; pods then need no registry. */
  async importImage(archive: string): Promise<void> {
    const words = this.#ctrCommand(["images", "import", "--snapshotter", this.#snapshotter, archive]);
    // The slowest thing a disk is asked for here, and every node of every lab asks for it at about the same time.
    await must(this.command(words), { timeoutMs: 240_000 });
  }

  ctr(args: readonly string[]): Promise<string> {
    return must(this.command(this.#ctrCommand(args)));
  }

  /** A container of an imported image, without a kubelet, as a command line that lasts as long as the container. */
  container(flags: readonly string[], image: string, id: string, command: readonly string[]): [string, ...string[]] {
    const args = ["run", "--rm", "--snapshotter", this.#snapshotter, ...flags, image, id, ...command];
    // Whoever attaches to a container looks for itself in /proc, and the machine's does not know of processes from outside.
    const ownProc = ["unshare", "--mount", "sh", "-c", 'mount -t proc proc /proc && exec "$@"', "sh"];
    return this.command([...ownProc, ...this.#ctrCommand(args)]);
  }

  #ctrCommand(args: readonly string[]): string[] {
    return [this.#ctr, "-a", CONTAINERD_SOCKET, "-n", "k8s.io", ...args];
  }

  /** To its end, with this machine's own files and network. */
  run(command: readonly string[], options?: Omit<RunOptions, "netns">): Promise<Outcome> {
    return run(this.command(command), options);
  }

  /** The same as a command line for others to run. */
  command(command: readonly string[]): [string, ...string[]] {
    return ["nsenter", `--target=${this.#initPid()}`, "--mount", "--net", "--", ...command];
  }

  podLog(namespace: string, pod: string, container: string): string {
    return readPodLog(podLogsFolder(this.folder), namespace, pod, container);
  }

  /** The machine's first process: the only child of the one that made its namespaces. */
  #initPid(): string {
    const { pid } = this.process;
    const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ");
    if (!child) throw new Error(`${this.name} is not running`);
    return child;
  }
}

export type Launched = [MachineOptions, string, LabProcess, Snapshotter];

export async function launch(scope: Scope, options: MachineOptions): Promise<Launched> {
  await sweepDeadLabs();
  const { name, netns, executables, booted } = options;
  const folder = scope.file(`node-${name}`);
  mkdirSync(folder);
  scope.defer(() => removeCgroups(folder));
  giveTimeToPods();
  const snapshotter = await chooseSnapshotter(folder);
  const init = writeInit(folder, {
    containerd: executables.containerd,
    ctr: executables.ctr,
    containerdConfig: writeContainerdConfig(folder, snapshotter, booted?.containerdConfig),
    snapshotter,
    images: writeImages(join(folder, "images.tar"), executables.busybox),
    kubelet: [...options.kubelet(folder), ...(booted === undefined ? placesIn(folder, name) : [])],
    etcKubernetes: options.etcKubernetes,
    booted,
  });
  const box = ["unshare", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"] as const;
  const running = LabProcess.start(scope, { name: `node-${name}`, netns, command: [...box, "bash", init] });
  return [options, folder, running, snapshotter];
}

const placesIn = (folder: string, name: string): string[] => [
  `--root-dir=${join(folder, "kubelet")}`,
  `--cert-dir=${join(folder, "kubelet-certs")}`,
  `--hostname-override=${name}`,
];
