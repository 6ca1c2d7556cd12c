/** The admin ports of the processes that run here, by their flags: nobody should have to look up what a process was told. */
import type { RunningProgram } from "../facts.js";
import { adminPortOf, PROGRAMS, type ProgramKind, programs } from "../programs.js";
import { doctorHost, processFile, readAs } from "./this-host.js";

export interface AdminHere {
  readonly pid: number;
  readonly title: string;
  /** `http://127.0.0.1:8095`; undefined: it has none. */
  readonly url: string | undefined;
  /** Its own token file, by the path that leads to it from here; undefined: it has none, or may not read it itself. */
  readonly tokenFile: string | undefined;
}

export function adminOf(kind: ProgramKind, running: RunningProgram): AdminHere {
  const { flags, pid } = running;
  const port = adminPortOf(kind, running);
  const scheme = flags.get("admin-cert-file") ? "https" : "http";
  const tokenFile = flags.get("admin-token-file");
  return {
    ...{ pid, title: PROGRAMS[kind].title },
    url: port && `${scheme}://${port.text}`,
    tokenFile: tokenFile ? processFile(pid, tokenFile) : undefined,
  };
}

/** Those of every process of ours in this network that has one. */
export async function adminsHere(): Promise<AdminHere[]> {
  const found = programs.map(async (kind) => {
    const first = await doctorHost().running(kind);
    const others = await Promise.all((first?.others ?? []).map((pid) => doctorHost(pid).running(kind)));
    return [first, ...others].flatMap((running) => (running === undefined ? [] : adminOf(kind, running)));
  });
  const all = (await Promise.all(found)).flat().filter(({ url }) => url !== undefined);
  return await Promise.all(
    all.map(async (each) => ((await isItsOwn(each)) ? each : { ...each, tokenFile: undefined })),
  );
}

/** Also where we may not read it, or it is gone, which is said when it is read. */
async function isItsOwn({ pid, tokenFile }: AdminHere): Promise<boolean> {
  return tokenFile === undefined || (await readAs(pid, tokenFile).catch(() => "")) !== undefined;
}
