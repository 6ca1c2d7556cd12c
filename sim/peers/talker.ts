/** One end of a conversation: sends its stream, reads the other's, and ends as it was told to. */
import type { Ending, Reading, Sending } from "../types.js";
import { Content } from "../world/content.js";
import type { Host } from "../world/host.js";
import type { Line, LineEvents } from "./line.js";

export interface TalkerPlan {
  readonly name: string;
  /** The name of the other end's stream. */
  readonly other: string;
  readonly sends: Sending;
  readonly reads: Reading;
  readonly ends: Ending;
}

export class Talker implements LineEvents {
  readonly plan: TalkerPlan;
  readonly host: Host;
  /** Bytes handed to the line, and bytes that came. */
  sent = 0;
  received = 0;
  /** Everything it wanted to send was handed to the line. */
  hasSentAll = false;
  /** It has ended its own side, or closed, or reset the line. */
  hasEnded = false;
  isAborted = false;
  /** The other side's end has come, in good order. */
  sawEnd = false;
  isClosed = false;
  error: string | undefined;
  closedAtMs = 0;
  /** How long it has paused of its own will, between two reads and between two writes. */
  pausedMs = 0;
  /** It does not read, and will not before everybody is told to. */
  hasStopped = false;
  line: Line | undefined;
  readonly #content: Content;
  readonly #expected: Content;
  readonly #onClosed: () => void;
  #isWaiting = false;
  #isDue = false;
  #isResting = false;
  #isHurried = false;

  constructor(host: Host, plan: TalkerPlan, onClosed: () => void = () => {}) {
    this.host = host;
    this.plan = plan;
    this.#onClosed = onClosed;
    const { seed } = host.world;
    this.#content = new Content(seed, plan.name);
    this.#expected = new Content(seed, plan.other);
  }

  /** From now on it talks. */
  start(line: Line): void {
    this.line = line;
    this.#go();
  }

  /** The last fault is over: whoever reads slowly or not at all reads on, and nobody pauses. */
  hurry(): void {
    this.#isHurried = true;
    if (this.isClosed || this.line === undefined) return;
    this.hasStopped = false;
    this.line.resume();
    this.#go();
  }

  #go(): void {
    const { line } = this;
    if (line === undefined || this.isClosed || this.#isWaiting || this.#isDue) return;
    const { bytes, chunkBytes, pauseMs, afterBytes } = this.plan.sends;
    if (this.hasSentAll || this.hasEnded) return;
    if (this.received < afterBytes && !this.sawEnd) return;
    if (this.received >= afterBytes) {
      while (this.sent < bytes) {
        const piece = this.#content.piece(this.sent, Math.min(chunkBytes, bytes - this.sent));
        this.sent += piece.length;
        this.#isWaiting = !line.write(piece);
        if (this.#isWaiting) return;
        if (pauseMs > 0 && !this.#isHurried && this.sent < bytes) {
          this.#isDue = true;
          this.host.after(pauseMs, "talk", () => {
            this.#isDue = false;
            if (!this.isClosed) this.pausedMs += pauseMs;
            this.#go();
          });
          return;
        }
      }
    }
    this.hasSentAll = true;
    this.#endIfDue();
  }

  #endIfDue(): void {
    const { line } = this;
    if (line === undefined || !this.hasSentAll || this.hasEnded || this.isClosed) return;
    const { ends } = this.plan;
    if (ends.how === "fin" || this.sawEnd) {
      this.hasEnded = true;
      line.end();
    } else if ((ends.how === "close" || ends.how === "reset") && this.received >= ends.afterBytes) {
      this.hasEnded = true;
      this.isAborted = true;
      if (ends.how === "close") line.close();
      else line.reset();
    }
  }

  onData(bytes: Uint8Array): void {
    const { world } = this.host;
    const { name, other, reads } = this.plan;
    const differsAt = this.#expected.differsAt(this.received, bytes);
    this.received += bytes.length;
    world.note("reads", name, bytes.length);
    if (differsAt !== undefined)
      world.fail("bytes are a prefix of what was sent", `${name} read another byte at ${differsAt} than ${other} sent`);
    if (!this.#isHurried && this.line !== undefined) {
      if (reads.stopsAfter !== undefined && this.received >= reads.stopsAfter) {
        this.hasStopped = true;
        this.line.pause();
      } else if (reads.everyMs > 0 && !this.#isResting) {
        this.#isResting = true;
        this.line.pause();
        this.host.after(reads.everyMs, "read on", () => {
          this.#isResting = false;
          if (!this.isClosed) this.pausedMs += reads.everyMs;
          if (!this.hasStopped) this.line?.resume();
        });
      }
    }
    this.#go();
    this.#endIfDue();
  }

  onDrain(): void {
    this.#isWaiting = false;
    this.#go();
  }

  onEnd(): void {
    this.sawEnd = true;
    this.host.world.note("sees the end", this.plan.name, this.received);
    this.#go();
    this.#endIfDue();
  }

  onClosed(error: string | undefined): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.error = error;
    this.closedAtMs = this.host.world.now;
    this.host.world.note(error === undefined ? "is closed" : `is closed by ${error}`, this.plan.name, this.received);
    this.#onClosed();
  }
}
