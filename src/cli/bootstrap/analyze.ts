/** `drawbridge bootstrap analyze`: name the cause in an archive. */
import { defineCommand, onlyWord } from "../framework/define.js";

export default defineCommand({
  purpose: `Names the cause of a bridge that does not work, with its evidence and what to do, most likely first.

Reads an archive of drawbridge bootstrap gather, a log bundle of openshift-install gather bootstrap, or a directory with
one of them unpacked. Ends with 0 when it finds nothing, with 1 when it finds something.`,
  words: "FILE|DIR",
  examples: ["drawbridge bootstrap analyze drawbridge-gather.tar.gz"],
  async run(_, { words }) {
    const path = onlyWord(words, "the archive");
    const [{ analyze }, { findingsJson, findingsText }] = await Promise.all([
      import("../../insight/diagnosis/analyze.js"),
      import("../../insight/diagnosis/report.js"),
    ]);
    const { kind, findings, observations } = await analyze(path);
    const by = kind === "drawbridge" ? "drawbridge bootstrap gather" : "openshift-install gather bootstrap";
    const notes = observations.map((sentence) => `  ${sentence}\n`).join("");
    const text = [
      `${path} (by ${by})\n\n`,
      findings.length === 0 ? "Nothing wrong was found.\n" : findingsText(findings),
      notes === "" ? "" : `\nWorth knowing:\n${notes}`,
    ].join("");
    return { findings, text, json: findingsJson({ bundle: path, kind, observations }, findings) };
  },
  show: { text: ({ text }) => text, json: ({ json }) => json },
  exitCode: ({ findings }) => (findings.length === 0 ? 0 : 1),
});
