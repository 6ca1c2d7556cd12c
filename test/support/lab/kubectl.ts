import { writeFileSync } from "node:fs";
import type { Pair } from "./certificates.js";
import { type Outcome, run } from "./run.js";

export interface ApiAccess {
  /** https URL of the kube-apiserver. */
  readonly url: string;
  readonly caFile: string;
}

export type Credential = Pair | { readonly tokenFile: string };

/** A kubeconfig that names its credentials by path; the lab's folder is private to the test. */
export function writeKubeconfig(path: string, api: ApiAccess, credential: Credential): string {
  const user =
    "tokenFile" in credential
      ? { tokenFile: credential.tokenFile }
      : { "client-certificate": credential.cert, "client-key": credential.key };
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "lab", cluster: { server: api.url, "certificate-authority": api.caFile } }],
    users: [{ name: "user", user }],
    contexts: [{ name: "lab", context: { cluster: "lab", user: "user" } }],
    "current-context": "lab",
  };
  writeFileSync(path, JSON.stringify(config), { mode: 0o600 });
  return path;
}

/** kubectl, run where an administrator of the control plane would run it. */
export class Kubectl {
  readonly #executable: string;
  readonly #kubeconfig: string;
  readonly #netns: string | undefined;

  constructor(executable: string, kubeconfig: string, netns?: string) {
    this.#executable = executable;
    this.#kubeconfig = kubeconfig;
    this.#netns = netns;
  }

  get netns(): string | undefined {
    return this.#netns;
  }

  command(args: readonly string[]): [string, ...string[]] {
    return [this.#executable, `--kubeconfig=${this.#kubeconfig}`, `--cache-dir=${this.#kubeconfig}.cache`, ...args];
  }

  /** Whatever comes of it. */
  try(args: readonly string[], input?: string, timeoutMs?: number): Promise<Outcome> {
    return run(this.command(args), { netns: this.#netns, input, timeoutMs });
  }

  /** Must succeed. */
  async run(args: readonly string[], input?: string, timeoutMs?: number): Promise<string> {
    const { code, stdout, stderr } = await this.try(args, input, timeoutMs);
    if (code !== 0) throw new Error(`kubectl ${args.join(" ")} ended with ${code}: ${stderr.trim()}`);
    return stdout;
  }

  /** Waits for the end of a roll-out; `what` is a name, with flags that say where. */
  async rolledOut(...what: readonly string[]): Promise<void> {
    await this.run(["rollout", "status", ...what, "--timeout=170s"], undefined, 180_000);
  }

  async apply(...objects: readonly object[]): Promise<void> {
    const list = { apiVersion: "v1", kind: "List", items: objects };
    await this.run(["apply", "--server-side", "--force-conflicts", "-f", "-"], JSON.stringify(list));
  }

  async json<T>(args: readonly string[]): Promise<T> {
    return JSON.parse(await this.run([...args, "-o", "json"])) as T;
  }

  raw(path: string): Promise<string> {
    return this.run(["get", "--raw", path]);
  }
}
