/**
 * What stands where a cloud would: places with a network each, in which commands of --provider command put machines. Each machine
 * boots by the real ignition with the user data it was given, and runs the real kubelet that its payload configures.
 */
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { component, nodeExecutables } from "../support/lab/equipment.js";
import type { Hosts, NodeHost } from "../support/lab/hosts.js";
import { type BootedMachine, FirstBoot, switchOn } from "../support/lab/node/first-boot.js";
import { run } from "../support/lab/run.js";
import type { Scope } from "../support/lab/scope.js";
import { until } from "../support/lab/wait.js";

const OFTEN = 50;
const SOON = 60_000;

/** Where a booting machine can be made to wait: before ignition fetches, or before the kubelet starts. */
type Step = "fetch" | "join";

/** User data, as far as it says where a machine fetches. */
interface Pointer {
  readonly ignition: {
    readonly config: {
      readonly merge: readonly [
        { readonly source: string; readonly httpHeaders: readonly { readonly name: string; readonly value: string }[] },
      ];
    };
    readonly security: { readonly tls: { readonly certificateAuthorities: readonly [{ readonly source: string }] } };
  };
}

interface Placed {
  readonly place: NodeHost;
  readonly boot: FirstBoot;
  machine?: BootedMachine;
}

export class Machines {
  readonly #scope: Scope;
  readonly #ignition: string;
  readonly #wanted: string;
  readonly #present: string;
  readonly #journal: string;
  readonly #free: NodeHost[];
  readonly #placed = new Map<string, Placed>();
  readonly #held = new Map<string, Step>();
  /** Those that are where they are held. */
  readonly #waiting = new Map<string, Step>();
  readonly #jobs = new Set<Promise<void>>();
  readonly #failures: unknown[] = [];
  #isOpen = true;

