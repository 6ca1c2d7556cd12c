/**
 * How two drawbridge ends find each other: one metadata key on Connect and in the response headers, ignored by
 * upstream. The value is a version; both must name the same one (docs/protocol.md).
 */
export const FEATURES_KEY = "drawbridge-features";
export const FEATURES_V1 = "1;credit,end-of-stream";

/** Whether the peer speaks what we speak. */
export function agreesOnFeatures(value: string | readonly string[] | undefined): boolean {
  return value === FEATURES_V1;
}
