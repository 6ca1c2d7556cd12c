/**
 * Collects everything that explains a bridge into one archive. Its manifest names what is missing; secrets are never in
 * it.
 */
import { buffer } from "node:stream/consumers";
import { ArchiveWriter } from "../../../base/archive-writer.js";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { redactFile } from "../../../base/redact/file.js";
import type { SshTarget } from "../ssh/ssh.js";
import { clusterFiles, type GatheredCluster } from "./cluster.js";
import { hostEntries } from "./host.js";
import { bootstrapCalls, type Call, type HostPlan, nodeCalls, nodeFolder } from "./plan.js";

export interface GatherOptions {
  readonly out: string;
  /** The version of drawbridge, for the manifest. */
  readonly version: string;
  readonly now: Date;
  /** The bootstrap host: this one, another, or none. */
  readonly host: { readonly over: SshTarget | undefined; readonly plan: HostPlan } | undefined;
  /** Hosts of agents. */
  readonly nodes: readonly SshTarget[];
  readonly cluster: GatheredCluster | undefined;
  /** Parts that no flag asked for: the archive is complete without them. */
  readonly optional?: { readonly nodes?: boolean; readonly cluster?: boolean };
  /** For each of these parts. */
  readonly timeoutMs: number;
}

export const archiveName = (now: Date): string => `drawbridge-gather-${now.toISOString().replace(/[-:]|\..*$/g, "")}`;

interface Part {
  readonly source: string;
  readonly isOptional?: boolean | undefined;
  /** Without content: the file is too large to be judged. */
  files(
    onFailure: (sentence: string) => void,
  ): AsyncIterable<{ readonly path: string; readonly content: Buffer | undefined }>;
}

/** Throws only when nothing can be written, or nothing at all was found. */
export async function gather(options: GatherOptions) {
  const { now, out, version } = options;
  const archive = new ArchiveWriter(out);
  const root = archiveName(now);
  const manifest = {
    tool: `drawbridge ${version}`,
    version: 1,
    gatheredAt: now.toISOString(),
    sources: [] as string[],
    files: [] as { path: string; bytes: number; redacted?: true }[],
    leftOut: [] as { path: string; why: string }[],
    failures: [] as string[],
  };
  /** Whether every part that was asked for gave something. */
  let complete = true;
  let lastFailure: unknown;

  const fail = (sentence: string): void => {
    // Sentences may quote the answer of a host or an API.
    const redacted = redactFile("failure.txt", Buffer.from(sentence));
    const clean = redacted.state === "kept" ? redacted.content.toString("utf8") : `(not shown: ${redacted.why})`;
    if (!manifest.failures.includes(clean)) manifest.failures.push(clean);
  };
  const add = async (path: string, content: Buffer | undefined): Promise<void> => {
    const redacted =
      content === undefined ? ({ state: "left-out", why: "it is too large" } as const) : redactFile(path, content);
    if (redacted.state === "left-out") {
      manifest.leftOut.push({ path, why: redacted.why });
      return;
    }
    await archive.add(`${root}/${path}`, redacted.content, now);
    manifest.files.push({ path, bytes: redacted.content.length, ...(redacted.changed ? { redacted: true } : {}) });
  };

  try {
    for (const { source, isOptional, files } of partsOf(options)) {
      const before = manifest.files.length;
      try {
        for await (const { path, content } of files(fail)) await add(path, content);
      } catch (reason) {
        if (archive.failed) throw reason;
        // The other parts are stored all the same.
        lastFailure = reason;
        if (!isOptional) complete = false;
        fail(messageOf(reason));
      }
      if (manifest.files.length > before) manifest.sources.push(source);
    }
    if (manifest.files.length === 0) {
      if (lastFailure instanceof DrawbridgeError) throw lastFailure;
      throw new DrawbridgeError("DB_GATHER", "Nothing of a bridge was found, so no archive was written.");
    }
    await archive.add(`${root}/manifest.json`, Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`), now);
    await archive.close();
    return { out, manifest, complete };
  } catch (reason) {
    await archive.discard();
    throw reason;
  }
}

function partsOf({ host, nodes, cluster, optional = {}, timeoutMs }: GatherOptions): Part[] {
  const ofHost = (source: string, folder: string, calls: readonly Call[], over: SshTarget | undefined): Part => ({
    source,
    files: () => hostFiles(folder, hostEntries(calls, over, timeoutMs)),
  });
  const parts: Part[] = nodes.map((node) => ({
    ...ofHost(`node ${node.host}`, nodeFolder(node.host), nodeCalls(node.host), node),
    isOptional: optional.nodes,
  }));
  if (host !== undefined) {
    const source = host.over === undefined ? "this host" : `bootstrap host ${host.over.host}`;
    parts.unshift(ofHost(source, "bootstrap", bootstrapCalls(host.plan), host.over));
  }
  if (cluster !== undefined) {
    const files: Part["files"] = (onFailure) => clusterFiles(cluster, timeoutMs, onFailure);
    parts.push({ source: "cluster", isOptional: optional.cluster, files });
  }
  return parts;
}

/** No log that is collected is larger. */
const LARGEST = 16 * 1024 * 1024;

async function* hostFiles(folder: string, entries: ReturnType<typeof hostEntries>) {
  for await (const entry of entries) {
    const path = entry.path === "gather.log" ? `${folder}/gather.log` : entry.path;
    yield { path, content: entry.size > LARGEST ? undefined : await buffer(entry.content()) };
  }
}
