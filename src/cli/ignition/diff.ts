/** `drawbridge ignition diff`: what differs between two payloads. */
import { DrawbridgeError } from "../../base/errors/error.js";
import { boolean } from "../flags/flag-value.js";
import { print, runIgnitionCommand } from "./files.js";
import { declarePayloads, PAYLOAD_HELP, readPayload } from "./payloads.js";

const purpose = `Shows what differs between two payloads: files, units, users and settings, texts line by line.

Private keys, pull secrets, kubeconfigs, passwords and headers are compared but never shown. Configs of different spec
versions that do the same do not differ. Ends with 0 whether or not they differ, unless --exit-code.

${PAYLOAD_HELP}`;

export function ignitionDiff(program: string, argv: readonly string[]): Promise<number> {
  return runIgnitionCommand(program, argv, {
    purpose,
    words: "OLD NEW",
    files: { from: 2, to: 2 },
    declare: (set) => ({
      ...declarePayloads(set),
      exitCode: set.add("exit-code", boolean, false, "End with 1 when they differ."),
    }),
    run: async ({ exitCode, output, ...flags }, [before = "", after = ""]) => {
      if (before === "-" && after === "-")
        throw new DrawbridgeError("DB_FLAG_VALUE", "standard input can be only one of the two");
      const { requireConfig } = await import("../../cluster/ignition/parse.js");
      const { compare } = await import("../../cluster/ignition/diff.js");
      const { showChanges } = await import("../../cluster/ignition/diff.js");
      const [old, young] = [await readPayload(before, flags), await readPayload(after, flags)];
      const changes = compare(requireConfig(old.text, old.name), requireConfig(young.text, young.name));
      const equal = changes.length === 0;
      print(output.value, { equal, changes }, () => showChanges(changes));
      return exitCode.value && !equal ? 1 : 0;
    },
  });
}
