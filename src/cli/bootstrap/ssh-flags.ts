/** Access by SSH to the bootstrap host that openshift-install made. */

import { join } from "node:path";
import type { InstallDirectory } from "../../cluster/bootstrap/install-dir.js";
import { checkedHost, checkedUser, type SshTarget, writeKey } from "../../cluster/bootstrap/ssh/ssh.js";
import { inGroup, port, text, type Values } from "../flags/flag.js";
import { refused } from "../flags/parse.js";

export const sshFlags = (bootstrapUsage: string) =>
  inGroup("advanced", {
    bootstrap: text(bootstrapUsage),
    key: text("File of the private SSH key. If empty, as --dir says, else what ssh would use."),
    user: text("User to log in as by SSH; it must be root or be able to sudo without a password.", "core"),
    port: port(22, "SSH port of the hosts.", 1),
    "known-hosts": text("File of SSH host keys; keys of new hosts are added. If empty, kept in --dir, else forgotten."),
  });

export type SshFlags = Values<ReturnType<typeof sshFlags>>;

/** With `dir` "", a command reaches hosts only by what an install directory says. */
export function checkSshFlags(given: ReadonlySet<string>, dir: string): void {
  const stray = ["bootstrap", "key", "user", "port", "known-hosts"].find((name) => given.has(name));
  if (dir === "" && stray !== undefined) throw refused(`--${stray} is for --dir, which is missing`);
}

/** Undefined where the installer made no machines: then only a flag can name the bootstrap host. */
export async function knownTarget(
  flags: SshFlags,
  directory: InstallDirectory,
  folder: string,
): Promise<SshTarget | undefined> {
  const isKnown = flags.bootstrap !== "" || (await directory.isHostKnown());
  return isKnown ? bootstrapTarget(flags, directory, folder, { keyless: true }) : undefined;
}

/** `keyless`: what ssh would use by itself will do where the directory has no key. */
type Need = { readonly keyless?: boolean };

/** Undefined when neither a flag nor the install directory names a host: then this host is meant. */
export async function bootstrapTarget(
  flags: SshFlags,
  directory: InstallDirectory | undefined,
  folder: string,
  need: Need = {},
): Promise<SshTarget | undefined> {
  const host = flags.bootstrap || (await directory?.bootstrapHost());
  return host === undefined
    ? undefined
    : { ...(await accessOf(flags, directory, folder, need)), host: checkedHost(host) };
}

/** User, port and key, the same for every host. The generated key is kept in a file while the command runs. */
async function accessOf(
  flags: SshFlags,
  directory: InstallDirectory | undefined,
  folder: string,
  { keyless = false }: Need,
) {
  const generated = async (): Promise<string | undefined> => {
    const pem = await directory?.sshKey().catch((reason: unknown) => {
      if (!keyless) throw reason;
      return undefined;
    });
    return pem && writeKey(folder, pem);
  };
  const key = flags.key || (await generated());
  return {
    user: checkedUser(flags.user),
    port: flags.port,
    keyFile: key,
    knownHostsFile: flags.knownHosts || (directory?.knownHostsFile ?? join(folder, "known_hosts")),
  };
}
