/** Bundles for tests, in the layout of openshift-install. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Finding } from "../../../base/finding.js";
import { serviceRun } from "../../../cluster/bootstrap/gather/testing/service-run.js";
import { type Analysis, analyze } from "../analyze.js";

/** A log bundle that grows file by file; it has a folder of its own until `remove`. */
export class TestBundle {
  readonly #scratch = mkdtempSync(join(tmpdir(), "drawbridge-bundle-"));
  readonly #name = "log-bundle-20261116001122";

  get folder(): string {
    return join(this.#scratch, this.#name);
  }

  put(path: string, content: string | object): this {
    const file = join(this.folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content, null, 2));
    return this;
  }

  /** A list of objects, as `oc get -o json` prints it. */
  resources(kind: string, ...items: object[]): this {
    return this.put(`resources/${kind}.json`, { apiVersion: "v1", kind: "List", items });
  }

  /** Stage results of bootkube in one run, `name: result`; "open" was not ended. */
  bootkube(stages: Readonly<Record<string, "success" | "failure" | "open">>, errorMessage = ""): this {
    return this.put("bootstrap/services/bootkube.json", serviceRun(stages, errorMessage));
  }

  agentLog(node: string, ...lines: string[]): this {
    return this.put(`control-plane/${node}/containers/konnectivity-agent-0a1b2c.log`, `${lines.join("\n")}\n`);
  }

  serverLog(...lines: string[]): this {
    return this.put("bootstrap/containers/konnectivity-server-3d4e5f.log", `${lines.join("\n")}\n`);
  }

  /** As one file, as the installer packs it. */
  pack(): string {
    const file = join(this.#scratch, "bundle.tar.gz");
    execFileSync("tar", ["-C", this.#scratch, "-czf", file, this.#name]);
    return file;
  }

  /** Beside the bundle, for files that are none. */
  file(name: string, content: string | Buffer): string {
    const file = join(this.#scratch, name);
    writeFileSync(file, content);
    return file;
  }

  analyze(): Promise<Analysis> {
    return analyze(this.folder);
  }

  /** `likelihood id` of each finding, in order. */
  async found(): Promise<string[]> {
    return (await this.analyze()).findings.map(({ likelihood, check }) => `${likelihood} ${check}`);
  }

  async finding(check: string): Promise<Finding> {
    const { findings } = await this.analyze();
    const finding = findings.find((candidate) => candidate.check === check);
    if (finding === undefined)
      throw new Error(`no ${check} among ${findings.map((one) => one.check).join(", ") || "nothing"}`);
    return finding;
  }

  remove(): void {
    rmSync(this.#scratch, { recursive: true, force: true });
  }
}
