/** `drawbridge trace HOST:PORT`: one dial through the real path, with the time of each step. */
import { messageOf } from "../../base/errors/error.js";
import { plainText } from "../../base/text.js";
import type { Step, Trace } from "../../insight/watch/trace.js";
import type { FlagSet } from "../flags/flag-set.js";
import { duration, string } from "../flags/flag-value.js";
import { parseGoDuration, toMilliseconds } from "../flags/go-duration.js";
import { addOutput, type PlainCommand, refused, runPlainCommand } from "../framework/plain-command.js";
import { addAdminPortFlags, checkAdminPortFlags, openAdminPort } from "../tunnel/admin-port-flags.js";
import { parseFrontend } from "../tunnel/sidecar-frontend.js";
import { choiceLines } from "./explain.js";

const command: PlainCommand<ReturnType<typeof declare>> = {
  purpose: `Dials a target once through a server's frontend, as kube-apiserver would, and says where the time went: to the
frontend, to choose an agent, for the agent to dial. With the server's admin token it also says which agent it was, or why
there was none. Ends with 1 when the target was not reached.`,
  words: " HOST:PORT",
  declare,
  check(flags, words) {
    if (words.length !== 1) throw refused("trace needs one target, HOST:PORT");
    if (flags.frontend.value === "")
      throw refused("--frontend must name the server's front door, e.g. grpc+uds:/run/konnectivity.sock");
    try {
      parseFrontend(flags.frontend.value, {});
    } catch (error) {
      throw refused(messageOf(error));
    }
    if (flags.tokenFile.value !== "") checkAdminPortFlags(flags);
  },
  async run(flags, [target = ""]) {
    const { trace } = await import("../../insight/watch/trace.js");
    const admin = flags.tokenFile.value === "" ? undefined : await openAdminPort(flags);
    const frontend = parseFrontend(flags.frontend.value, {});
    const traced = await trace(frontend, target, admin, toMilliseconds(flags.timeout.value));
    const { safeJson } = await import("../../base/text.js");
    process.stdout.write(flags.output.value === "json" ? `${safeJson(traced, 2)}\n` : traceText(traced));
    return traced.ok ? 0 : 1;
  },
};

function declare(set: FlagSet) {
  return {
    frontend: set.add(
      "frontend",
      string,
      "",
      "The server's front door, MODE+TRANSPORT:ADDRESS[,servername=,ca=,cert=,key=], as the sidecar takes it.",
    ),
    timeout: set.add("timeout", duration, parseGoDuration("30s"), "How long the dial may take."),
    ...addAdminPortFlags(set),
    output: addOutput(set),
  };
}

const BAR = 30;

export function traceText({ target, ok, totalMs, steps, error, explanation, blind }: Trace): string {
  const verdict = ok ? `reached in ${time(totalMs)}` : `not reached after ${time(totalMs)}`;
  return [
    `${plainText(target)}: ${verdict}`,
    ...steps.map((step) => stepLine(step, totalMs)),
    ...(error === undefined ? [] : [plainText(error)]),
    ...choiceLines(explanation),
    ...(blind === undefined ? [] : [`(${plainText(blind)})`]),
    "",
  ].join("\n");
}

function stepLine({ name, ms, detail }: Step, totalMs: number): string {
  const bar = "█".repeat(Math.min(BAR, Math.max(1, Math.round((ms / Math.max(totalMs, 0.001)) * BAR))));
  const said = detail === undefined ? "" : `  ${plainText(detail)}`;
  return `  ${name.padEnd(28)} ${time(ms).padStart(9)}  ${bar}${said}`;
}

const time = (ms: number): string => (ms < 100 ? `${ms.toFixed(1)} ms` : `${Math.round(ms)} ms`);

export const traceCommand = (program: string, argv: readonly string[]): Promise<number> =>
  runPlainCommand(program, argv, command);
