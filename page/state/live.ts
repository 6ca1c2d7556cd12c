/** The page's one source: follows the stream, keeps the state of the process, redraws at most a few times a second. */
import type { Finding } from "../../src/base/finding.js";
import type { HistoryInfo, Role } from "../../src/insight/observe/admin/contract.js";
import { type FlowMap, FlowMeter } from "../../src/insight/watch/view/flows.js";
import { type Columns, withPast } from "../../src/insight/watch/view/history.js";
import { isSilent, retryAfterMs } from "../../src/insight/watch/view/patience.js";
import { FollowedProcess } from "../../src/insight/watch/view/process-view.js";
import { type Severity, troublesOf } from "../../src/insight/watch/view/severity.js";
import { EVENTS, findings as fetchFindings, history as fetchHistory, hasSession, logIn, Refused } from "./api.js";

/** `asking` whether there is a session · `locked` a token is wanted · `waiting` for the process to answer again. */
export type Phase = "asking" | "locked" | "live" | "waiting";

/** Scripts cannot see the cookie. This only spares the first visitor a request that must be refused. */
const OPENED = "drawbridge-session-opened";
const wasOpened = (): boolean => localStorage.getItem(OPENED) !== null;

const SAMPLE_MS = 1000;
const DIAGNOSE_MS = 5000;
const REMEMBER_MS = 10_000;
/** A dial that failed is shown sooner, but a thousand of them are not asked for one by one. */
const FAILED_MS = 2000;
const ROLES_WITH_HISTORY: readonly Role[] = ["server", "agent", "sidecar"];

export class Live extends FollowedProcess {
  phase: Phase = "asking";
  flows: FlowMap | undefined;
  /** Of the process' own diagnosis; undefined before the first answer. */
  findings: readonly Finding[] | undefined;
  /** Whom the findings name, and how bad that is. */
  troubles: ReadonlyMap<string, Severity> = new Map();
  /** The ten minutes that the process remembers; undefined before the first answer, and where the role keeps none. */
  past: HistoryInfo | undefined;
  /** What the charts draw. */
  columns: Columns = this.history.columns;
  /** Grows with every change, so that views know what is new. */
  version = 0;
  #meter = new FlowMeter();
  #source: EventSource | undefined;
  /** In memory only: a process that was started again has forgotten its sessions, and the page should not ask again. */
  #token: string | undefined;
  #heardAt = 0;
  #rememberedAt = 0;
  #failedThen = 0;
  #failures = 0;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #listeners = new Set<() => void>();
  #scheduled = false;

  constructor() {
    super();
    setInterval(() => this.#sample(), SAMPLE_MS);
    setInterval(() => void this.#diagnose(), DIAGNOSE_MS);
    void this.#begin();
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Rejects with one sentence when the token is not the right one. */
  async open(token: string): Promise<void> {
    await logIn(token);
    localStorage.setItem(OPENED, "yes");
    this.#token = token;
    clearTimeout(this.#retry);
    this.#follow();
  }

  /** The process' clock. */
  now(): number {
    return Date.now() - (this.view?.clockSkewMs ?? 0);
  }

  async #begin(): Promise<void> {
    try {
      if (wasOpened() && (await hasSession())) this.#follow();
      else if (this.#token !== undefined) await this.open(this.#token);
      else this.#enter("locked");
    } catch (error) {
      if (error instanceof Refused && error.status === 401) {
        // The token in the file is another one by now; only a person can know it.
        this.#token = undefined;
        this.#enter("locked");
        return;
      }
      this.#enter(this.view === undefined && this.#token === undefined ? "locked" : "waiting");
      this.#beginLater();
    }
  }

  #beginLater(): void {
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => void this.#begin(), retryAfterMs(this.#failures++));
  }

  #follow(): void {
    this.#source?.close();
    const source = new EventSource(EVENTS);
    this.#source = source;
    this.#heardAt = Date.now();
    for (const name of ["snapshot", "change"]) {
      source.addEventListener(name, (event) => {
        this.#heardAt = Date.now();
        const before = this.view?.facts.process.instance;
        this.take(name, (event as MessageEvent<string>).data);
        // What was found in another process is not true of this one.
        if (this.view?.facts.process.instance !== before) this.#forget();
        if (name === "snapshot") this.#restart();
        this.#changed();
      });
    }
    source.addEventListener("alive", () => {
      this.#heardAt = Date.now();
    });
    // The browser would try again by itself, but not after a 401, which is what a restarted process answers.
    source.onerror = () => this.#lose();
  }

  #lose(): void {
    this.#source?.close();
    this.#source = undefined;
    this.#enter("waiting");
    this.#beginLater();
  }

  #restart(): void {
    this.phase = "live";
    this.#failures = 0;
    void this.#diagnose();
    void this.#remember(Date.now());
    this.#measure(Date.now());
  }

  #measure(now: number): void {
    this.flows = this.#meter.measure(this.view!, now, { troubles: this.troubles, history: this.past });
  }

  async #diagnose(): Promise<void> {
    if (this.phase !== "live" || document.hidden) return;
    // The stream says when the process does not answer.
    this.findings = await fetchFindings().catch(() => this.findings);
    this.troubles = troublesOf(this.findings ?? []);
    this.#changed();
  }

  /** Every ten seconds, and soon after a dial failed. */
  async #remember(now: number): Promise<void> {
    const { process, totals } = this.view!.facts;
    if (!ROLES_WITH_HISTORY.includes(process.role)) return;
    const since = now - this.#rememberedAt;
    if (since < FAILED_MS || (since < REMEMBER_MS && totals.dialsFailed === this.#failedThen)) return;
    this.#rememberedAt = now;
    this.#failedThen = totals.dialsFailed;
    this.past = await fetchHistory().catch(() => this.past);
    this.#draw();
  }

  #forget(): void {
    this.findings = undefined;
    this.troubles = new Map();
    this.past = undefined;
    this.#rememberedAt = 0;
  }

  #draw(): void {
    if (this.view === undefined) return;
    this.columns = withPast(this.history.columns, this.past, this.view.clockSkewMs);
    this.#changed();
  }

  #sample(): void {
    // Whatever forwards the port may stand while its far end is gone, and then nothing ever ends the stream.
    if (this.#source !== undefined && isSilent(this.#heardAt, Date.now())) this.#lose();
    if (this.view === undefined || this.phase !== "live" || document.hidden) return;
    const now = Date.now();
    this.sample(now);
    this.#measure(now);
    void this.#remember(now);
    this.#draw();
  }

  #enter(phase: Phase): void {
    this.phase = phase;
    this.#changed();
  }

  /** Several events in one frame are one drawing. */
  #changed(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    requestAnimationFrame(() => {
      this.#scheduled = false;
      this.version += 1;
      for (const listener of this.#listeners) listener();
    });
  }
}
