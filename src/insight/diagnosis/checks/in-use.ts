/** What the process really uses: the certificates it has loaded, the doors it has open. */

import { splitHostPort } from "../../../base/address.js";
import { plainText } from "../../../base/text.js";
import { roughly } from "../../../tunnel/pki/inspect/duration.js";
import { dueAt } from "../../../tunnel/pki/renewal.js";
import type { CertificateInfo } from "../../observe/admin/contract.js";
import type { Listener, RunningProgram } from "../context.js";
import { type Outcome, ok, skipped, warning, wrong } from "../diagnosis.js";
import { processFile } from "../host/process-file.js";
import { socketAnswers } from "../host/socket-answers.js";
import { programOf } from "../program.js";
import { ofOverview, withAdmin } from "./admin.js";

/** Files may be new while the process still shows what it read before. */
export const certificatesInUse = ofOverview("certificates-in-use", withAdmin, ({ certificates }, { now }) => {
  if (certificates.length === 0) return [skipped("the process uses no certificate")];
  const found = certificates.flatMap((certificate) => judgeLife(certificate, now().getTime()));
  if (found.length > 0) return found;
  const earliest = certificates.reduce((one, other) => (other.notAfterAt < one.notAfterAt ? other : one));
  return [
    ok(
      `the ${certificates.length} certificates in use last until ${new Date(earliest.notAfterAt).toISOString()}`,
      ...certificates.map(
        ({ file, use, names }) => `${file}: ${use}${names.length > 0 ? ` for ${names.join(", ")}` : ""}`,
      ),
    ),
  ];
});

function judgeLife({ file, use, kind, subject, notBeforeAt, notAfterAt }: CertificateInfo, now: number): Outcome[] {
  const which = `the ${kind === "own" ? "certificate" : "authority"} for ${use} (${file})`;
  const evidence = `${plainText(subject)}, until ${new Date(notAfterAt).toISOString()}`;
  const remedy = "Renew it (drawbridge pki renew --all --dir DIR, or whoever issued it) and put it at the same path.";
  if (now >= notAfterAt) return [wrong(`${which} ended ${roughly(now - notAfterAt)} ago`, remedy, evidence)];
  if (now < notBeforeAt) {
    return [
      wrong(`${which} is valid only in ${roughly(notBeforeAt - now)}`, "Set the clock: chronyc makestep.", evidence),
    ];
  }
  const [notBefore, notAfter] = [new Date(notBeforeAt).toISOString(), new Date(notAfterAt).toISOString()];
  if (now < dueAt({ notBefore, notAfter })) return [];
  return [warning(`${which} ends in ${roughly(notAfterAt - now)}`, remedy, evidence)];
}

/** A door that the process believes to be open and that nobody can enter is the quietest of failures. */
export const listeners = ofOverview("listeners", withAdmin, async ({ listeners: doors }, { host, role }) => {
  const program = programOf(role);
  const running = program && (await host.running(program));
  if (running === undefined) return [skipped("the process is not on this host, so its doors cannot be seen")];
  const open = await host.listeners();
  const found: Outcome[] = [];
  for (const { what, address } of doors) {
    const trouble = address.startsWith("/") ? await atSocket(address, running) : atPort(address, open, running);
    if (trouble !== undefined) {
      found.push(
        wrong(`${what}: ${trouble}`, "Start the process anew; it takes its doors back.", `${what} ${address}`),
      );
    }
  }
  if (found.length > 0) return found;
  return [ok(`its ${doors.length} doors are open`, ...doors.map(({ what, address }) => `${what} ${address}`))];
});

async function atSocket(path: string, { pid }: RunningProgram): Promise<string | undefined> {
  return (await socketAnswers(processFile(pid, path)))
    ? undefined
    : `${path} leads nowhere: the socket was removed, or replaced by another process'`;
}

function atPort(address: string, open: readonly Listener[], { pid }: RunningProgram): string | undefined {
  const split = splitHostPort(address);
  if ("error" in split) return undefined;
  const listener = open.find(({ port }) => port === Number(split.port));
  if (listener === undefined) return `nobody listens on ${address}`;
  return listener.owner === undefined || listener.owner.pid === pid
    ? undefined
    : `${address} belongs to process ${listener.owner.pid}`;
}
