import { type ExitCodes, runRole } from "../framework/command.js";
import { version } from "../framework/version.js";
import { parseServerArgs } from "./server-args.js";

export function serverCommand(program: string, argv: readonly string[], exitCodes: ExitCodes): Promise<number> {
  return runRole(
    {
      parse: parseServerArgs,
      run: async (config, logging) => {
        const { runServer } = await import("./run-server.js");
        return runServer(config, logging, version());
      },
    },
    program,
    argv,
    exitCodes,
  );
}
