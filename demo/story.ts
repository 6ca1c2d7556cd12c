/** The inner half of the demo: what is shown, in order, and the end of everything it started. */
import { rmSync } from "node:fs";
import { messageOf } from "../src/base/errors/error.js";
import { Scope } from "../test/support/processes/scope.js";
import { Caller } from "./caller.js";
import { WebhookRoute } from "./callers/webhook-client.js";
import { Interruption } from "./interruption.js";
import { makeNamespacePlace } from "./isolation/namespace.js";
import { makeSimulatedPlace } from "./isolation/simulated.js";
import { Processes } from "./processes/processes.js";
import { painter } from "./report/paint.js";
import { Recorder } from "./report/recorder.js";
import { hasPassed, summaryJson, summaryText, type Verdict } from "./report/summary.js";
import { TITLES } from "./report/titles.js";
import type { Script } from "./script.js";
import { killAgent } from "./steps/agent-killed.js";
import { makeCertificates } from "./steps/certificates.js";
import { callDirectly } from "./steps/direct-call.js";
import { rotateCertificates } from "./steps/rotation.js";
import { stallReader } from "./steps/slow-reader.js";
import { tidyUp } from "./steps/tidy-up.js";
import { openTunnel } from "./steps/tunnel.js";
import { startWebhook } from "./steps/webhook.js";

const script = JSON.parse(process.argv[2] ?? "") as Script;
const { folder, isolation, means } = script;
// With JSON on stdout the audience reads stderr.
const screen = script.output === "json" ? process.stderr : process.stdout;
const scope = new Scope();
const processes = new Processes(folder, script.tie);
const interruption = new Interruption();
const recorder = new Recorder(TITLES, tell, painter(screen), processes.lost);
const caller = new Caller(script.caller);
const begin = performance.now();
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));

tell("drawbridge demo: a control plane reaches a webhook in a network it has no route to");
tell(`isolation: ${isolation} (${means})`);
try {
  await interruption.race(play());
} catch (reason) {
  const failed = recorder.records.some(({ result }) => result === "failed");
  if (!failed && !interruption.happened) screen.write(`the demo failed: ${messageOf(reason)}\n`);
  if (failed && !interruption.happened) showLogs();
}
await endAll();
process.exit(report());

async function play(): Promise<void> {
  const place = isolation === "namespace" ? await makeNamespacePlace(scope) : await makeSimulatedPlace();
  const pki = await recorder.step("certificates", 10, (show) => makeCertificates(folder, place.serverHost, show));
  caller.prepare(processes, folder, place);
  await recorder.step("webhook", 20, (show) => startWebhook(processes, place, pki, show));
  const tunnel = await recorder.step("tunnel", 20, (show) => openTunnel(processes, folder, place, pki, show));
  const { frontends } = tunnel.server;
  await recorder.step("direct", 10, (show) => callDirectly(place, show));
  const route = new WebhookRoute(`${place.webhook.host}:${place.webhook.port}`, pki.webhook().ca);
  await recorder.step("admission", 60, (show) => caller.admit(tunnel.server, route, place, pki, show));
  await recorder.step("otherFrontends", 20, (show) =>
    caller.admitThrough([frontends.connectTcp, frontends.grpcUds], route, show),
  );
  const killed = await recorder.step("agentKilled", 30, (show) => killAgent(tunnel, route, show));
  await recorder.step("rotation", 30, (show) => rotateCertificates(tunnel, place, pki, route, killed, show));
  await recorder.step("slowReader", 30, (show) => stallReader(tunnel, route, show));
  await recorder.step("tidyUp", 20, (show) => tidyUp(processes, tunnel, scope, folder, show));
}

/** An interrupted step fails because its props are taken away: that is not worth telling. */
function tell(line: string): void {
  if (!interruption.happened) screen.write(`${line}\n`);
}

/** After a story that went well there is nothing left to end. */
async function endAll(): Promise<void> {
  try {
    await processes.close();
    await scope.close();
    rmSync(folder, { recursive: true, force: true });
    if (!hasPassed(recorder.records)) screen.write("\neverything the demo had started was ended and removed\n");
  } catch (reason) {
    screen.write(`\nnot everything could be removed: ${messageOf(reason)}\n`);
  }
}

function showLogs(): void {
  for (const running of processes.all) {
    screen.write(`\nlast lines of ${running.name}${running.alive ? "" : " (ended)"}:\n${running.tail(6)}\n`);
  }
}

function report(): number {
  if (interruption.happened) {
    screen.write("the demo was interrupted\n");
    return interruption.exitCode;
  }
  const seconds = (performance.now() - begin) / 1000;
  const verdict: Verdict = { isolation, means, caller: caller.name, seconds };
  const { records } = recorder;
  if (script.output === "json") process.stdout.write(summaryJson(records, verdict));
  screen.write(summaryText(records, verdict, screen.columns ?? 120, painter(screen)));
  return hasPassed(records) ? 0 : 1;
}
