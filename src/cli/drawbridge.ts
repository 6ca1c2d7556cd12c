/** The drawbridge executable. */
import { drawbridge, version } from "./commands.js";
import { main } from "./framework/output.js";

void main(async ([name, ...rest]) => {
  if (name === "--version") return version.run("drawbridge", rest);
  // Not in the list of commands: only the pod of bootstrap verify --deploy-test-webhook runs it.
  if (name === "test-webhook")
    return (await import("./bootstrap/verify-test-webhook.js")).testWebhookCommand.run("drawbridge test-webhook", rest);
  return drawbridge.run("drawbridge", name === undefined ? [] : [name, ...rest]);
});
