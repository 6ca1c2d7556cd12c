/** `drawbridge status`: whether a running process is healthy, in one line, and by the exit code. */
import { type Paint, painterFor } from "../../base/colour.js";
import type { Finding } from "../../base/finding.js";
import { hanging } from "../../base/hanging.js";
import { plainText } from "../../base/text.js";
import { type Health, healthOf } from "../../insight/diagnosis/health.js";
import type { ProcessInfo } from "../../insight/observe/admin/contract.js";
import type { AdminPort } from "../../insight/watch/admin-port.js";
import { durationText } from "../../insight/watch/view/format.js";
import { defineCommand } from "../framework/define.js";
import { adminPortFlags, openAdminPort } from "../tunnel/admin-port.js";

const EXIT_CODES = { healthy: 0, degraded: 3, down: 4 } as const;

interface Status extends Health {
  readonly process: ProcessInfo;
}

export default defineCommand({
  purpose: `Says whether a server, agent, sidecar or Ignition server is healthy, degraded or down, and why: the same answer that
its page and drawbridge top give. Ends with 0 when it is healthy, with 3 when it is degraded, with 4 when it is down, and
with 1 when it cannot be asked. drawbridge doctor looks beyond the process.`,
  examples: ["drawbridge status", "drawbridge status --output json", "drawbridge status || drawbridge doctor"],
  flags: adminPortFlags,
  run: async (flags) => statusOf(await openAdminPort(flags)),
  show: { text: statusText, json: ({ process, state, causes }) => ({ state, causes, process }) },
  exitCode: ({ state }) => EXIT_CODES[state],
});

export async function statusOf(port: Pick<AdminPort, "get" | "list">): Promise<Status> {
  const [process, findings] = await Promise.all([
    port.get<ProcessInfo>("process"),
    port.list<Finding>("findings?limit=1000"),
  ]);
  return { process, ...healthOf(findings) };
}

const PAINTS: Readonly<Record<Health["state"], readonly Paint[]>> = {
  healthy: ["bold", "green"],
  degraded: ["bold", "yellow"],
  down: ["bold", "red"],
};

export function statusText({ process: asked, state, causes }: Status): string {
  const { role, id, version, now, startedAt } = asked;
  const who = `${role} ${plainText(id)}, drawbridge ${plainText(version)}, up ${durationText(now - startedAt)}`;
  return [
    `${painterFor(process.stdout)(`${state.toUpperCase()}:`, ...PAINTS[state])} ${who}\n`,
    ...causes.flatMap(({ text, findings }) => [
      hanging("  ", plainText(text), 2),
      ...[...new Set(findings.map(({ remedy }) => remedy))].map((remedy) =>
        hanging("    Do: ", plainText(remedy), "    Do: ".length),
      ),
    ]),
  ].join("");
}
