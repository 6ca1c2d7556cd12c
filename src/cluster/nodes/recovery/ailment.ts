/** What the doctor of workers says about one thing. It has the members of src/insight/diagnosis's diagnoses, and is shown like them. */
import { catalogue, type ErrorCode } from "../../../base/errors/catalogue.js";

export type AilmentCode = Extract<ErrorCode, `DB_NODE_${string}`>;

export interface Ailment {
  /** Which check says it. */
  readonly id: string;
  /** Undefined when nothing is wrong. */
  readonly code: AilmentCode | undefined;
  /** `namespace/name` of the pool, or the worker's name. */
  readonly subject: string;
  /** Only what is wrong makes the doctor fail. */
  readonly state: "ok" | "warning" | "wrong" | "skipped";
  /** One sentence without its full stop. */
  readonly finding: string;
  readonly evidence: readonly string[];
  readonly remedy: string;
  readonly fix?: Fix;
}

/** Something that can be done without anybody's leave: it takes nothing away, and doing it twice is doing it once. */
export interface Fix {
  /** As an order: "write ... anew". */
  readonly what: string;
  /** Resolves to what came of it. */
  apply(): Promise<string>;
}

interface About {
  readonly id: string;
  readonly subject: string;
}

export function fine({ id, subject }: About, finding: string, ...evidence: string[]): Ailment {
  return { id, subject, code: undefined, state: "ok", finding, evidence, remedy: "" };
}

export function unasked({ id, subject }: About, finding: string, remedy = ""): Ailment {
  return { id, subject, code: undefined, state: "skipped", finding, evidence: [], remedy };
}

export interface Trouble {
  readonly code: AilmentCode;
  readonly state?: "warning" | "wrong";
  readonly finding: string;
  readonly evidence?: readonly string[];
  /** Where the catalogue's own is too general. */
  readonly remedy?: string;
  readonly fix?: Fix | undefined;
}

export function trouble({ id, subject }: About, of: Trouble): Ailment {
  const { code, evidence = [], finding, fix, remedy = catalogue[code].remedy, state = "wrong" } = of;
  return { id, subject, code, state, finding, evidence, remedy, ...(fix && { fix }) };
}
