/** `drawbridge ignition diff`: what differs between two payloads. */

import { compare, showChanges } from "../../cluster/ignition/diff.js";
import { requireConfig } from "../../cluster/ignition/parse.js";
import { yesNo } from "../flags/flag.js";
import { missing, refused } from "../flags/parse.js";
import { defineCommand } from "../framework/define.js";
import { PAYLOAD_HELP, payloadFlags, readPayload } from "./payloads.js";

export default defineCommand({
  purpose: `Shows what differs between two payloads: files, units, users and settings, texts line by line.

Private keys, pull secrets, kubeconfigs, passwords and headers are compared but never shown. Configs of different spec
versions that do the same do not differ. Ends with 0 whether or not they differ, unless --exit-code.

${PAYLOAD_HELP}`,
  words: "OLD NEW",
  examples: ["drawbridge ignition diff old.ign new.ign", "drawbridge ignition diff 1f2e3d4c current --pool demo"],
  flags: { ...payloadFlags, "exit-code": yesNo("End with 1 when the payloads differ.") },
  async run(flags, input) {
    const [before = "", after = ""] = input.words;
    if (input.words.length !== 2) throw missing(`two files are needed: ${input.program} OLD NEW`);
    if (before === "-" && after === "-") throw refused("standard input can be only one of the two");
    const [old, young] = [await readPayload(before, flags, input), await readPayload(after, flags, input)];
    const changes = compare(requireConfig(old.text, old.name), requireConfig(young.text, young.name));
    return { equal: changes.length === 0, changes, text: showChanges(changes) };
  },
  show: { text: ({ text }) => text, json: ({ equal, changes }) => ({ equal, changes }) },
  exitCode: ({ equal }, { exitCode }) => (exitCode && !equal ? 1 : 0),
});
