/** A bootstrap host that is reached over a real sshd, and the install directory that knows how. */
import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import type { BootstrapHost } from "../support/ignition-fixtures/host/bootstrap-host.js";
import { LabProcess } from "../support/lab/process.js";
import type { Scope } from "../support/lab/scope.js";

export function hasSshd(): boolean {
  if (existsSync("/usr/sbin/sshd")) return true;
  const message = "sshd missing: apt-get install openssh-server.";
  if (process.env.DRAWBRIDGE_REQUIRE_PEERS === "1") throw new Error(message);
  process.stderr.write(`skipped: ${message}\n`);
  return false;
}

/** A workstation's temporary folder of its own, so that nothing else is found in it. */
export class Workstation {
  readonly env: Readonly<Record<string, string>>;
  readonly #folder: string;

  constructor(scope: Scope) {
    this.#folder = scope.file("workstation");
    mkdirSync(this.#folder);
    this.env = { TMPDIR: this.#folder };
  }

  /** What commands left there. */
  leftovers(): string[] {
    return readdirSync(this.#folder);
  }
}

/** sshd as a bootstrap host runs it, with user core, whose key only the install directory has. */
export class SshHost {
  readonly process: LabProcess;
  readonly folder: string;

  constructor(scope: Scope, host: BootstrapHost, name: string) {
    this.folder = scope.file(name);
    mkdirSync(this.folder, { recursive: true });
    // sshd gives up its rights into this directory.
    // It stays: other hosts' sshd may want it, too.
    mkdirSync("/run/sshd", { recursive: true, mode: 0o755 });
    appendFileSync(host.at("etc/passwd"), "core:x:0:0:core:/root:/bin/bash\n");
    for (const file of ["host", "core"]) this.#keygen(file);
    writeFileSync(join(this.folder, "config"), this.#config());
    this.process = this.listen(scope, host, name, host.netns);
  }

  /** The same host's sshd in another network, to play another host. */
  listen(scope: Scope, host: BootstrapHost, name: string, netns: string): LabProcess {
    const [program, ...words] = host.entered(["/usr/sbin/sshd", "-D", "-e", "-f", join(this.folder, "config")]);
    return LabProcess.start(scope, { name, netns, command: [program as string, ...words] });
  }

  /** An install directory as the installer leaves it, down to what is of no use here. */
  installDirectory(path: string, ip: string): string {
    const machine = "Machine-openshift-cluster-api-guests-lab-7x2k9-bootstrap.yaml";
    const addresses = [
      { type: "InternalDNS", address: "ip-192-168-66-10.internal" },
      { type: "InternalIP", address: "10.99.99.99" },
      { type: "ExternalIP", address: ip },
    ];
    const pair = { Priv: Buffer.from(this.privateKey).toString("base64"), Pub: "" };
    mkdirSync(join(path, ".clusterapi_output"), { recursive: true });
    writeFileSync(join(path, ".clusterapi_output", machine), stringify({ kind: "Machine", status: { addresses } }));
    writeFileSync(
      join(path, ".openshift_install_state.json"),
      JSON.stringify({ "*installconfig.ClusterID": { InfraID: "lab-7x2k9" }, "*tls.BootstrapSSHKeyPair": pair }),
    );
    return path;
  }

  get privateKey(): string {
    return readFileSync(join(this.folder, "core"), "utf8");
  }

  #keygen(name: string): void {
    execFileSync("ssh-keygen", ["-q", "-t", "rsa", "-b", "2048", "-m", "PEM", "-N", "", "-f", join(this.folder, name)]);
  }

  #config(): string {
    return [
      "Port 22",
      `HostKey ${join(this.folder, "host")}`,
      `AuthorizedKeysFile ${join(this.folder, "core.pub")}`,
      ...["StrictModes no", "UsePAM no", "PidFile none", "PasswordAuthentication no", "PermitRootLogin yes"],
      ...["AllowAgentForwarding no", "PrintMotd no", ""],
    ].join("\n");
  }
}
