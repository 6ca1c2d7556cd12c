/** The records of systemd services of a bootstrap host, read as the installer reads them. */
import { isRecord, jsonOf } from "../../../base/at.js";
import { type Bundle, evidence } from "./bundle.js";

export type ServiceRecord = ReturnType<typeof recordOf>;

/** `string` is the key that installers up to 4.22 read instead of `stage`. */
type Entry = Readonly<
  Record<"timestamp" | "phase" | "result" | "stage" | "string" | "errorLine" | "errorMessage", unknown>
>;

export function readServiceRecord({ services, observations }: Bundle, file: string, text: string): void {
  const name = /([^/]+)\.json$/.exec(file)![1]!;
  const entries = jsonOf(text);
  if (Array.isArray(entries) && entries.every(isRecord))
    services.set(name, recordOf(name, file, text, entries as Entry[]));
  else observations.push(`${file} is not a service record and was passed over.`);
}

function recordOf(name: string, file: string, text: string, entries: readonly Entry[]) {
  let failed: { readonly stage: string; readonly error: string; readonly seen: string } | undefined;
  let openStage: { readonly name: string; readonly since: string } | undefined;
  const succeeded = new Set<string>();
  for (const [index, entry] of entries.entries()) {
    const phase = String(entry.phase);
    const stage = word(entry.stage) || word(entry.string);
    if (phase === "stage start") openStage = { name: stage, since: word(entry.timestamp) };
    if (phase === "stage end" || phase === "service end") openStage = undefined;
    if (entry.result === "success" && phase === "stage end") {
      succeeded.add(stage);
      if (stage === failed?.stage) failed = undefined;
    }
    if (entry.result !== "failure") continue;
    // The service ends in failure because its stage did: the stage says more.
    if (phase === "service end" && failed !== undefined) continue;
    const seen = evidence(file, described(phase, stage, entry), lineOf(text, index));
    failed = { stage, error: word(entry.errorMessage), seen };
  }
  const last = entries.at(-1);
  const successful = ["service end", "post-command end"].includes(String(last?.phase)) && last?.result === "success";
  return {
    ...{ name, file, successful, succeeded },
    /** A stage that was begun and not ended. */
    openStage,
    starts: entries.filter(({ phase }) => phase === "service start").length,
    /** The stage that failed last and has not succeeded since, with its error and where that is recorded. */
    failed: successful ? undefined : failed,
  };
}

function described(phase: string, stage: string, entry: Entry): string {
  const [where, error] = [word(entry.errorLine), word(entry.errorMessage)];
  const what = `${stage === "" ? phase : `${stage} (${phase})`}: failure`;
  return `${what}${where && ` at ${where}`}${error && `: ${error}`}`;
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
