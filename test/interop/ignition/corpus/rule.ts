/** One rule of the specification, with configs that keep it and configs that break it. */
export interface Rule {
  readonly rule: string;
  readonly accept: readonly Case[];
  readonly reject: readonly Case[];
}

/** A config without its version, or the whole text where the text is the point. */
export type Case = Body | string;

export interface Body {
  readonly ignition?: object;
  readonly [section: string]: unknown;
}

/** The spec version for which accept and reject are meant; the peer is asked about every version. */
export const DECLARED_MINOR = 5;

export function textOf(body: Case, minor: number): string {
  if (typeof body === "string") return body;
  return JSON.stringify({ ...body, ignition: { version: `3.${minor}.0`, ...body.ignition } });
}

export const file = (fields: object): Body => ({ storage: { files: [{ path: "/a", ...fields }] } });
export const storage = (fields: object): Body => ({ storage: fields });
export const contents = (fields: object): Body => file({ contents: fields });
export const source = (text: string): Body => contents({ source: text });
export const unit = (fields: object): Body => ({ systemd: { units: [{ name: "a.service", ...fields }] } });
export const merging = (fields: object): Body => ({ ignition: { config: { merge: [fields] } } });
