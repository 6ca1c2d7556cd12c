/** Which process listens on a port, as far as /proc tells. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { basename } from "node:path";

const LISTEN = "0A";

/** Which port each listening socket of /proc/net/tcp and tcp6 has. */
export function listeningInodes(tables: string): Map<number, string> {
  const found = new Map<number, string>();
  for (const line of tables.split("\n")) {
    const columns = line.trim().split(/\s+/);
    const [, local = "", , state] = columns;
    const port = /:([0-9A-F]{4})$/.exec(local)?.[1];
    if (state === LISTEN && port !== undefined) found.set(Number.parseInt(port, 16), columns[9] ?? "");
  }
  return found;
}

/** `pid 123 proxy-server`; undefined for this process and where it cannot be found out, as with other users' processes. */
export function portHolder(port: number): string | undefined {
  const tables = ["tcp", "tcp6"].map((name) => orElse("", () => readFileSync(`/proc/net/${name}`, "utf8")));
  const inode = listeningInodes(tables.join("\n")).get(port);
  if (inode === undefined) return undefined;
  const pids = orElse([], () => readdirSync("/proc")).filter(
    (name) => /^\d+$/.test(name) && name !== String(process.pid),
  );
  const pid = pids.find((each) =>
    orElse([], () => readdirSync(`/proc/${each}/fd`)).some(
      (fd) => orElse("", () => readlinkSync(`/proc/${each}/fd/${fd}`)) === `socket:[${inode}]`,
    ),
  );
  return pid === undefined ? undefined : `pid ${pid} ${programName(pid)}`.trimEnd();
}

/** What it was called as; a script's name rather than Node's. */
function programName(pid: string): string {
  const words = orElse("", () => readFileSync(`/proc/${pid}/cmdline`, "utf8"))
    .split("\0")
    .map((word) => basename(word));
  const [first = "", ...rest] = words;
  const script = rest.find((word) => word !== "" && !word.startsWith("-"));
  return /^node(js)?$/.test(first) ? (script ?? first) : first;
}

function orElse<T>(otherwise: T, read: () => T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
