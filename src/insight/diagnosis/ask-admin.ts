/** Asks a process about itself through its admin port; whatever goes wrong is an answer, too. */
import { DrawbridgeError, messageOf } from "../../base/errors/error.js";
import type { Overview } from "../observe/admin/contract.js";
import { AdminPort } from "../watch/admin-port.js";
import type { AdminView } from "./context.js";

export interface AdminPlace {
  readonly url: URL;
  readonly tokenFile: string;
  /** PEM; undefined: the system's authorities. */
  readonly ca: string | undefined;
  readText(path: string): Promise<string | undefined>;
}

export async function askAdmin({ url, tokenFile, ca, readText }: AdminPlace): Promise<AdminView> {
  const token = (await readText(tokenFile))?.trim();
  if (token === undefined) {
    const remedy = "Run doctor as root, or name a copy of it with --token-file.";
    return { state: "failed", why: `the admin token ${tokenFile} cannot be read`, remedy };
  }
  const port = new AdminPort({ url, token, ca });
  try {
    // An agent says only there how many servers it looks for.
    const [overview, metrics] = await Promise.all([port.get<Overview>(""), port.text("/metrics").catch(() => "")]);
    return { state: "open", address: port.address, overview, metrics };
  } catch (reason) {
    const remedy = reason instanceof DrawbridgeError ? reason.remedy : "Check --admin and --token-file.";
    return { state: "failed", why: messageOf(reason).replace(/\.$/, ""), remedy };
  }
}
