/** How commands get onto the bootstrap host that openshift-install made. */
import { join } from "node:path";
import { DrawbridgeError } from "../../base/errors/error.js";
import type { InstallDirectory } from "../../cluster/bootstrap/install-dir.js";
import type { SshTarget } from "../../cluster/bootstrap/ssh/ssh.js";
import type { FlagSet } from "../flags/flag-set.js";
import { integer, string } from "../flags/flag-value.js";

export type SshFlags = ReturnType<typeof declareSshFlags>;

// The return type is inferred: one entry a flag, each with the type its kind gives it.
export function declareSshFlags(set: FlagSet, bootstrapUsage: string) {
  const text = (name: string, usage: string, value = "") => set.add(name, string, value, usage);
  return {
    bootstrap: text("bootstrap", bootstrapUsage),
    key: text("key", "File of the private SSH key. If empty, as --dir says, else what ssh would use."),
    user: text("user", "Who to log in as; must be root or be able to sudo without a password.", "core"),
    port: set.add("port", integer, 22, "SSH port."),
    knownHosts: text(
      "known-hosts",
      "File of SSH host keys; keys of new hosts are added. If empty, kept in --dir, else forgotten.",
    ),
  };
}

export function checkSshFlags({ port }: SshFlags): void {
  if (port.value < 1 || port.value > 65_535) throw new DrawbridgeError("DB_FLAG_VALUE", "--port must be a port");
}

/** Where a command reaches hosts only by what an install directory says. */
export function refuseSshFlags({ bootstrap, key, user, port, knownHosts }: SshFlags): void {
  const stray = [bootstrap, key, user, port, knownHosts].find(({ changed }) => changed);
  if (stray === undefined) return;
  throw new DrawbridgeError("DB_FLAG_VALUE", `--${stray.name} is for --dir, which is missing`);
}

/** Undefined where the installer made no machines: then somebody else did, and knows where the bootstrap host is. */
export async function knownTarget(
  flags: SshFlags,
  directory: InstallDirectory,
  folder: string,
): Promise<SshTarget | undefined> {
  const isKnown = flags.bootstrap.value !== "" || (await directory.isHostKnown());
  return isKnown ? bootstrapTarget(flags, directory, folder, { keyless: true }) : undefined;
}

/** `keyless`: what ssh would use by itself will do where the directory has no key. */
type Need = { readonly keyless?: boolean };

/** Undefined when neither a flag nor the install directory names a host: then it is this one's turn. */
export async function bootstrapTarget(
  flags: SshFlags,
  directory: InstallDirectory | undefined,
  folder: string,
  need: Need = {},
): Promise<SshTarget | undefined> {
  const { checkedHost } = await import("../../cluster/bootstrap/ssh/ssh.js");
  const host = flags.bootstrap.value || (await directory?.bootstrapHost());
  return host === undefined
    ? undefined
    : { ...(await accessOf(flags, directory, folder, need)), host: checkedHost(host) };
}

/** How to get in, the same for every host. The generated key is written once, for as long as this command takes. */
async function accessOf(
  flags: SshFlags,
  directory: InstallDirectory | undefined,
  folder: string,
  { keyless = false }: Need,
) {
  const { checkedUser, writeKey } = await import("../../cluster/bootstrap/ssh/ssh.js");
  const generated = async (): Promise<string | undefined> => {
    const pem = await directory?.sshKey().catch((reason: unknown) => {
      if (!keyless) throw reason;
      return undefined;
    });
    return pem && writeKey(folder, pem);
  };
  const key = flags.key.value || (await generated());
  return {
    user: checkedUser(flags.user.value),
    port: flags.port.value,
    keyFile: key,
    knownHostsFile: flags.knownHosts.value || (directory?.knownHostsFile ?? join(folder, "known_hosts")),
  };
}
