import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { component } from "../../lab/equipment.js";
import { LabProcess } from "../../lab/process.js";
import { type Outcome, run } from "../../lab/run.js";
import type { Scope } from "../../lab/scope.js";

const RENDER = new URL("./render-main.ts", import.meta.url);
const beside = (name: string): string => fileURLToPath(new URL(`./${name}`, import.meta.url));

/** Places of the host that its commands see instead of this machine's. */
const PLACES = ["etc", "opt", "var/log", "usr/local/bin"] as const;

/** All that the injected scripts may use; `grep` is the certificates' script's. */
const TOOLS = ["bash", "sed", "awk", "openssl", "ip", "jq", "grep"];
const COREUTILS = [
  ...[
    "base64",
    "basename",
    "cat",
    "chmod",
    "cp",
    "date",
    "dirname",
    "env",
    "head",
    "ln",
    "ls",
    "mkdir",
    "mktemp",
    "mv",
    "printf",
  ],
  ...["rm", "rmdir", "sleep", "stat", "sync", "tail", "timeout", "touch", "tr", "true", "wc"],
];
/** The linker's, the resolver's and openssl's; nothing here is written to. */
const FROM_THIS_MACHINE = [
  "alternatives",
  "group",
  "hosts",
  "ld.so.cache",
  "nsswitch.conf",
  "passwd",
  "ssl/openssl.cnf",
];

const BOOTKUBE = "cd /opt/openshift && exec /usr/local/bin/bootkube.sh";

export interface BashRun {
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

interface IgnitionEntry {
  readonly path: string;
  readonly mode: number;
  readonly contents?: { readonly source: string };
}

/** A bootstrap host as Ignition leaves it: the files of a bootstrap.ign under a root of its own, and bash to run them. */
export class BootstrapHost {
  readonly root: string;
  readonly netns: string;
  readonly #scope: Scope;

  constructor(scope: Scope, name: string, netns: string, ignition: string) {
    this.#scope = scope;
    this.netns = netns;
    this.root = scope.file(name);
    for (const place of [...PLACES, "machine-bin", "tools", "opt/openshift/test", "etc/kubernetes"])
      mkdirSync(this.at(place), { recursive: true });
    this.#borrow();
    for (const entry of JSON.parse(ignition).storage.files as IgnitionEntry[]) this.#write(entry);
  }

  at(...parts: string[]): string {
    return join(this.root, ...parts);
  }

  read(path: string): string {
    return readFileSync(this.at(path), "utf8");
  }

  exists(path: string): boolean {
    return existsSync(this.at(path));
  }

  list(path: string): string[] {
    return this.exists(path) ? readdirSync(this.at(path)).sort() : [];
  }

  /** A switch that the played containers look at. */
  toggle(name: string, on = true): void {
    if (on) writeFileSync(this.at("opt/openshift/test", name), "");
    else rmSync(this.at("opt/openshift/test", name), { force: true });
  }

  giveKubeconfig(kubeconfig: string): void {
    mkdirSync(this.at("opt/openshift/auth"), { recursive: true });
    writeFileSync(this.at("opt/openshift/auth/kubeconfig"), readFileSync(kubeconfig), { mode: 0o600 });
  }

  /** The words that put a command onto this host, with further directories under other names. */
  entered(command: readonly string[], binds: readonly (readonly [from: string, to: string])[] = []): string[] {
    const bound = binds.flatMap(([from, to]) => ["--bind", from, to]);
    return ["unshare", "--mount", "bash", beside("enter.sh"), this.root, ...bound, "--", ...command];
  }

