import { parseAgentArgs } from "./agent-args.js";
import { type ExitCodes, runRole } from "./command.js";
import { version } from "./version.js";

export function agentCommand(program: string, argv: readonly string[], exitCodes: ExitCodes): Promise<number> {
  return runRole(
    {
      parse: parseAgentArgs,
      run: async (config, logging) => {
        const { runAgent } = await import("../agent/run.js");
        return runAgent(config, logging, version());
      },
    },
    program,
    argv,
    exitCodes,
  );
}
