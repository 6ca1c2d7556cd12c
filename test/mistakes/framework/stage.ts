/** Where one mistake is made: a network and a folder of its own, and the programs as they are shipped. */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createNamespace, type Namespace } from "../../support/netns/index.js";
import { START_WITHIN_MS, waitUntil } from "../../support/processes/deadline.js";
import { ours, type Program } from "../../support/processes/executables.js";
import { type RunningProcess, startProcess } from "../../support/processes/process.js";
import { Scope } from "../../support/processes/scope.js";
import { Certificates, type Files } from "./certificates.js";

/** None of them is a default, so that a text that names a default port is known to be untrue. */
export const PORT = {
  ...{ frontend: 7090, agents: 7091, serverHealth: 7092, serverAdmin: 7095 },
  ...{ agentHealth: 7093, agentAdmin: 7094, sidecarHealth: 7096, sidecarAdmin: 7097, sidecarHttp: 7098 },
  ...{ target: 7443, closed: 7444, ignition: 7060, ignitionMetrics: 7061 },
} as const;

export interface Outcome {
  readonly code: number;
  /** Both outputs, and how it ended. */
  readonly text: string;
  readonly stdout: string;
}

/** Certificates as they should be; a row replaces what it does wrong. */
export interface Pki {
  readonly make: Certificates;
  readonly ca: Awaited<ReturnType<Certificates["authority"]>>;
  readonly foreignCa: Awaited<ReturnType<Certificates["authority"]>>;
  readonly server: Files;
  readonly agent: Files;
  readonly caller: Files;
}

export interface Start {
  readonly flags?: readonly string[];
  /** A command that starts the program behind it: `prlimit --nofile=64`, say. */
  readonly through?: readonly string[];
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Does not wait until it answers: it is going to end by itself. */
  readonly isDoomed?: boolean;
}

export interface AgentStart extends Start {
  readonly cert?: Files | undefined;
  readonly ca?: string;
  readonly host?: string;
  readonly port?: number;
}

export interface ServerStart extends Start {
  readonly cert?: Files;
  readonly ca?: string;
  readonly frontend?: "uds" | "tcp";
  readonly mode?: "grpc" | "http-connect";
  /** The certificate of the TCP frontend. */
  readonly frontendCert?: Files;
}

let made = 0;

export class Stage {
  readonly dir: string;
  readonly netns: Namespace;
  readonly scope = new Scope();
  readonly pki: Pki;
  /** The processes of the play that goes on. */
  #processes: RunningProcess[] = [];
  #agent: RunningProcess | undefined;
  #server: RunningProcess | undefined;

  private constructor(dir: string, netns: Namespace, pki: Pki) {
    this.dir = dir;
    this.netns = netns;
    this.pki = pki;
  }

  static async make(): Promise<Stage> {
    const netns = await createNamespace(`m${++made}`);
    const folder = new Scope();
    const dir = folder.tempDir();
    const make = new Certificates(dir);
    const [ca, foreignCa] = await Promise.all([make.authority("cluster-ca"), make.authority("foreign-ca")]);
    const here = { dns: ["localhost"], ips: ["127.0.0.1"] };
    const [server, agent, caller] = await Promise.all([
      make.issue(ca, "server", { use: "server", ...here }),
      make.issue(ca, "agent"),
      make.issue(ca, "caller"),
    ]);
    const stage = new Stage(dir, netns, { make, ca, foreignCa, server, agent, caller });
    stage.scope.defer(() => folder.close());
    stage.scope.defer(() => netns.destroy());
    stage.write("admin-token", `${randomBytes(24).toString("base64")}\n`, 0o600);
    return stage;
  }

  file(name: string): string {
    return join(this.dir, name);
  }

  write(name: string, text: string, mode = 0o644): string {
    const path = this.file(name);
    writeFileSync(path, text, { mode });
    return path;
  }

  folder(name: string, mode = 0o755): string {
    mkdirSync(this.file(name), { recursive: true, mode });
    return this.file(name);
  }

  get socket(): string {
    return this.file("frontend.sock");
  }

  get adminToken(): string {
    return this.file("admin-token");
  }

