/** `drawbridge test-webhook`: runs in the pod that `bootstrap verify --deploy-test-webhook` makes, and nowhere else. */
import { DrawbridgeError } from "../../base/errors/error.js";
import { nextSignal } from "../../base/signals.js";
import { FlagSet } from "../flags/flag-set.js";
import { boolean, integer, string } from "../flags/flag-value.js";
import { runRole } from "../framework/command.js";
import { usagePage } from "../framework/help.js";
import type { Invocation } from "../framework/invocation.js";
import { MISUSE } from "../framework/subcommands.js";

interface TestWebhookConfig {
  readonly host: string;
  readonly port: number;
  readonly certFile: string;
  readonly keyFile: string;
}

const program = "drawbridge test-webhook";

export function testWebhookCommand(argv: readonly string[]): Promise<number> {
  return runRole({ parse, run }, program, argv, { misuse: MISUSE });
}

function parse(argv: readonly string[]): Invocation<TestWebhookConfig> {
  const set = new FlagSet();
  const help = set.add("help", boolean, false, `help for ${program}`, { shorthand: "h" });
  const port = set.add("port", integer, 8443, "The port to listen on.");
  const cert = set.add("cert", string, "", "File with the certificate. Required.");
  const key = set.add("key", string, "", "File with its key. Required.");
  const { warnings } = set.parse(argv);
  if (help.value) return { help: usagePage(program, "The webhook of bootstrap verify --deploy-test-webhook.", set) };
  if (cert.value === "" || key.value === "")
    throw new DrawbridgeError("DB_FLAG_VALUE", "--cert and --key are required");
  const config = { host: "", port: port.value, certFile: cert.value, keyFile: key.value };
  return { config, logging: { verbosity: 0, format: "text" }, warnings };
}

async function run(config: TestWebhookConfig): Promise<number> {
  const { serveTestWebhook } = await import("../../cluster/bootstrap/test-webhook/serve.js");
  const webhook = await serveTestWebhook(config);
  process.stdout.write(`The test webhook listens on ${webhook.address}.\n`);
  await nextSignal();
  await webhook.close();
  return 0;
}
