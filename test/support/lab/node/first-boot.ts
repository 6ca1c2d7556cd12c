import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { must } from "../run.js";
import type { Scope } from "../scope.js";
import { writeCniConfig, writeKubeletDropIn } from "./configuration.js";
import { KUBELET_PID } from "./init.js";
import { type Launched, launch, Machine, type MachineOptions } from "./machine.js";

export interface FirstBootOptions {
  readonly name: string;
  readonly netns: string;
  /** The file that is its Ignition user data. */
  readonly userData: string;
  /** The real ignition. */
  readonly ignition: string;
}

/** Fetches a machine's configuration from its network and writes it into a folder, as the real ignition does both. */
export class FirstBoot {
  /** Where what belongs to the machine's root was written. */
  readonly root: string;
  readonly #options: FirstBootOptions;
  readonly #run: string;

  constructor(scope: Scope, options: FirstBootOptions) {
    const folder = scope.file(`boot-${options.name}`);
    this.#options = options;
    this.root = join(folder, "root");
    this.#run = join(folder, "run");
    for (const path of [this.root, this.#run]) mkdirSync(path, { recursive: true });
  }

  fetch(): Promise<string> {
    return this.#stage("fetch");
  }

  /** What was fetched. */
  write(): Promise<string> {
    return this.#stage("files");
  }

  /** Of a file of the machine. */
  text(path: string): string {
    return readFileSync(join(this.root, path), "utf8");
  }

  #stage(stage: "fetch" | "files"): Promise<string> {
    const { ignition, netns, userData } = this.#options;
    const files = ["config-cache", "state-file", "neednet"].map((file) => `--${file}=${join(this.#run, file)}`);
    const flags = ["--platform=file", `--stage=${stage}`, `--root=${this.root}`, "--log-to-stdout", ...files];
    return must([ignition, ...flags], { netns, env: { IGNITION_CONFIG_FILE: userData } });
  }
}

export interface BootedOptions {
  readonly netns: string;
  readonly podSubnet: string;
  readonly podGateway: string;
  readonly executables: MachineOptions["executables"];
}

/** A machine that runs what Ignition wrote: its own name, /etc, containerd settings and kubelet unit. */
export class BootedMachine extends Machine {
  constructor(launched: Launched) {
    super(...launched);
  }

  /** Ends its kubelet, which is started again as systemd does it: a new process with the same files. */
  async endKubelet(signal: "TERM" | "KILL" = "TERM"): Promise<void> {
    const [enter, ...rest] = this.command(["sh", "-c", `kill -${signal} $(cat ${KUBELET_PID})`]);
    await must([enter, "--pid", ...rest]);
  }

  /** Puts a program that fails in the place of one of this machine, for whoever starts it next. */
  async spoil(program: string): Promise<void> {
    await must(this.command(["mount", "--bind", "/bin/false", program]));
  }

  /** Of a file there that others cannot see. */
  read(path: string): Promise<string> {
    return must(this.command(["cat", path]));
  }

  async write(path: string, text: string): Promise<void> {
    await must(this.command(["sh", "-c", 'cat >"$0"', path]), { input: text });
  }
}

/**
 * Switches a machine on after its first boot. Its kubelet's command line and configuration are the payload's; what this
 * machine forces on it is a drop-in beside them, and containerd keeps its files in the lab's folder.
 */
export async function switchOn(scope: Scope, boot: FirstBoot, options: BootedOptions): Promise<BootedMachine> {
  const { executables, netns, podGateway, podSubnet } = options;
  const hostname = boot.text("etc/hostname").trim();
  const unit = boot.text("etc/systemd/system/kubelet.service");
  const launched: Launched = await launch(scope, {
    ...{ name: hostname, netns, executables },
    kubelet: (folder) => [...commandsOf(unit, "ExecStart"), `--config-dir=${writeKubeletDropIn(folder)}`],
    booted: {
      hostname,
      etc: join(boot.root, "etc"),
      first: commandsOf(unit, "ExecStartPre"),
      containerdConfig: boot.text("etc/containerd/config.toml"),
    },
  });
  const machine = new BootedMachine(launched);
  writeCniConfig(machine.folder, podSubnet, podGateway);
  return machine;
}

function commandsOf(unit: string, key: "ExecStart" | "ExecStartPre"): string[] {
  return [...unit.matchAll(new RegExp(`^${key}=(.*)$`, "gm"))].map(([, command]) => command ?? "");
}