  /** Starts a program in this network. */
  start(name: string, argv: readonly string[], env?: Start["env"]): RunningProcess {
    const args = [`--net=${this.netns.path}`, "--", ...argv];
    const process = startProcess({ name, command: "nsenter", args, cwd: this.dir, ...(env && { env }) });
    this.#processes.push(process);
    return process;
  }

  async #program(program: Program, health: number, args: readonly string[], options: Start): Promise<RunningProcess> {
    const { through = [], flags = [], env, isDoomed } = options;
    const process = this.start(program, [...through, ours(program), ...args, ...flags], env);
    if (isDoomed) return process;
    await process.untilReady("it was healthy", () =>
      waitUntil(`${program} to be healthy`, async () => (await this.get(health, "/healthz")).startsWith("200"), {
        withinMs: START_WITHIN_MS,
        context: () => `\n${process.log.tail()}`,
      }),
    );
    return process;
  }

  async server(options: ServerStart = {}): Promise<RunningProcess> {
    const { cert = this.pki.server, ca = this.pki.ca.cert, frontend = "uds", mode = "http-connect" } = options;
    const shown = options.frontendCert ?? this.pki.server;
    const tcp = [
      ...[`--server-port=${PORT.frontend}`, "--server-bind-address=127.0.0.1", `--server-cert=${shown.cert}`],
      ...[`--server-key=${shown.key}`, `--server-ca-cert=${this.pki.ca.cert}`],
    ];
    const args = [
      ...[`--mode=${mode}`, ...(frontend === "tcp" ? tcp : ["--server-port=0", `--uds-name=${this.socket}`])],
      ...[`--agent-port=${PORT.agents}`, `--cluster-cert=${cert.cert}`, `--cluster-key=${cert.key}`],
      ...(ca === "" ? [] : [`--cluster-ca-cert=${ca}`]),
      ...[`--health-port=${PORT.serverHealth}`, `--admin-port=${PORT.serverAdmin}`],
      ...[`--admin-token-file=${this.adminToken}`, "--watchdog-interval=1s"],
    ];
    this.#server = await this.#program("proxy-server", PORT.serverHealth, args, options);
    return this.#server;
  }

  /** Intervals are short so that a reconnect takes tenths of a second; everything else is as deployed. */
  async agent(options: AgentStart = {}): Promise<RunningProcess> {
    const { ca = this.pki.ca.cert, host = "127.0.0.1", port = PORT.agents } = options;
    const cert = "cert" in options ? options.cert : this.pki.agent;
    const args = [
      ...[`--proxy-server-host=${host}`, `--proxy-server-port=${port}`, `--ca-cert=${ca}`, "--agent-id=node-1"],
      ...(cert === undefined ? [] : [`--agent-cert=${cert.cert}`, `--agent-key=${cert.key}`]),
      ...[`--health-server-port=${PORT.agentHealth}`, `--admin-server-port=${PORT.agentAdmin}`],
      ...[`--admin-token-file=${this.adminToken}`, "--sync-interval=200ms", "--sync-interval-cap=500ms"],
      "--probe-interval=200ms",
    ];
    this.#agent = await this.#program("proxy-agent", PORT.agentHealth, args, options);
    return this.#agent;
  }

  /** The sidecar with an HTTP proxy, in front of the server's frontend. */
  async sidecar(frontend: string, options: Start = {}): Promise<RunningProcess> {
    const { through = [], flags = [], env, isDoomed } = options;
    const args = [
      ...["sidecar", `--listen=http://127.0.0.1:${PORT.sidecarHttp}`, `--frontend=${frontend}`],
      ...[`--health-port=${PORT.sidecarHealth}`, `--admin-port=${PORT.sidecarAdmin}`, "--probe-interval=300ms"],
      ...[`--admin-token-file=${this.adminToken}`, ...flags],
    ];
    const process = this.start("sidecar", [...through, ours("drawbridge"), ...args], env);
    if (isDoomed) return process;
    const isUp = async () => (await this.get(PORT.sidecarHealth, "/healthz")).startsWith("200");
    await process.untilReady("it was healthy", () =>
      waitUntil("the sidecar to be healthy", isUp, { withinMs: START_WITHIN_MS, context: () => process.log.tail() }),
    );
    return process;
  }

  /** Something that answers behind the tunnel. */
  async target(): Promise<string> {
    const code = `require("node:http").createServer((q,r)=>r.end("hello from the target\\n")).listen(${PORT.target},"127.0.0.1")`;
    this.start("target", [process.execPath, "-e", code]);
    await waitUntil("the target to listen", async () => (await this.get(PORT.target, "/")).startsWith("200"));
    return `127.0.0.1:${PORT.target}`;
  }

  /** Runs a command of ours to its end. */
  drawbridge(...args: readonly string[]): Promise<Outcome> {
    return this.run(ours("drawbridge"), ...args);
  }

  run(...argv: readonly string[]): Promise<Outcome> {
    return this.runWith({}, ...argv);
  }

  runWith(env: Readonly<Record<string, string | undefined>>, ...argv: readonly string[]): Promise<Outcome> {
    return new Promise((resolve) => {
      const options = { timeout: 60_000, cwd: this.dir, maxBuffer: 16 << 20, env: { ...process.env, ...env } };
      execFile("nsenter", [`--net=${this.netns.path}`, "--", ...argv], options, (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
        resolve({ code, stdout, text: `${stdout}${stderr}\n(ended with ${code})\n` });
      });
    });
  }

  /** The status, the headers and the body, or what curl said. */
  async get(port: number, path: string, ...flags: readonly string[]): Promise<string> {
    const url = `http://127.0.0.1:${port}${path}`;
    const { text } = await this.run("curl", "-sS", "--max-time", "5", "-o", "-", "-w", "\n%{http_code}", ...flags, url);
    const at = /\n(\d{3})(?:curl|\n\(ended)/.exec(text);
    return at === null ? text : `${at[1]} ${text.slice(0, at.index)}`;
  }

  /** An answer of a process' admin API; the token goes by a file, as it should. */
  admin(port: number, path = ""): Promise<string> {
    const header = `header = "Authorization: Bearer ${readFileSync(this.adminToken, "utf8").trim()}"\n`;
    return this.get(port, `/drawbridge/v1/${path}`, "-K", this.write("curl-admin", header, 0o600));
  }

  /** What doctor finds beside the processes of this network, as it prints it. */
  doctor(...flags: readonly string[]): Promise<string> {
    return this.drawbridge("doctor", ...flags).then(({ text }) => text);
  }

  async isAgentConnected(): Promise<boolean | undefined> {
    if (!this.#agent?.running) return undefined;
    return (await this.get(PORT.agentHealth, "/readyz")).startsWith("200");
  }

  /** Undefined without a server. */
  async serverMetrics(): Promise<string | undefined> {
    return this.#server?.running ? this.get(PORT.serverAdmin, "/metrics") : undefined;
  }

  /** A call through the tunnel to the target, as curl makes it. */
  async reachesTarget(proxy: readonly string[] = ["--unix-socket", this.socket]): Promise<boolean> {
    return (await this.call(proxy)).text.includes("hello from the target");
  }

  /** Speaks CONNECT to a frontend by hand: curl does not speak it to a Unix socket. */
  call(proxy: readonly string[] = ["--unix-socket", this.socket], target = `127.0.0.1:${PORT.target}`) {
    const [kind, path = ""] = proxy;
    if (kind !== "--unix-socket") {
      return this.run("curl", "-sS", "--max-time", "10", "-p", ...proxy, `http://${target}/`);
    }
    const code = `
      const s = require("node:net").connect(${JSON.stringify(path)});
      s.on("error", (e) => console.error(e.message)).on("close", () => process.exit()).setTimeout(10000, () => s.destroy());
      s.pipe(process.stdout);
      s.write("CONNECT ${target} HTTP/1.1\\r\\nHost: ${target}\\r\\n\\r\\n");
      s.once("data", (d) => String(d).startsWith("HTTP/1.1 200") && s.write("GET / HTTP/1.0\\r\\n\\r\\n"));`;
    return this.run(process.execPath, "-e", code);
  }

  /** Ends the processes of a play; folder and network stay. */
  async clear(): Promise<void> {
    const ending = this.#processes;
    this.#processes = [];
    this.#agent = undefined;
    this.#server = undefined;
    await Promise.all(ending.map((process) => process.close()));
  }

  async close(): Promise<void> {
    await this.clear();
    await this.scope.close();
  }
}
