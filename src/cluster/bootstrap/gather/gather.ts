/** Collects everything that explains a bridge into one archive. What cannot be had is named in it; secrets never are in it. */
import { buffer } from "node:stream/consumers";
import { ArchiveWriter } from "../../../base/archive-writer.js";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { redactFile } from "../../../base/redact/file.js";
import type { SshTarget } from "../ssh/ssh.js";
import { clusterFiles } from "./cluster-part.js";
import { hostEntries } from "./host-part.js";
import { bootstrapCalls, type Call, type HostPlan, nodeCalls, nodeFolder } from "./plan.js";
import { collectionScript } from "./script.js";

export interface GatherOptions {
  readonly out: string;
  /** drawbridge's own, for the manifest. */
  readonly version: string;
  readonly now: Date;
  /** The bootstrap host: this one, another, or none. */
  readonly host: { readonly over: SshTarget | undefined; readonly plan: HostPlan } | undefined;
  /** Hosts of agents. */
  readonly nodes: readonly SshTarget[];
  readonly cluster: { readonly kubeconfig: string; readonly namespaces: readonly string[] } | undefined;
  /** Parts that nobody asked for by name: it is no failure when they are not to be had. */
  readonly optional?: { readonly nodes?: boolean; readonly cluster?: boolean };
  /** For each of these parts. */
  readonly timeoutMs: number;
}

export interface GatherManifest {
  readonly tool: string;
  readonly version: 1;
  readonly gatheredAt: string;
  readonly sources: readonly string[];
  readonly files: readonly { readonly path: string; readonly bytes: number; readonly redacted?: true }[];
  readonly leftOut: readonly { readonly path: string; readonly why: string }[];
  readonly failures: readonly string[];
}

export interface Gathered {
  readonly out: string;
  readonly manifest: GatherManifest;
  /** Whether every part that was asked for gave something. */
  readonly complete: boolean;
}

/** No log that we collect is larger; whatever claims to be is cut off. */
const LARGEST = 16 * 1024 * 1024;

interface Part {
  readonly source: string;
  readonly optional: boolean;
  /** Without content: what is too large to be judged. */
  files(
    onFailure: (sentence: string) => void,
  ): AsyncIterable<{ readonly path: string; readonly content: Buffer | undefined }>;
}

/** Throws only when nothing can be written, or nothing at all was found. */
export async function gather(options: GatherOptions): Promise<Gathered> {
  const store = new Store(options);
  try {
    for (const part of partsOf(options)) await store.take(part);
    return await store.close();
  } catch (reason) {
    await store.discard();
    throw reason;
  }
}

function partsOf({ host, nodes, cluster, optional = {}, timeoutMs }: GatherOptions): Part[] {
  const fromHost = (folder: string, calls: readonly Call[], over: SshTarget | undefined) =>
    hostFiles(folder, hostEntries({ script: collectionScript(calls), over, timeoutMs }));
  return [
    ...(host === undefined
      ? []
      : [
          {
            source: host.over === undefined ? "this host" : `bootstrap host ${host.over.host}`,
            optional: false,
            files: () => fromHost("bootstrap", bootstrapCalls(host.plan), host.over),
          },
        ]),
    ...nodes.map((node) => ({
      source: `node ${node.host}`,
      optional: optional.nodes ?? false,
      files: () => fromHost(nodeFolder(node.host), nodeCalls(node.host), node),
    })),
    ...(cluster === undefined
      ? []
      : [
          {
            source: "cluster",
            optional: optional.cluster ?? false,
            files: (onFailure: (sentence: string) => void) => inCluster({ ...cluster, timeoutMs, onFailure }),
          },
        ]),
  ];
}

async function* hostFiles(folder: string, entries: ReturnType<typeof hostEntries>) {
  for await (const entry of entries) {
    const path = entry.path === "gather.log" ? `${folder}/gather.log` : entry.path;
    yield { path, content: entry.size > LARGEST ? undefined : await buffer(entry.content()) };
  }
}

async function* inCluster(run: Parameters<typeof clusterFiles>[0]) {
  for await (const { path, content } of clusterFiles(run)) {
    // The end of a list is no list: a cluster's objects come whole.
    yield { path, content: Buffer.from(content) };
  }
}

class Store {
  readonly #options: GatherOptions;
  readonly #archive: ArchiveWriter;
  readonly #root: string;
  readonly #manifest = {
    sources: [] as string[],
    files: [] as GatherManifest["files"][number][],
    leftOut: [] as GatherManifest["leftOut"][number][],
    failures: [] as string[],
  };
  #complete = true;
  #lastFailure: unknown;

  constructor(options: GatherOptions) {
    this.#options = options;
    this.#archive = new ArchiveWriter(options.out);
    this.#root = `drawbridge-gather-${options.now.toISOString().replace(/[-:]|\..*$/g, "")}`;
  }

  /** One part that fails does not keep the others from being stored. */
  async take(part: Part): Promise<void> {
    const before = this.#manifest.files.length;
    try {
      for await (const { path, content } of part.files((sentence) => this.#fail(sentence)))
        await this.#add(path, content);
    } catch (reason) {
      if (this.#archive.failed) throw reason;
      this.#lastFailure = reason;
      if (!part.optional) this.#complete = false;
      this.#fail(messageOf(reason));
    }
    if (this.#manifest.files.length > before) this.#manifest.sources.push(part.source);
  }

  async close(): Promise<Gathered> {
    if (this.#manifest.files.length === 0) throw this.#nothing();
    const { now, out, version } = this.#options;
    const manifest: GatherManifest = {
      tool: `drawbridge ${version}`,
      version: 1,
      gatheredAt: now.toISOString(),
      ...this.#manifest,
    };
    await this.#archive.add(`${this.#root}/manifest.json`, Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`), now);
    await this.#archive.close();
    return { out, manifest, complete: this.#complete };
  }

  discard(): Promise<void> {
    return this.#archive.discard();
  }

  async #add(path: string, content: Buffer | undefined): Promise<void> {
    const redacted =
      content === undefined ? ({ state: "left-out", why: "it is too large" } as const) : redactFile(path, content);
    if (redacted.state === "left-out") {
      this.#manifest.leftOut.push({ path, why: redacted.why });
      return;
    }
    await this.#archive.add(`${this.#root}/${path}`, redacted.content, this.#options.now);
    const bytes = redacted.content.length;
    this.#manifest.files.push({ path, bytes, ...(redacted.changed ? { redacted: true } : {}) });
  }

  #fail(sentence: string): void {
    // Sentences may quote what a host or an API said.
    const redacted = redactFile("failure.txt", Buffer.from(sentence));
    const clean = redacted.state === "kept" ? redacted.content.toString("utf8") : `(not shown: ${redacted.why})`;
    if (!this.#manifest.failures.includes(clean)) this.#manifest.failures.push(clean);
  }

  #nothing(): unknown {
    if (this.#lastFailure instanceof DrawbridgeError) return this.#lastFailure;
    return new DrawbridgeError("DB_GATHER", "Nothing of a bridge was found, so no archive was written.");
  }
}
