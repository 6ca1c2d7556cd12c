import { type ExitCodes, runRole } from "../framework/command.js";
import { version } from "../framework/version.js";
import { parseAgentArgs } from "./agent-args.js";

export function agentCommand(program: string, argv: readonly string[], exitCodes: ExitCodes): Promise<number> {
  return runRole(
    {
      parse: parseAgentArgs,
      run: async (config, logging) => {
        const { runAgent } = await import("./run-agent.js");
        return runAgent(config, logging, version());
      },
    },
    program,
    argv,
    exitCodes,
  );
}
