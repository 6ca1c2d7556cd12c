import type { SidecarConfig } from "../sidecar/config.js";
import { type ExitCodes, runRole } from "./command.js";
import type { Environment, Invocation } from "./invocation.js";
import { parseSidecarArgs } from "./sidecar-args.js";
import { version } from "./version.js";

type Parse = (argv: readonly string[], env: Environment, program: string) => Invocation<SidecarConfig>;

export function sidecarCommand(
  program: string,
  argv: readonly string[],
  exitCodes: ExitCodes,
  parse: Parse = parseSidecarArgs,
): Promise<number> {
  return runRole(
    {
      parse,
      run: async (config, logging) => {
        const { runSidecar } = await import("../sidecar/run.js");
        return runSidecar(config, logging, version());
      },
    },
    program,
    argv,
    exitCodes,
  );
}
