/**
 * The system's ssh, as somebody careful would call it: one key, no questions, no forwarding, host keys remembered. The
 * user's own configuration still counts, because the connection may lead through a bastion.
 */
import { rmSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { isIP } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DrawbridgeError, wrapWrites } from "../../../base/errors/error.js";
import { createFile } from "../../../base/files.js";
import { onInterruption } from "../../../base/signals.js";

export interface SshTarget {
  readonly host: string;
  readonly user: string;
  readonly port: number;
  /** Undefined: whatever ssh would use by itself. */
  readonly keyFile: string | undefined;
  /** Keys of hosts that were seen before; new ones are added, changed ones refused. */
  readonly knownHostsFile: string;
  /** Reached through this one. */
  readonly through?: SshTarget | undefined;
}

const LONGEST_CONNECT_SECONDS = 15;

/** What to run, so that the script on standard input becomes root's. */
const AS_ROOT = 'if [ "$(id -u)" = 0 ]; then exec bash -s; else exec sudo -n bash -s; fi';

/** `timeoutMs`: for all of it; a host that is not there is noticed before that. */
export function sshCommand(target: SshTarget, timeoutMs = Number.POSITIVE_INFINITY): string[] {
  const connectSeconds = Math.max(1, Math.min(LONGEST_CONNECT_SECONDS, Math.floor(timeoutMs / 2_000)));
  return ["ssh", ...options(target, connectSeconds), "-T", "-p", String(target.port), "--", login(target), AS_ROOT];
}

function options({ keyFile, knownHostsFile, through }: SshTarget, connectSeconds = LONGEST_CONNECT_SECONDS): string[] {
  const settings = [
    "BatchMode=yes",
    `ConnectTimeout=${connectSeconds}`,
    "ServerAliveInterval=10",
    "ServerAliveCountMax=3",
    "ForwardAgent=no",
    "ForwardX11=no",
    "ClearAllForwardings=yes",
    "PermitLocalCommand=no",
    "ControlMaster=no",
    "ControlPath=none",
    "StrictHostKeyChecking=accept-new",
    `UserKnownHostsFile=${spelt(knownHostsFile)}`,
    "UpdateHostKeys=no",
    // So that a person can find the line to remove when a machine was really replaced.
    "HashKnownHosts=no",
    "LogLevel=ERROR",
    ...(keyFile === undefined ? [] : ["IdentitiesOnly=yes"]),
    ...(through === undefined ? [] : [`ProxyCommand=${jump(through)}`]),
  ];
  return [...(keyFile === undefined ? [] : ["-i", keyFile]), ...settings.flatMap((setting) => ["-o", setting])];
}

function login({ user, host }: SshTarget): string {
  return `${user}@${host}`;
}

/** ssh splits file names of its settings at blanks and expands % in them. */
function spelt(path: string): string {
  return `"${path.replaceAll("%", "%%")}"`;
}

/** The jump host is reached with the same options. A shell runs this line. */
function jump(target: SshTarget): string {
  const words = ["ssh", ...options(target), "-p", String(target.port), "-W", "[%h]:%p", "--", login(target)];
  return words.map((word) => (word === "[%h]:%p" ? word : quoted(word).replaceAll("%", "%%"))).join(" ");
}

/** One word for a shell. */
export const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

/** Throws DB_FLAG_VALUE: a host or user that looks like an option must never reach ssh. */
export function checkedHost(host: string): string {
  const plain = host.replace(/^\[(.*)\]$/, "$1");
  if (isIP(plain) !== 0 || /^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$/i.test(plain)) return plain;
  throw new DrawbridgeError("DB_FLAG_VALUE", `${JSON.stringify(host)} is neither an address nor the name of a host`);
}

export function checkedUser(user: string): string {
  if (/^[a-z_][a-z0-9_.-]*$/i.test(user)) return user;
  throw new DrawbridgeError("DB_FLAG_VALUE", `${JSON.stringify(user)} is not the name of a user`);
}

/** A directory for keys and host keys that nobody else can read and that is gone afterwards, however it ends. */
export async function withPrivateFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  // mkdtemp makes it for the owner alone.
  const folder = await keeping(() => mkdtemp(join(tmpdir(), "drawbridge-ssh-")));
  const takeBack = onInterruption(() => rmSync(folder, { recursive: true, force: true }));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
    takeBack();
  }
}

export async function writeKey(folder: string, pem: string): Promise<string> {
  const file = join(folder, "key");
  await keeping(() => createFile(file, pem.endsWith("\n") ? pem : `${pem}\n`, 0o600));
  return file;
}

/** Throws DB_SSH. */
const keeping = <T>(make: () => Promise<T>): Promise<T> =>
  wrapWrites("DB_SSH", `${tmpdir()} (TMPDIR) cannot hold ssh's key and host keys`, make);

export class SshFailure extends DrawbridgeError {
  /** Nothing answers there at all: the machine may be gone. */
  readonly isAway: boolean;

  constructor(sentence: string, isAway: boolean) {
    super("DB_SSH", sentence);
    this.isAway = isAway;
  }
}

/** Each with the words that ssh or sudo print, and the end of a sentence that starts with the host. */
const complaints: readonly (readonly [RegExp, string])[] = [
  [
    /REMOTE HOST IDENTIFICATION HAS CHANGED|Host key verification failed/,
    "it shows another host key than the one remembered",
  ],
  [/Permission denied|no supported authentication/i, "it does not accept the key"],
  [/sudo: a password is required|not in the sudoers/, "the user may not become root there without a password"],
  [/sudo: command not found|sudo: not found/, "the user is not root and there is no sudo"],
  [/bash: (command )?not found|bash: No such file/, "there is no bash"],
  [/UNPROTECTED PRIVATE KEY FILE|bad permissions/, "the key file is readable for others (chmod 600)"],
  [/invalid format|error in libcrypto|Load key/, "the key file is not a private key that ssh can read"],
];

const absences: readonly (readonly [RegExp, string])[] = [
  [/Connection refused/, "nothing answers on its SSH port"],
  [/timed out|Operation timed out/, "it does not answer"],
  [/Could not resolve hostname/, "its name cannot be resolved"],
  [/No route to host|Network is unreachable/, "there is no route to it"],
];

export function sshFailure({ host, knownHostsFile }: SshTarget, code: number | null, stderr: string): SshFailure {
  const meaningIn = (list: typeof complaints) => list.find(([pattern]) => pattern.test(stderr))?.[1];
  const [answer, absence] = [meaningIn(complaints), meaningIn(absences)];
  const last = stderr.trim().split("\n").at(-1)?.trim() ?? "";
  const said = answer ?? absence ?? (last === "" ? `ssh ended with ${code}` : last.replace(/\.$/, ""));
  const place = /host key/.test(said) ? ` (${knownHostsFile})` : "";
  const isAway = answer === undefined && absence !== undefined;
  return new SshFailure(`${host} cannot be used over SSH: ${said}${place}.`, isAway);
}
