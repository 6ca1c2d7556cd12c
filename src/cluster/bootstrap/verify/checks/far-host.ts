/** The bootstrap host, seen from a workstation: what it can be asked for over SSH, read as a bundle of it would be. */
import { type Check, fail, type Outcome, pass, skip } from "../../../../base/check.js";
import { messageOf } from "../../../../base/errors/error.js";
import { analyzeHost } from "../../analyze/analyze.js";
import type { BundleEntry } from "../../analyze/bundle/entry.js";
import { SshFailure } from "../../ssh/ssh.js";

export interface FarHost {
  /** Where it answers. */
  readonly name: string;
  /** What a gather would take from it. Throws DB_SSH. */
  files(timeoutMs: number): AsyncIterable<BundleEntry>;
}

export const ONLY_THERE = "only the bridge's own host can tell; run drawbridge bootstrap verify there";

export function farHostCheck(host: FarHost | undefined): Check {
  return {
    id: "host",
    title: "Server, certificates and egress configuration of the bootstrap host",
    run: async () => (host === undefined ? skip(ONLY_THERE) : judge(host)),
  };
}

const WAIT_MS = 60_000;

async function judge(host: FarHost): Promise<Outcome> {
  const { name } = host;
  let seen: Awaited<ReturnType<typeof analyzeHost>>;
  try {
    seen = await analyzeHost(host.files(WAIT_MS));
  } catch (reason) {
    if (!(reason instanceof SshFailure)) throw reason;
    const remedy = "Let this host reach its SSH port, or run drawbridge bootstrap verify there.";
    // A firewall in between is more likely than a host that is gone, and neither says anything about the bridge.
    return reason.isAway ? skip(messageOf(reason), remedy) : fail(messageOf(reason), reason.remedy);
  }
  const { findings, observations, isTakenDown } = seen;
  const told = observations.length === 0 ? "" : `; ${observations.join(" ").replace(/\.$/, "")}`;
  if (isTakenDown) return skip(`bootkube has taken the bridge down on ${name}${told}`);
  const causes = findings.filter(({ likelihood }) => likelihood !== "possible");
  const [first] = causes;
  if (first === undefined) return pass(`nothing is wrong on ${name}${told}`, { findings });
  return fail(`${name}: ${causes.map(({ message }) => message).join("; ")}`, first.remedy, { findings });
}
