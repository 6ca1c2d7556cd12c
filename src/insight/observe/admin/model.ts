/** All that can be known about one process: what its role reports, and what is remembered of the past. */
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { shown } from "../../../base/redact/redact.js";
import { listening } from "../../../tunnel/events/channels.js";
import { STEP_MS } from "../history/series.js";
import type { Recent } from "../recent.js";
import { RefusalLog } from "../refusals.js";
import { RefusedPeers } from "../refused-peers.js";
import { CertificateReader, type CertificatesInUse } from "./certificates.js";
import {
  API_VERSION,
  type CertificateInfo,
  type ListenerInfo,
  type Overview,
  type ProcessInfo,
  type Totals,
  type TunnelRow,
  type UnusedFiles,
} from "./contract.js";
import type { ObservedRole } from "./observed-role.js";
import { endedTunnels } from "./tunnel-row.js";

export interface AdminModelOptions {
  /** The server, agent, sidecar or Ignition server in events. */
  readonly source: object;
  /** Of drawbridge. */
  readonly version: string;
  readonly subject: ObservedRole;
}

export class AdminModel {
  readonly subject: ObservedRole;
  readonly refusals: RefusalLog;
  readonly refusedPeers = new RefusedPeers();
  readonly ended: Recent<TunnelRow>;
  readonly instance = randomBytes(6).toString("hex");
  /** In the order in which they were opened. */
  readonly listeners: ListenerInfo[] = [];
  /** Of the admin port itself. */
  ownCertificate: (() => CertificatesInUse) | undefined;
  ownUnusedFiles: () => readonly UnusedFiles[] = () => [];
  readonly #certificates = new CertificateReader();
  readonly #version: string;
  readonly #endings: readonly (() => void)[];

  constructor({ source, version, subject }: AdminModelOptions) {
    this.subject = subject;
    this.refusals = subject.refusals ?? new RefusalLog();
    this.ended = subject.ended ?? endedTunnels();
    this.#version = version;
    const { history } = subject;
    const sampling = history && setInterval(() => history.sample(subject.totals()), STEP_MS).unref();
    this.#endings = [
      () => clearInterval(sampling),
      listening.subscribe(({ what, address }) => this.listeners.push({ what, address }), source),
      this.refusedPeers.keep(source),
    ];
  }

  close(): void {
    for (const end of this.#endings) end();
  }

  process(): ProcessInfo {
    return {
      apiVersion: API_VERSION,
      version: this.#version,
      host: hostname(),
      pid: process.pid,
      instance: this.instance,
      startedAt: Math.round(performance.timeOrigin),
      now: Date.now(),
      ...this.subject.process(),
    };
  }

  totals(): Totals {
    return { at: Date.now(), ...this.subject.totals(), peersRefused: this.refusedPeers.total };
  }

  certificates(): readonly CertificateInfo[] {
    const own = this.ownCertificate === undefined ? [] : [this.ownCertificate()];
    return [...(this.subject.certificates?.() ?? []), ...own].flatMap((used) => this.#certificates.describe(used));
  }

  unusedFiles(): readonly UnusedFiles[] {
    const all = [...(this.subject.unusedFiles?.() ?? []), ...this.ownUnusedFiles()];
    return all.map((each) => ({ ...each, reason: shown(each.reason) }));
  }

  overview(): Overview {
    const { subject } = this;
    return {
      process: this.process(),
      totals: this.totals(),
      path: subject.path?.(),
      servers: subject.servers && [...subject.servers()],
      agents: subject.agents && [...subject.agents()],
      listeners: [...this.listeners],
      certificates: this.certificates(),
      unusedFiles: this.unusedFiles(),
      refusals: this.refusals.since(0),
      refusedPeers: this.refusedPeers.list(),
      ...subject.gathered?.(),
    };
  }
}
