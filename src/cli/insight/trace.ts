/** `drawbridge trace HOST:PORT`: one dial through the real path, with the time of each step. */

import { messageOf } from "../../base/errors/error.js";
import { plainText } from "../../base/text.js";
import { frontendOf } from "../../insight/diagnosis/trace-command.js";
import type { CertificateInfo, ListenerInfo } from "../../insight/observe/admin/contract.js";
import type { AdminPort } from "../../insight/watch/admin-port.js";
import { type Trace, type TraceStep, trace } from "../../insight/watch/trace.js";
import { canonicalTarget, type Frontend } from "../../tunnel/client/frontend.js";
import { duration, text } from "../flags/flag.js";
import { missing, refused } from "../flags/parse.js";
import { defineCommand, onlyWord } from "../framework/define.js";
import { parseFrontend } from "../tunnel/addresses.js";
import { adminPortFlags, openAdminPort, SERVER } from "../tunnel/admin-port.js";
import { choiceLines } from "./explain.js";

export default defineCommand({
  purpose: `Dials a target once through a server's frontend, as kube-apiserver would, and says where the time went: to the
frontend, to choose an agent, on the link to it, for the agent to dial. With the server's admin token it also says which agent it was, or why
there was none. Ends with 1 when the target was not reached.`,
  words: "HOST:PORT",
  examples: [
    "drawbridge trace 10.128.0.5:8443",
    "drawbridge trace 10.128.0.5:8443 --frontend grpc+uds:/run/konnectivity.sock",
  ],
  flags: (env) => ({
    ...adminPortFlags(env),
    frontend: text(
      "Frontend of the server, MODE+TRANSPORT:ADDRESS[,servername=,ca=,cert=,key=], as the sidecar takes it. If empty, the Unix socket of the server that runs here.",
    ),
    timeout: duration("30s", "How long the dial may take."),
  }),
  async run(flags, { words }) {
    const word = onlyWord(words, "the target, HOST:PORT,");
    const target = asked(() => canonicalTarget(word));
    const isAsked = flags.frontend === "" || flags.admin + flags.tokenFile !== "";
    // Without the admin port trace says less, but it dials all the same.
    const admin = await openAdminPort(flags, SERVER).catch((reason: unknown) => {
      if (isAsked) throw reason;
      return undefined;
    });
    const frontend = flags.frontend === "" ? await ownFrontend(admin!) : givenFrontend(flags.frontend);
    return trace(frontend, target, admin, flags.timeout);
  },
  show: traceText,
  exitCode: ({ ok }) => (ok ? 0 : 1),
});

export async function ownFrontend(admin: Pick<AdminPort, "list" | "address">): Promise<Frontend> {
  const [listeners, certificates] = await Promise.all([
    admin.list<ListenerInfo>("listeners"),
    admin.list<CertificateInfo>("certificates"),
  ]);
  const found = frontendOf(listeners, certificates);
  if (found === undefined) throw missing(`the process at ${admin.address} is no server: name a server's --frontend`);
  if (found.isSocket) return givenFrontend(found.flag);
  throw missing(
    `the server's frontend is ${found.address}, which wants a caller's certificate: --frontend ${found.flag}`,
  );
}

const givenFrontend = (given: string): Frontend => asked(() => parseFrontend(given, {}));

/** What was asked for is wrong, and not what came of it. */
function asked<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw refused(messageOf(error));
  }
}

const BAR = 30;

export function traceText({ target, ok, totalMs, steps, error, code, remedy, explanation, blind }: Trace): string {
  const verdict = ok ? `reached in ${time(totalMs)}` : `not reached after ${time(totalMs)}`;
  return [
    `${plainText(target)}: ${verdict}`,
    ...steps.map((step) => stepLine(step, totalMs)),
    ...(error === undefined ? [] : [plainText(error)]),
    ...(remedy === undefined ? [] : [`${code}: ${remedy}`]),
    ...choiceLines(explanation),
    ...(blind === undefined ? [] : [`(${plainText(blind)})`]),
    "",
  ].join("\n");
}

function stepLine({ name, ms, detail }: TraceStep, totalMs: number): string {
  const bar = "█".repeat(Math.min(BAR, Math.max(1, Math.round((ms / Math.max(totalMs, 0.001)) * BAR))));
  const shown = detail === undefined ? "" : `  ${plainText(detail)}`;
  return `  ${name.padEnd(28)} ${time(ms).padStart(9)}  ${bar}${shown}`;
}

const time = (ms: number): string => (ms < 100 ? `${ms.toFixed(1)} ms` : `${Math.round(ms)} ms`);
