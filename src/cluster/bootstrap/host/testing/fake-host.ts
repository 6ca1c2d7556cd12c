/**
 * A host in a folder. Its clock moves only when somebody waits, its kubelet runs what lies in the manifests' directory,
 * its systemd what is enabled, and its network is one interface.
 */
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { parse } from "yaml";
import type { HttpAnswer } from "../../../../base/http-get.js";
import type { CommandOptions, CommandResult } from "../../../../base/run-command.js";
import { FakeNetwork, own } from "../../address/testing/fake-host.js";
import { HostFiles } from "../files.js";
import type { Host, HostProcess } from "../host.js";

export const address = "192.0.2.10";

interface PodManifest {
  readonly spec: { readonly containers: readonly { readonly command?: string[]; readonly args?: string[] }[] };
}

export class FakeHost implements Host {
  readonly root = mkdtempSync(join(tmpdir(), "drawbridge-host-"));
  readonly files = new HostFiles(this.root);
  network = new FakeNetwork([own("eth0", `${address}/24`)], { "1.1.1.1": address });
  /** Processes that nobody in here keeps. */
  readonly plain: HostProcess[] = [];
  readonly commands: string[][] = [];
  /** What `run` answers. */
  answers: (argv: readonly string[], env: Readonly<Record<string, string>>) => CommandResult | undefined = () =>
    undefined;
  /** Launched programs that end at once. */
  launchFails = false;
  /** Processes that ignore SIGTERM. */
  stubborn = false;
  hasAgents: () => boolean = () => false;
  #now = Date.parse("2031-01-01T00:00:00Z");
  #units = new Set<string>();
  #nextPid = 1000;
  readonly #pids = new Map<string, number>();
  readonly #sockets = new Map<string, Server>();

  now(): number {
    return this.#now;
  }

  date(): number {
    return this.#now;
  }

  async pause(ms: number): Promise<void> {
    this.#now += ms;
    // The API on the other side of a real socket needs a turn.
    await new Promise((resolve) => setImmediate(resolve));
  }

  advance(ms: number): void {
    this.#now += ms;
  }

  async run(argv: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
    this.commands.push([...argv]);
    const answer = this.answers(argv, options.env ?? {});
    if (answer !== undefined) return answer;
    const [program, verb, ...words] = argv;
    if (program === "systemctl" && verb === "restart") this.#units.add(words[0] ?? "");
    if (program === "systemctl" && verb === "disable") this.#units.delete(words.at(-1) ?? "");
    return { code: 0, stdout: "", stderr: "" };
  }

  async launch(argv: readonly string[], log: string): Promise<number> {
    const pid = this.#nextPid++;
    writeFileSync(log, this.launchFails ? "I0101 listening\nError: port 8091 is taken\n" : "");
    if (!this.launchFails) this.plain.push({ pid, argv });
    return pid;
  }

  async processes(): Promise<readonly HostProcess[]> {
    return [...this.plain, ...this.#fromManifests(), ...this.#fromUnits()];
  }

  signal(pid: number, name: "SIGTERM" | "SIGKILL"): void {
    if (this.stubborn && name === "SIGTERM") return;
    const index = this.plain.findIndex((process) => process.pid === pid);
    if (index >= 0) this.plain.splice(index, 1);
  }

  async listens(port: number): Promise<boolean> {
    return (await this.#servers()).some(({ argv }) => argv.includes(`--agent-port=${port}`));
  }

  async ask(url: string): Promise<HttpAnswer | undefined> {
    const { port, pathname } = new URL(url);
    const server = (await this.#servers()).find(({ argv }) => argv.includes(`--health-port=${port}`));
    if (server === undefined) return undefined;
    if (pathname === "/metrics") {
      const agents = this.hasAgents() ? 2 : 0;
      return { status: 200, body: `drawbridge_server_strategy_agents{proxy_strategy="defaultRoute"} ${agents}\n` };
    }
    if (pathname === "/readyz" && !this.hasAgents()) return { status: 500, body: "no connection to any proxy agent" };
    return { status: 200, body: "ok" };
  }

  put(path: string, text: string, mode = 0o600): void {
    mkdirSync(dirname(join(this.root, path)), { recursive: true });
    writeFileSync(join(this.root, path), text, { mode });
  }

  text(path: string): string {
    return readFileSync(join(this.root, path), "utf8");
  }

  /** Everything in the folder: path, kind, mode and content. */
  tree(): string[] {
    return listing(this.root, "");
  }

  /** A real socket where the server would make one. */
  async openSocket(path: string): Promise<void> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(join(this.root, path), resolve));
    this.#sockets.set(path, server);
  }

  async remove(): Promise<void> {
    for (const server of this.#sockets.values()) await new Promise((resolve) => server.close(resolve));
    rmSync(this.root, { recursive: true, force: true });
  }

  async #servers(): Promise<HostProcess[]> {
    return (await this.processes()).filter(({ argv }) => argv.some((word) => word.startsWith("--uds-name=")));
  }

  #fromManifests(): HostProcess[] {
    const folder = join(this.root, "/etc/kubernetes/manifests");
    const names = namesIn(folder).filter((name) => !name.startsWith("."));
    return names.flatMap((name) => {
      const text = readFileSync(join(folder, name), "utf8");
      const { spec } = podIn(text);
      return spec.containers.map(({ command = [], args = [] }) => ({
        pid: this.#pidOf(text),
        argv: [...command, ...args],
      }));
    });
  }

  #fromUnits(): HostProcess[] {
    return [...this.#units].flatMap((unit) => {
      const path = join(this.root, "/etc/systemd/system", unit);
      if (!namesIn(dirname(path)).includes(basename(path))) return [];
      const text = readFileSync(path, "utf8");
      const command = /^ExecStart=((?:.*\\\n)*.*)$/m.exec(text)?.[1] ?? "";
      return [{ pid: this.#pidOf(text), argv: command.split(/[\s\\]+/) }];
    });
  }

  #pidOf(text: string): number {
    const pid = this.#pids.get(text) ?? this.#nextPid++;
    this.#pids.set(text, pid);
    return pid;
  }
}

const pods = new Map<string, PodManifest>();

/** A kubelet looks often, and reading YAML takes its time. */
function podIn(text: string): PodManifest {
  const pod = pods.get(text) ?? (parse(text) as PodManifest);
  pods.set(text, pod);
  return pod;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}

function listing(root: string, path: string): string[] {
  return namesIn(join(root, path)).flatMap((name) => {
    const at = `${path}/${name}`;
    const status = lstatSync(join(root, at));
    const mode = (status.mode & 0o7777).toString(8);
    if (status.isDirectory()) return [`${at}/ ${mode}`, ...listing(root, at)];
    return [`${at} ${mode} ${status.isFile() ? readFileSync(join(root, at), "utf8") : "special"}`];
  });
}
