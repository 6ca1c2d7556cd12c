/** What `drawbridge bootstrap inject` says about what it did or found. */
import type { CheckReport } from "../../cluster/bootstrap/inject/check.js";
import type { InjectionState } from "../../cluster/bootstrap/inject/classify.js";
import type { InjectedFiles, Injection } from "../../cluster/bootstrap/inject/inject.js";

type Output = "text" | "json";

const meanings: Readonly<Record<InjectionState, string>> = {
  shim: "only points to another config",
  "bootstrap-in-place": "bootstrap in place: the node installs itself and needs no bridge",
  ours: "has drawbridge's bridge",
  "upstream-on": "has the installer's own integration, switched on",
  "upstream-off": "has the installer's own integration, switched off",
  absent: "has no integration",
  unknown: "is of an unknown kind",
};

export interface Change extends Injection {
  readonly file: string;
  readonly action: string;
  readonly target: string;
  readonly output: Output;
  readonly written: boolean;
  readonly hashes: { readonly before: string; readonly after: string };
  readonly bytesBefore: number;
  readonly tookMs: number;
}

export function reportChange(change: Change): string {
  const { file, action, target, state, release, changed, written, hashes, warnings, text, bytesBefore } = change;
  const bytes = { before: bytesBefore, after: Buffer.byteLength(text) };
  if (change.output === "json") {
    const facts = { file, action, state, release, changed, ...(written && { written: target }) };
    return json({ ...facts, sha256: hashes, bytes, tookMs: change.tookMs, warnings });
  }
  const kind = release === undefined ? "" : `, OpenShift ${release.name} (by ${release.from})`;
  const lines = [
    `${file}: ${meanings[state]}${kind}`,
    ...warnings.map((warning) => `Warning: ${warning}.`),
    sentenceOn(change, bytes),
    ...(written ? [`Written: ${target} (sha256 ${hashes.after})`] : []),
    ...(action === "inject" && changed
      ? [
          "Next: let all nodes reach TCP 8091 of the bootstrap host (drawbridge firewall plan), then go on with the installation.",
        ]
      : []),
  ];
  return `${lines.join("\n")}\n`;
}

function sentenceOn({ action, state, changed, tookMs }: Change, bytes: { before: number; after: number }): string {
  const size = `${bytes.before} bytes before, ${bytes.after} now, after ${(tookMs / 1000).toFixed(2)} s`;
  if (action === "remove")
    return changed ? `The bridge was taken out: ${size}.` : "There is nothing of drawbridge's in it.";
  if (changed) return `The bridge ${state === "ours" ? "was brought up to date" : "was put in"}: ${size}.`;
  return state === "ours" ? "The bridge is up to date; nothing to do." : "It was left as it is.";
}

export function reportChecks(file: string, output: Output, report: CheckReport): string {
  const ok = report.results.every((result) => result.ok);
  if (output === "json") return json({ file, ok, ...report });
  const lines = report.results.map(({ id, question, ok, reason }) =>
    ok ? `pass  ${id}: ${question}` : `FAIL  ${id}: ${question} ${reason}`,
  );
  return `${[`${file}: ${meanings[report.state]}`, ...lines].join("\n")}\n`;
}

export function reportFiles(file: string, output: Output, state: InjectionState, shown: InjectedFiles): string {
  if (output === "json") return json({ file, state, ...shown });
  const files = shown.files.map(({ path, mode, text }) => `# ${path}, mode ${mode}\n${ended(text)}`);
  const lines = shown.bootkube.map(({ line, text }) => `# ${line}: ${text}\n`);
  const script = lines.length === 0 ? [] : [`# Lines of /usr/local/bin/bootkube.sh\n${lines.join("")}`];
  return [`# ${file}: ${meanings[state]}\n`, ...files, ...script].join("---\n");
}

const ended = (text: string): string => (text.endsWith("\n") ? text : `${text}\n`);
const json = (value: object): string => `${JSON.stringify(value, null, 2)}\n`;
