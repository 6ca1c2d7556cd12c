/** `drawbridge test-webhook`: runs in the pod that `bootstrap verify --deploy-test-webhook` makes, and nowhere else. */
import { nextSignal } from "../../base/signals.js";
import { serveTestWebhook } from "../../cluster/bootstrap/test-webhook/serve.js";
import { filePath, number } from "../flags/flag.js";
import { refused } from "../flags/parse.js";
import { defineCommand } from "../framework/define.js";
import { print } from "../framework/output.js";

export const testWebhookCommand = defineCommand({
  purpose: "Serves the webhook of bootstrap verify --deploy-test-webhook.",
  examples: ["drawbridge test-webhook --cert tls.crt --key tls.key"],
  flags: {
    port: number(8443, "Port to listen on."),
    cert: filePath("File with the serving certificate. Required."),
    key: filePath("File with the key of the serving certificate. Required."),
  },
  async run({ port, cert: certFile, key: keyFile }) {
    if (certFile === "" || keyFile === "") throw refused("--cert and --key are required");
    const webhook = await serveTestWebhook({ host: "", port, certFile, keyFile });
    print(`The test webhook listens on ${webhook.address}.\n`);
    await nextSignal();
    await webhook.close();
    return 0;
  },
});
