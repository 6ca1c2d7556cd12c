/** `drawbridge bootstrap inject`: changes or shows a bootstrap.ign. */

import { hasFailed } from "../../base/finding.js";
import { classify, type InjectionState } from "../../cluster/bootstrap/inject/classify.js";
import { readBootstrapIgn, replaceConfigFile } from "../../cluster/bootstrap/inject/config-file.js";
import { parseIgnition, sha256 } from "../../cluster/bootstrap/inject/ignition-config.js";
import { type Injection, inject, injectedFiles, removeBridge } from "../../cluster/bootstrap/inject/inject.js";
import type { InjectOptions } from "../../cluster/bootstrap/inject/payload.js";
import { checkBootstrapIgn } from "../../insight/diagnosis/checks/bootstrap-ign.js";
import { findingsJson, findingsText } from "../../insight/diagnosis/report.js";
import { filePath, inGroup, number, text, type Values, yesNo } from "../flags/flag.js";
import { refused } from "../flags/parse.js";
import { defineCommand, type Environment, onlyWord } from "../framework/define.js";
import { bridgeOptionsOf, programFlags } from "./bridge-flags.js";

/** The installer's own variable for the same thing. */
const ADDRESS_VARIABLE = "OPENSHIFT_INSTALL_BOOTSTRAP_NODE_IP";

const injectFlags = (env: Environment) => ({
  remove: yesNo("Take the bridge out again; the file is then what it was, byte for byte."),
  check: yesNo("Change nothing; say for each part of the bridge whether it is there and fits."),
  show: yesNo("Change nothing; print every manifest and script as it would be."),
  out: filePath("File to write instead of replacing the input."),
  ...programFlags({
    kind: "Programs that the image has: those of an OpenShift payload (default), upstream's, or drawbridge's.",
    image: "Pull spec of an image with both programs; required for releases before 4.11.",
    network: "Network of the agents: the pods' (default), or their nodes', which needs 4.11 or newer.",
  }),
  ...inGroup("advanced", {
    "bootstrap-ip": text(
      `Address of the bootstrap host, which agents dial. If empty, the host finds it. The environment variable ${ADDRESS_VARIABLE} sets the default.`,
      env[ADDRESS_VARIABLE] ?? "",
    ),
    "valid-hours": number(0, "How many hours the certificates are valid. If 0, 24."),
  }),
});

type InjectFlags = Values<ReturnType<typeof injectFlags>>;

export default defineCommand({
  purpose: `Puts the bridge into the bootstrap.ign that openshift-install create ignition-configs wrote, or takes it out.

The release is taken from the installer's version in the file, else from the tag of its release image, else from its
scripts. A file that has the bridge already is brought up to date; flags of the last run still hold.`,
  words: "FILE",
  examples: [
    "drawbridge bootstrap inject install/bootstrap.ign",
    "drawbridge bootstrap inject --check install/bootstrap.ign",
  ],
  flags: injectFlags,
  config(flags, { words, given }) {
    const file = onlyWord(words, "the file");
    const actions = (["remove", "check", "show"] as const).filter((name) => flags[name]);
    if (actions.length > 1) throw refused(`--${actions.join(" and --")} exclude each other`);
    const action = actions[0] ?? ("inject" as const);
    if ((action === "check" || action === "show") && given.has("out"))
      throw refused("--check and --show write nothing; leave --out away");
    if (given.has("out") && flags.out === "") throw refused("--out needs a file");
    return { file, action, target: flags.out || file, options: optionsOf(flags, given) };
  },
  async run({ file, action, target, options }): Promise<Shown> {
    const before = await readBootstrapIgn(file);
    if (action === "check") return checkFile(file, before);
    if (action === "show") return showFile(file, before, options);
    const injection = action === "remove" ? removed(before) : inject(before, options);
    if (injection.changed || target !== file) await replaceConfigFile(target, injection.text);
    return changeShown(action, file, target, before, injection);
  },
  show: { text: ({ text }) => text, json: ({ json }) => json },
  exitCode: ({ ok }) => (ok ? 0 : 1),
});

type Action = "inject" | "remove";

