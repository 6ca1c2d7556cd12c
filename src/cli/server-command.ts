import { type ExitCodes, runRole } from "./command.js";
import { parseServerArgs } from "./server-args.js";
import { version } from "./version.js";

export function serverCommand(program: string, argv: readonly string[], exitCodes: ExitCodes): Promise<number> {
  return runRole(
    {
      parse: parseServerArgs,
      run: async (config, logging) => {
        const { runServer } = await import("../server/run.js");
        return runServer(config, logging, version());
      },
    },
    program,
    argv,
    exitCodes,
  );
}
