/** `drawbridge ignition`: what a machine gets at its first boot, looked at before it boots. */
import { type Family, runFamily } from "../framework/subcommands.js";

const program = "drawbridge ignition";

const ignition: Family = {
  program,
  purpose: "Checks, merges, shows, compares and serves Ignition configs of spec 3.0 to 3.5 by Ignition's own rules.",
  commands: {
    diff: {
      summary: "Show what differs between two payloads: files, units, contents; secrets hidden",
      run: async (argv) => (await import("./diff.js")).ignitionDiff(`${program} diff`, argv),
    },
    merge: {
      summary: "Merge configs, each over the ones before it, and print the result as spec 3.2",
      run: async (argv) => (await import("./merge.js")).ignitionMerge(`${program} merge`, argv),
    },
    preview: {
      summary: "Show a payload as a tree of files with units and certificate expiry; secrets hidden",
      run: async (argv) => (await import("./preview.js")).ignitionPreview(`${program} preview`, argv),
    },
    serve: {
      summary: "Serve payloads to booting machines, each for its token, and record who came",
      run: async (argv) => (await import("./serve.js")).ignitionServe(`${program} serve`, argv),
    },
    validate: {
      summary: "Say everything that is wrong with configs, before a machine refuses to boot",
      run: async (argv) => (await import("./validate.js")).ignitionValidate(`${program} validate`, argv),
    },
  },
};

export function ignitionCommand(argv: readonly string[]): Promise<number> {
  return runFamily(ignition, argv);
}
