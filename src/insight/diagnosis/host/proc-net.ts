/** /proc/net/tcp and tcp6: which ports are listened on, and which socket does it. */

const LISTEN = "0A";

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
