import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { waitUntil } from "../../../test/support/processes/deadline.js";
import { freePort, portOpen } from "../../../test/support/processes/ports.js";
import { startProcess } from "../../../test/support/processes/process.js";
import { Ends } from "../ends.js";
import { lacking, programPath, saidVersion } from "../programs.js";
import type { Tunnel } from "../tunnel.js";

const CIPHER = "aes128-gcm@openssh.com";

/**
 * `ssh -R`, with an sshd of its own. Neither reads a configuration or a key of the user or of the machine. A command is run
 * instead of `-N`, one that waits for input that never comes: for sessions only does sshd turn Nagle's algorithm off, and
 * small messages wait 40 ms for each other with it.
 */
export const openssh: Tunnel = {
  name: "openssh",
  title: "OpenSSH -R",
  kind: {
    direction: "reverse",
    connections: "multiplexed",
    encryption: "SSH, AES-128-GCM",
    authentication: "keys, both ends",
    entrance: "Unix socket",
    targets: "one, from the configuration",
  },
  problem: () => lacking("openssh-server and openssh-client", "sshd", "ssh", "ssh-keygen"),
  version: () => saidVersion("ssh", "-V", /OpenSSH_(\S+?)[ ,]/),
  async start(scope, { target }) {
    const dir = scope.tempDir();
    const at = (name: string) => join(dir, name);
    for (const key of ["host", "user"]) makeKey(at(key));
    execFileSync("mkfifo", [at("silence")]);
    const port = await freePort();
    writeFileSync(at("known"), `[127.0.0.1]:${port} ${readFileSync(at("host.pub"), "utf8")}`);
    writeFileSync(at("sshd_config"), sshdConfig(dir, port));
    // sshd run by root gives up its rights into this directory.
    if (process.getuid?.() === 0) mkdirSync("/run/sshd", { recursive: true, mode: 0o755 });
    const sshd = scope.use(
      startProcess({ name: "sshd", command: programPath("sshd"), args: ["-D", "-e", "-f", at("sshd_config")] }),
    );
    await sshd.untilReady("it listened", () => waitUntil("sshd to listen", () => portOpen(port)));
    const route = { frontend: "direct", address: at("in.sock"), target: target.address } as const;
    const ends = await Ends.start(route, sshd, {
      name: "ssh",
      command: "sh",
      args: [
        ...["-c", `exec "$0" "$@" <>${at("silence")}`, programPath("ssh")],
        ...["-F", "none", "-T", "-i", at("user"), "-c", CIPHER, "-p", String(port)],
        ...["IdentitiesOnly=yes", "IdentityAgent=none", "BatchMode=yes", "ExitOnForwardFailure=yes"].flatMap(option),
        ...["StrictHostKeyChecking=yes", `UserKnownHostsFile=${at("known")}`, "LogLevel=ERROR"].flatMap(option),
        ...["-R", `${route.address}:${target.address}`, `${userInfo().username}@127.0.0.1`, "cat"],
      ],
    });
    return scope.use(ends);
  },
};

const option = (text: string): string[] => ["-o", text];

function makeKey(path: string): void {
  execFileSync(programPath("ssh-keygen"), ["-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path]);
}

const sshdConfig = (dir: string, port: number): string =>
  [
    "ListenAddress 127.0.0.1",
    `Port ${port}`,
    `HostKey ${join(dir, "host")}`,
    `AuthorizedKeysFile ${join(dir, "user.pub")}`,
    "PidFile none",
    "StrictModes no",
    "UsePAM no",
    "PasswordAuthentication no",
    "KbdInteractiveAuthentication no",
    "PermitRootLogin prohibit-password",
    `Ciphers ${CIPHER}`,
    // The socket of a session that was killed is replaced.
    "StreamLocalBindUnlink yes",
    "LogLevel ERROR",
    "",
  ].join("\n");
