/** `drawbridge __complete WORD...`, which the scripts of `drawbridge completion` call: one candidate on each line. */
import { pause, systemClock } from "../../base/clock.js";
import { plainText } from "../../base/text.js";
import type { AgentPeer, HistoryInfo, Page } from "../../insight/observe/admin/contract.js";
import type { AdminPort } from "../../insight/watch/admin-port.js";
import type { Values } from "../flags/flag.js";
import { parseFlags } from "../flags/parse.js";
import type { Runnable } from "../framework/define.js";
import { print } from "../framework/output.js";
import { type adminPortFlags, openAdminPort, SERVER } from "../tunnel/admin-port.js";
import { type AskTargets, type Candidate, complete } from "./candidates.js";

/** Whoever presses Tab waits for it. */
const ANSWER_MS = 700;

/** `:files` in a line of its own asks the shell for its own completion of paths. */
export async function answerCompletion(program: string, command: Runnable, typed: readonly string[]): Promise<number> {
  const { candidates, files } = await complete(program, command, typed, process.env, askAdminPort);
  // Peers chose some of the texts.
  for (const [text, meaning] of candidates.filter(([each]) => plainText(each, 500) === each))
    print(meaning === "" ? `${text}\n` : `${text}\t${firstSentence(meaning)}\n`);
  if (files) print(":files\n");
  return 0;
}

/** Silent when no process runs here, its token cannot be read, or it is slow. */
const askAdminPort: AskTargets = async (page, typed) => {
  try {
    const flags = parseFlags(page.flags, typed).values as Values<ReturnType<typeof adminPortFlags>>;
    const answer = openAdminPort(flags, SERVER).then(page.words === "AGENT" ? agentsOf : targetsOf);
    return await Promise.race([answer, pause(systemClock, ANSWER_MS).then(() => [])]);
  } catch {
    return [];
  }
};

async function agentsOf(port: Pick<AdminPort, "find">): Promise<Candidate[]> {
  const agents = await port.find<Page<AgentPeer>>("agents");
  return [...new Map((agents?.items ?? []).map(({ id, remote }): Candidate => [id, `connected from ${remote}`]))];
}

/** What was dialled lately, and the kubelets beside the agents. */
async function targetsOf(port: AdminPort): Promise<Candidate[]> {
  const [history, agents] = await Promise.all([
    port.find<HistoryInfo>("history"),
    port.find<Page<AgentPeer>>("agents"),
  ]);
  const kubelets = (agents?.items ?? []).flatMap(({ id, identifiers }) =>
    [...new URLSearchParams(identifiers)]
      .filter(([kind]) => ["host", "ipv4", "ipv6"].includes(kind))
      .map(
        ([, host]): Candidate => [`${host.includes(":") ? `[${host}]` : host}:${KUBELET_PORT}`, `kubelet beside ${id}`],
      ),
  );
  const dialled = (history?.targets ?? []).map(({ target }): Candidate => [target, "dialled lately"]);
  return [...new Map([...kubelets, ...dialled])];
}

const KUBELET_PORT = 10250;

const firstSentence = (text: string): string =>
  plainText(text.replace(/(?<=[^.]{3})[.;:] .*$/s, "").replace(/\.$/, ""), 80);
