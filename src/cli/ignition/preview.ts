/** `drawbridge ignition preview`: a payload as a tree. */
import { print, runIgnitionCommand } from "./files.js";
import { declarePayloads, PAYLOAD_HELP, readPayload } from "./payloads.js";

const purpose = `Shows a payload as a tree of files with mode, owner and size, with units, users and when certificates end.

Private keys, pull secrets, kubeconfigs, passwords and headers are never shown. FILE may be - for standard input.

${PAYLOAD_HELP}`;

export function ignitionPreview(program: string, argv: readonly string[]): Promise<number> {
  return runIgnitionCommand(program, argv, {
    purpose,
    words: "FILE",
    files: { from: 1, to: 1 },
    declare: declarePayloads,
    run: async ({ output, ...flags }, [file = ""]) => {
      const { requireConfig } = await import("../../cluster/ignition/parse.js");
      const { preview } = await import("../../cluster/ignition/preview/preview.js");
      const { showPreview } = await import("../../cluster/ignition/preview/show.js");
      const { name, text } = await readPayload(file, flags);
      const shown = preview(requireConfig(text, name));
      print(output.value, shown, () => showPreview(shown, new Date()) || "The payload does nothing.\n");
      return 0;
    },
  });
}
