/** Whom doctor asks through an admin port: whoever was named, else the program that runs here. */
import type { AdminView, DoctorHost } from "../../insight/diagnosis/context.js";
import type { Role } from "../../insight/diagnosis/diagnosis.js";
import { processFile } from "../../insight/diagnosis/host/process-file.js";
import { adminPortOf } from "../../insight/diagnosis/own-port.js";
import { programOf } from "../../insight/diagnosis/program.js";

/** Each empty where nobody said it. */
export interface SaidAdmin {
  readonly admin: string;
  readonly tokenFile: string;
  readonly caFile: string;
}

export async function adminView(said: SaidAdmin, role: Role, host: DoctorHost): Promise<AdminView> {
  const program = programOf(role);
  const running = program && (await host.running(program));
  const own = program && running && adminPortOf(program, running);
  const scheme = running?.flags.get("admin-cert-file") ? "https" : "http";
  const url = said.admin || (own && `${scheme}://${own.text}`);
  const told = running?.flags.get("admin-token-file");
  const tokenFile = said.tokenFile || (told && running && processFile(running.pid, told));
  if (!url)
    return { state: "closed", remedy: running ? "Start it with an admin port to see more (docs/admin-api.md)." : "" };
  if (!tokenFile) {
    const remedy = "Start it with --admin-token-file, or name that file with --token-file, to see more.";
    return { state: "closed", remedy };
  }
  const { askAdmin } = await import("../../insight/diagnosis/ask-admin.js");
  const ca = said.caFile === "" ? undefined : await host.readText(said.caFile);
  return askAdmin({ url: new URL(url), tokenFile, ca, readText: (path) => host.readText(path) });
}