  /** A script in the host's own environment, with nothing on PATH but what a bootstrap host is sure to have. */
  bash(script: string, { env = {}, timeoutMs = 60_000 }: BashRun = {}): Promise<Outcome> {
    return run(this.entered(this.#clean(env, script)), { netns: this.netns, timeoutMs });
  }

  /** bootkube.sh as its unit starts it; runs until it ends by itself or is ended. */
  startBootkube(env: Readonly<Record<string, string>> = {}): LabProcess {
    const [program, ...words] = this.entered(this.#clean(env, BOOTKUBE));
    return LabProcess.start(this.#scope, {
      name: basename(this.root),
      netns: this.netns,
      command: [program as string, ...words],
    });
  }

  /** The same, to its end. */
  bootkube(env: Readonly<Record<string, string>> = {}, timeoutMs = 60_000): Promise<Outcome> {
    return this.bash(BOOTKUBE, { env, timeoutMs });
  }

  /** What the unit of an enabled service runs, once; how it ended decides whether systemd would start it again. */
  runUnit(unit: string, env: Readonly<Record<string, string>> = {}): Promise<Outcome> {
    const command = /^ExecStart=(.*)$/m.exec(this.read(`etc/systemd/system/${unit}`))?.[1];
    if (!this.isEnabled(unit) || command === undefined) throw new Error(`${unit} is not enabled`);
    return this.bash(`cd / && exec ${command}`, { env });
  }

  isEnabled(unit: string): boolean {
    return this.list("etc/systemd/system/multi-user.target.wants").includes(unit);
  }

  /** `stage result` of every stage in the service records. */
  recorded(service = "bootkube"): string[] {
    const file = `var/log/openshift/${service}.json`;
    if (!this.exists(file)) return [];
    const entries = JSON.parse(this.read(file)) as Record<string, string>[];
    return entries.filter(({ phase }) => phase === "stage end").map(({ stage, result }) => `${stage} ${result}`);
  }

  /** bash with nothing in its environment but what a unit would set, and the test's own switches. */
  #clean(env: Readonly<Record<string, string>>, script: string): string[] {
    const tsx = import.meta.resolve("tsx");
    const variables = {
      HOME: "/root",
      PATH: this.at("tools"),
      LAB_RENDER: [process.execPath, "--import", tsx, fileURLToPath(RENDER)].join(" "),
      BASH_ENV: beside("kill-point.sh"),
      TSX_DISABLE_CACHE: "1",
      ...env,
    };
    return [
      "env",
      "-i",
      ...Object.entries(variables).map(([name, value]) => `${name}=${value}`),
      "bash",
      "--norc",
      "-c",
      script,
    ];
  }

  #borrow(): void {
    for (const name of FROM_THIS_MACHINE.filter((file) => existsSync(join("/etc", file)))) {
      mkdirSync(dirname(this.at("etc", name)), { recursive: true });
      cpSync(join("/etc", name), this.at("etc", name), { recursive: true, verbatimSymlinks: true });
    }
    for (const name of readdirSync("/usr/local/bin"))
      symlinkSync(this.at("machine-bin", name), this.at("usr/local/bin", name));
    for (const tool of [...TOOLS, ...COREUTILS]) symlinkSync(onPath(tool), this.at("tools", tool));
    symlinkSync(component("kubectl"), this.at("tools/oc"));
    for (const played of ["podman", "systemctl"]) {
      cpSync(beside(`${played}.sh`), this.at("tools", played));
      chmodSync(this.at("tools", played), 0o755);
    }
  }

  /** Only files with contents of their own; nothing under another place than the host's. */
  #write({ path, mode, contents }: IgnitionEntry): void {
    if (contents === undefined) return;
    if (!PLACES.some((place) => path.startsWith(`/${place}/`))) throw new Error(`the host has no place for ${path}`);
    const [, content = ""] = contents.source.split(/;base64,/);
    mkdirSync(dirname(this.at(path)), { recursive: true });
    rmSync(this.at(path), { force: true });
    writeFileSync(this.at(path), Buffer.from(content, "base64"), { mode });
  }
}

function onPath(tool: string): string {
  const folders = [...(process.env.PATH ?? "").split(":"), "/usr/sbin", "/sbin"];
  const found = folders.map((folder) => join(folder, tool)).find((path) => existsSync(path));
  if (found === undefined) throw new Error(`${tool} is missing on this machine`);
  return found;
}
