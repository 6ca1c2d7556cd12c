/**
 * What a real install directory of openshift-install knows about the machines it made: where the bootstrap host is, the
 * key that opens it, and the way into the cluster. Each is asked for by itself, so that only what is missing and needed
 * is refused.
 */
import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { messageOf } from "../../../base/errors/error.js";
import { machineAddresses } from "./machines.js";
import { missing } from "./missing.js";
import { bootstrapKey } from "./state-file.js";

export interface InstallDirectory {
  readonly path: string;
  /** False where the installer made no machines. */
  isHostKnown(): Promise<boolean>;
  /** Where the bootstrap machine answers, its public address first. */
  bootstrapHost(): Promise<string>;
  /** The control-plane machines; none where the installer did not make them. */
  controlPlaneHosts(): Promise<readonly string[]>;
  /** The private key the installer generated for user core, as PEM. Keep it out of logs and arguments. */
  sshKey(): Promise<string>;
  /** The administrator's kubeconfig. */
  kubeconfig(): Promise<string>;
  /** Where host keys seen once are remembered for the next command. */
  readonly knownHostsFile: string;
}

/** Throws DB_INSTALL_DIR when there is no such directory. */
export async function openInstallDirectory(dir: string): Promise<InstallDirectory> {
  const path = resolve(dir);
  const status = await stat(path).catch((reason: unknown) => {
    throw missing(`${path} cannot be used as an install directory: ${messageOf(reason)}`, reason);
  });
  if (!status.isDirectory()) throw missing(`${path} is not a directory`);
  return {
    path,
    isHostKnown: async () => (await machineAddresses(path, "bootstrap")).length > 0,
    async bootstrapHost() {
      const [first] = await machineAddresses(path, "bootstrap");
      if (first !== undefined) return first;
      throw missing(
        `${path} does not say where the bootstrap machine is (no address in .clusterapi_output/Machine-*-bootstrap.yaml)`,
      );
    },
    controlPlaneHosts: () => machineAddresses(path, "master"),
    sshKey: () => bootstrapKey(path),
    async kubeconfig() {
      const file = join(path, "auth", "kubeconfig");
      const found = await stat(file).catch(() => undefined);
      if (found?.isFile()) return file;
      throw missing(`${path} has no auth/kubeconfig`);
    },
    knownHostsFile: join(path, ".drawbridge_known_hosts"),
  };
}
