/** `drawbridge bootstrap analyze`: name the cause in an archive. */
import { analyze } from "../../insight/diagnosis/analyze.js";
import { findingsJson, findingsText } from "../../insight/diagnosis/report.js";
import { defineCommand, onlyWord } from "../framework/define.js";

export default defineCommand({
  purpose: `Names the cause of a bridge that does not work, with its evidence and what to do, most likely first.

Reads an archive of drawbridge bootstrap gather, a log bundle of openshift-install gather bootstrap, or a directory with
one of them unpacked. Ends with 0 when it finds nothing, with 1 when it finds something.`,
  words: "FILE|DIR",
  examples: ["drawbridge bootstrap analyze drawbridge-gather.tar.gz"],
  async run(_, { words }) {
    const path = onlyWord(words, "the archive");
    return { path, ...(await analyze(path)) };
  },
  show: {
    text({ path, kind, findings, observations }) {
      const by = kind === "drawbridge" ? "drawbridge bootstrap gather" : "openshift-install gather bootstrap";
      const notes = observations.map((sentence) => `  ${sentence}\n`).join("");
      const found = findings.length === 0 ? "Nothing wrong was found.\n" : findingsText(findings);
      return `${path} (by ${by})\n\n${found}${notes === "" ? "" : `\nWorth knowing:\n${notes}`}`;
    },
    json: ({ path, kind, findings, observations }) => findingsJson({ bundle: path, kind, observations }, findings),
  },
  exitCode: ({ findings }) => (findings.length === 0 ? 0 : 1),
});
