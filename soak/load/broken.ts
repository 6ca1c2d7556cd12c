/** A tunnel, or a dial, ended before its time. Whether a fault explains that is judged later. */
export class Broken extends Error {
  readonly at = performance.now();
  readonly stage: "dial" | "tunnel";

  constructor(stage: "dial" | "tunnel", what: string) {
    super(what);
    this.stage = stage;
  }
}
