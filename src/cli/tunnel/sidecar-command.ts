import type { SidecarConfig } from "../../tunnel/sidecar/config.js";
import { type ExitCodes, runRole } from "../framework/command.js";
import type { Environment, Invocation } from "../framework/invocation.js";
import { version } from "../framework/version.js";
import { parseSidecarArgs } from "./sidecar-args.js";

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
        const { runSidecar } = await import("./run-sidecar.js");
        return runSidecar(config, logging, version());
      },
    },
    program,
    argv,
    exitCodes,
  );
}