  constructor(scope: Scope, hosts: Hosts, ignition: string) {
    this.#scope = scope;
    this.#ignition = ignition;
    this.#free = [...hosts.nodes];
    this.#wanted = scope.file("machines-wanted");
    this.#present = scope.file("machines-present");
    this.#journal = scope.file("machines-journal");
    for (const folder of [this.#wanted, this.#present]) mkdirSync(folder);
    writeFileSync(this.#journal, "");
    const watching = this.#watch();
    scope.defer(async () => {
      this.#isOpen = false;
      await watching;
      if (this.#failures.length > 0) throw this.#failures[0];
    });
  }

  /** For the commands that make workers. Told twice, each does nothing; a machine is gone when the second returns. */
  get providerFlags(): string[] {
    const [wanted, present, journal] = [this.#wanted, this.#present, this.#journal];
    const make = this.#script("make-machine.sh", [
      `[ ! -e ${wanted}/$1 ] || exit 0`,
      `echo "make $1" >>${journal}`,
      `cp "$2" ${wanted}/.$1 && mv ${wanted}/.$1 ${wanted}/$1`,
    ]);
    const remove = this.#script("remove-machine.sh", [
      `[ -e ${wanted}/$1 ] || exit 0`,
      `echo "remove $1" >>${journal}`,
      `rm ${wanted}/$1`,
      `for _ in $(seq 600); do [ -e ${present}/$1 ] || exit 0; sleep 0.05; done`,
      'echo "the machine does not end" >&2; exit 1',
    ]);
    return [
      ...["--provider=command", `--create-command=sh ${make} {name} {userdata}`],
      `--delete-command=sh ${remove} {name}`,
    ];
  }

  /** `make NAME` and `remove NAME`, in the order in which machines were made and removed. */
  get journal(): string[] {
    return readFileSync(this.#journal, "utf8").split("\n").filter(Boolean);
  }

  /** The names of those that run. */
  get names(): string[] {
    return readdirSync(this.#present).sort();
  }

  /** Lets a machine that is to be made wait there until it is released. */
  hold(name: string, before: Step): void {
    this.#held.set(name, before);
  }

  release(name: string): void {
    this.#held.delete(name);
  }

  /** Waits until a machine is where it is held. */
  async held(name: string): Promise<void> {
    await until(`${name} to wait`, SOON, () => this.#waiting.get(name) === this.#held.get(name), OFTEN);
  }

  of(name: string): BootedMachine {
    const machine = this.#placed.get(name)?.machine;
    if (machine === undefined) throw new Error(`${name} does not run`);
    return machine;
  }

  placeOf(name: string): NodeHost {
    return this.#found(name).place;
  }

  bootOf(name: string): FirstBoot {
    return this.#found(name).boot;
  }

  /** Ends its kubelet with SIGKILL, and lets every attempt to start it again fail. */
  async breakKubelet(name: string): Promise<void> {
    const machine = this.of(name);
    await machine.spoil(component("kubelet"));
    await machine.endKubelet("KILL");
  }

  /** The HTTP status that the Ignition server gives to a machine's user data, asked from the machine's network. */
  async fetchStatus(name: string): Promise<number> {
    const { ignition } = JSON.parse(readFileSync(`${this.#wanted}/${name}`, "utf8")) as Pointer;
    const [{ httpHeaders, source }] = ignition.config.merge;
    const [authority] = ignition.security.tls.certificateAuthorities;
    const ca = this.#scope.file(`${name}-ignition-ca.crt`);
    writeFileSync(ca, Buffer.from(authority.source.split(",")[1] ?? "", "base64"));
    const headers = httpHeaders.flatMap((header) => ["-H", `${header.name}: ${header.value}`]);
    const asks = ["curl", "-s", "--max-time", "5", "-o", "/dev/null", "-w", "%{http_code}", "--cacert", ca];
    const { stdout } = await run([...asks, ...headers, source], { netns: this.placeOf(name).namespace.name });
    return Number(stdout);
  }

  #found(name: string): Placed {
    const placed = this.#placed.get(name);
    if (placed === undefined) throw new Error(`there is no machine ${name}`);
    return placed;
  }

  #script(name: string, lines: readonly string[]): string {
    const path = this.#scope.file(name);
    writeFileSync(path, `set -eu\n${lines.join("\n")}\n`);
    return path;
  }

  #isWanted(name: string): boolean {
    return this.#isOpen && existsSync(`${this.#wanted}/${name}`);
  }

  async #watch(): Promise<void> {
    while (this.#isOpen) {
      for (const name of readdirSync(this.#wanted)) {
        if (name.startsWith(".") || this.#placed.has(name)) continue;
        const job = this.#live(name)
          .catch((reason) => void this.#failures.push(reason))
          .finally(() => this.#jobs.delete(job));
        this.#jobs.add(job);
      }
      await sleep(OFTEN);
    }
    await Promise.all(this.#jobs);
  }

  /** From power on to its removal. */
  async #live(name: string): Promise<void> {
    const place = this.#free.shift();
    if (place === undefined) throw new Error(`there is no place for ${name}`);
    const userData = `${this.#wanted}/${name}`;
    const netns = place.namespace.name;
    const placed: Placed = {
      place,
      boot: new FirstBoot(this.#scope, { name, netns, userData, ignition: this.#ignition }),
    };
    this.#placed.set(name, placed);
    writeFileSync(`${this.#present}/${name}`, "");
    try {
      await this.#gate(name, "fetch");
      await placed.boot.fetch();
      await this.#gate(name, "join");
      if (!this.#isWanted(name)) return;
      await placed.boot.write();
      const { podGateway, podSubnet } = place;
      const executables = nodeExecutables();
      placed.machine = await switchOn(this.#scope, placed.boot, { netns, podGateway, podSubnet, executables });
      while (this.#isWanted(name)) await sleep(OFTEN);
      await placed.machine.process.kill();
    } catch (reason) {
      appendFileSync(this.#journal, `fail ${name}: ${(reason as Error).message.replaceAll("\n", " ")}\n`);
      throw reason;
    } finally {
      this.#free.push(place);
      rmSync(`${this.#present}/${name}`);
    }
  }

  async #gate(name: string, step: Step): Promise<void> {
    while (this.#held.get(name) === step && this.#isWanted(name)) {
      this.#waiting.set(name, step);
      await sleep(OFTEN);
    }
    this.#waiting.delete(name);
  }
}
