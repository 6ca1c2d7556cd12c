/** Access by SSH to the bootstrap host that openshift-install made. */

import { join } from "node:path";
import type { InstallDirectory } from "../../cluster/bootstrap/install-dir.js";
import { checkedHost, checkedUser, type SshTarget, writeKey } from "../../cluster/bootstrap/ssh/ssh.js";
import { filePath, inGroup, port, text, type Values } from "../flags/flag.js";
import { refused } from "../flags/parse.js";

export const sshFlags = (bootstrapUsage: string) =>
  inGroup("advanced", {
    bootstrap: text(bootstrapUsage),
    key: filePath("File of the private SSH key. If empty, as --dir says, else what ssh would use."),
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

/**
 * Undefined when neither a flag nor the install directory names a host. The directory's generated key is kept in a file
 * of the folder while the command runs. `isLenient`: the installer may have made no machines, and what ssh would use by
 * itself will do where the directory has no key.
 */
export async function bootstrapTarget(
  flags: SshFlags,
  directory: InstallDirectory | undefined,
  folder: string,
  isLenient = false,
): Promise<SshTarget | undefined> {
  if (isLenient && flags.bootstrap === "" && !(await directory?.isHostKnown())) return undefined;
  const host = flags.bootstrap || (await directory?.bootstrapHost());
  if (host === undefined) return undefined;
  const generated = async (): Promise<string | undefined> => {
    const pem = await directory?.sshKey().catch((reason: unknown) => {
      if (!isLenient) throw reason;
      return undefined;
    });
    return pem && writeKey(folder, pem);
  };
  return {
    host: checkedHost(host),
    user: checkedUser(flags.user),
    port: flags.port,
    keyFile: flags.key || (await generated()),
    knownHostsFile: flags.knownHosts || (directory?.knownHostsFile ?? join(folder, "known_hosts")),
  };
}
