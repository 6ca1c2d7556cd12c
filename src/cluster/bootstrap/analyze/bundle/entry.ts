/** One file of a bundle, wherever the bundle lies. */
export interface BundleEntry {
  /** From the bundle's root on, with forward slashes: `bootstrap/services/bootkube.json`. */
  readonly path: string;
  readonly size: number;
  readonly modifiedAt: Date;
  /** To be read, or left, before the next entry is asked for. */
  content(): AsyncIterable<Buffer>;
}
