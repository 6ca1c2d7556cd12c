import { parseAgentArgs } from "./agent-args.js";
import { type ExitCodes, runRole } from "./command.js";

export function agentCommand(program: string, argv: readonly string[], exitCodes: ExitCodes): Promise<number> {
  return runRole(
    {
      parse: parseAgentArgs,
      run: async (config, logging) => {
        const { runAgent } = await import("../agent/run.js");
        return runAgent(config, logging);
      },
    },
    program,
    argv,
    exitCodes,
  );
}
