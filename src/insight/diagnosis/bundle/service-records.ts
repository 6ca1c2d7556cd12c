/** The records of systemd services of a bootstrap host, read as the installer reads them. */
import { type Bundle, evidence } from "./bundle.js";

export interface ServiceRecord {
  readonly name: string;
  readonly file: string;
  readonly starts: number;
  readonly successful: boolean;
  /** The stage that failed last and has not succeeded since; undefined when none did. */
  readonly failingStage: string | undefined;
  readonly lastError: string;
  readonly succeeded: ReadonlySet<string>;
  /** A stage that was begun and not ended. */
  readonly openStage: { readonly name: string; readonly since: string } | undefined;
  /** Where the failure is recorded. */
  readonly failure: string | undefined;
}

interface Entry {
  readonly timestamp?: unknown;
  readonly phase?: unknown;
  readonly result?: unknown;
  readonly stage?: unknown;
  /** The key that installers up to 4.22 read instead of `stage`. */
  readonly string?: unknown;
  readonly errorLine?: unknown;
  readonly errorMessage?: unknown;
}

export function readServiceRecord({ services, observations }: Bundle, file: string, text: string): void {
  const name = /([^/]+)\.json$/.exec(file)![1]!;
  const entries = parseEntries(text);
  if (entries === undefined) observations.push(`${file} is not a service record and was passed over.`);
  else services.set(name, recordOf(name, file, text, entries));
}

function recordOf(name: string, file: string, text: string, entries: readonly Entry[]): ServiceRecord {
  let failingStage: string | undefined;
  let failure: string | undefined;
  let lastError = "";
  let openStage: ServiceRecord["openStage"];
  const succeeded = new Set<string>();
  for (const [index, entry] of entries.entries()) {
    const phase = String(entry.phase);
    const stage = word(entry.stage) || word(entry.string);
    if (phase === "stage start") openStage = { name: stage, since: word(entry.timestamp) };
    if (phase === "stage end" || phase === "service end") openStage = undefined;
    if (entry.result === "success" && phase === "stage end") {
      succeeded.add(stage);
      if (stage === failingStage) failingStage = undefined;
    }
    if (entry.result !== "failure") continue;
    // The service ends in failure because its stage did: the stage says more.
    if (phase === "service end" && failingStage !== undefined) continue;
    failingStage = stage;
    lastError = word(entry.errorMessage);
    failure = evidence(file, described(phase, stage, entry), lineOf(text, index));
  }
  const last = entries.at(-1);
  const successful = ["service end", "post-command end"].includes(String(last?.phase)) && last?.result === "success";
  const failing = successful ? undefined : failingStage;
  return {
    ...{ name, file, successful, succeeded, openStage, lastError: failing === undefined ? "" : lastError },
    starts: entries.filter(({ phase }) => phase === "service start").length,
    failingStage: failing,
    failure: failing === undefined ? undefined : failure,
  };
}

function parseEntries(text: string): readonly Entry[] | undefined {
  try {
    const entries: unknown = JSON.parse(text);
    const isList = Array.isArray(entries) && entries.every((entry) => typeof entry === "object" && entry !== null);
    return isList ? (entries as readonly Entry[]) : undefined;
  } catch {
    return undefined;
  }
}

function described(phase: string, stage: string, entry: Entry): string {
  const where = word(entry.errorLine);
  const what = `${stage === "" ? phase : `${stage} (${phase})`}: failure`;
  return [what, where === "" ? "" : ` at ${where}`, word(entry.errorMessage) && `: ${word(entry.errorMessage)}`].join(
    "",
  );
}

const word = (value: unknown): string => (typeof value === "string" ? value : "");

/** jq writes one member a line: the n-th entry is where the n-th "phase" is. */
function lineOf(text: string, index: number): number {
  let at = -1;
  for (let seen = -1; seen < index; seen++) {
    at = text.indexOf('"phase"', at + 1);
    if (at < 0) return 1;
  }
  return text.slice(0, at).split("\n").length;
}
