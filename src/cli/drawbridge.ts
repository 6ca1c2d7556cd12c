/** The drawbridge executable. */
import { drawbridge } from "./commands.js";
import { startProgram } from "./framework/program.js";

startProgram("drawbridge", {
  ...drawbridge,
  async run(program, argv) {
    const [name, ...rest] = argv;
    if (name !== "test-webhook") return drawbridge.run(program, argv);
    // Not in the list of commands: only the pod of bootstrap verify --deploy-test-webhook runs it.
    const { testWebhookCommand } = await import("./bootstrap/verify-test-webhook.js");
    return testWebhookCommand.run(`${program} ${name}`, rest);
  },
});
