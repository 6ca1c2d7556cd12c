/** `drawbridge ignition preview`: a payload as a tree. */
import { requireConfig } from "../../cluster/ignition/parse.js";
import { preview, showPreview } from "../../cluster/ignition/preview/preview.js";
import { defineCommand, onlyWord } from "../framework/define.js";
import { PAYLOAD_HELP, payloadFlags, readPayload } from "./payloads.js";

export default defineCommand({
  purpose: `Shows a payload as a tree of files with mode, owner and size, with units, users and when certificates end.

Private keys, pull secrets, kubeconfigs, passwords and headers are never shown. FILE may be - for standard input.

${PAYLOAD_HELP}`,
  words: "FILE",
  examples: ["drawbridge ignition preview worker.ign"],
  flags: payloadFlags,
  async run(flags, input) {
    const file = onlyWord(input.words, "the file");
    const { name, text } = await readPayload(file, flags, input);
    const shown = preview(requireConfig(text, name));
    return { shown, text: showPreview(shown, new Date()) || "The payload does nothing.\n" };
  },
  show: { text: ({ text }) => text, json: ({ shown }) => shown },
});
