import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Pki } from "../pki.js";
import type { Show } from "../report/show.js";

export async function makeCertificates(folder: string, serverHost: string, show: Show): Promise<Pki> {
  const pkiFolder = join(folder, "pki");
  mkdirSync(pkiFolder, { mode: 0o700 });
  const pki = await Pki.make(pkiFolder, serverHost);
  show.result("3 authorities (callers, agents, webhook), 6 certificates, valid for one day");
  return pki;
}