/** The result of one action, in both formats. */
interface Shown {
  readonly ok: boolean;
  readonly text: string;
  readonly json: object | string;
}

/** Only what was given: the rest may be in the file from an earlier run. */
function optionsOf(flags: InjectFlags, given: ReadonlySet<string>): InjectOptions {
  const { bootstrapIp, validHours } = flags;
  return { ...bridgeOptionsOf(flags, given), ...(bootstrapIp && { bootstrapIp }), ...(validHours && { validHours }) };
}

function removed(text: string): Injection {
  const config = parseIgnition(text);
  const { state } = classify(config);
  const unchanged = { state, release: undefined, text, changed: false, warnings: [] };
  return state === "ours" ? { ...unchanged, ...removeBridge(config), changed: true } : unchanged;
}

async function checkFile(file: string, content: string): Promise<Shown> {
  const { findings, ...head } = await checkBootstrapIgn(parseIgnition(content));
  const text = `${file}: ${MEANINGS[head.state]}\n${head.applicable ? findingsText(findings) : ""}`;
  return { ok: !hasFailed(findings), text, json: findingsJson({ file, ...head }, findings) };
}

async function showFile(file: string, content: string, options: InjectOptions): Promise<Shown> {
  const { state, text: after } = inject(content, options);
  const shown = injectedFiles(parseIgnition(after));
  const ended = (text: string): string => (text.endsWith("\n") ? text : `${text}\n`);
  const files = shown.files.map(({ path, mode, text }) => `# ${path}, mode ${mode}\n${ended(text)}`);
  const lines = shown.bootkube.map(({ line, text }) => `# ${line}: ${text}\n`);
  const script = lines.length === 0 ? [] : [`# Lines of /usr/local/bin/bootkube.sh\n${lines.join("")}`];
  const text = [`# ${file}: ${MEANINGS[state]}\n`, ...files, ...script].join("---\n");
  return { ok: true, text, json: { file, state, ...shown } };
}

const MEANINGS: Readonly<Record<InjectionState, string>> = {
  shim: "only points to another config",
  "bootstrap-in-place": "bootstrap in place: the node installs itself and needs no bridge",
  ours: "has drawbridge's bridge",
  "upstream-on": "has the installer's own integration, switched on",
  "upstream-off": "has the installer's own integration, switched off",
  absent: "has no integration",
  unknown: "is of an unknown kind",
};

function changeShown(action: Action, file: string, target: string, before: string, injection: Injection): Shown {
  const { state, release, changed, warnings, text: after } = injection;
  const isWritten = changed || target !== file;
  const hashes = { before: sha256(before), after: sha256(after) };
  const bytes = { before: Buffer.byteLength(before), after: Buffer.byteLength(after) };
  // Since the start of the process: the time that a user waits.
  const tookMs = Math.round(performance.now());
  const kind = release === undefined ? "" : `, OpenShift ${release.name} (by ${release.from})`;
  const size = `${bytes.before} bytes before, ${bytes.after} now, after ${(tookMs / 1000).toFixed(2)} s`;
  const next =
    "Next: let all nodes reach TCP 8091 of the bootstrap host (drawbridge firewall plan), then go on with the installation.";
  const lines = [
    `${file}: ${MEANINGS[state]}${kind}`,
    ...warnings.map((warning) => `Warning: ${warning}.`),
    sentenceOn(action, injection, size),
    ...(isWritten ? [`Written: ${target} (sha256 ${hashes.after})`] : []),
    ...(action === "inject" && changed ? [next] : []),
  ];
  const facts = { file, action, state, release, changed, ...(isWritten && { written: target }) };
  const json = { ...facts, sha256: hashes, bytes, tookMs, warnings };
  return { ok: true, text: `${lines.join("\n")}\n`, json };
}

function sentenceOn(action: Action, { state, changed }: Injection, size: string): string {
  if (action === "remove")
    return changed ? `The bridge was taken out: ${size}.` : "There is nothing of drawbridge's in it.";
  if (changed) return `The bridge ${state === "ours" ? "was brought up to date" : "was put in"}: ${size}.`;
  return state === "ours" ? "The bridge is up to date; nothing to do." : "It was left as it is.";
}
