/** What a proxy-server's metrics say, ours or upstream's. */

export interface Sample {
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number;
}

const PREFIX = "konnectivity_network_proxy_server_";
const LINE = /^([\w:]+)(?:\{(.*)\})?\s+(\S+)/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

export function samples(page: string, name: string): Sample[] {
  return page.split("\n").flatMap((text) => {
    const [, found, labels = "", value = ""] = LINE.exec(text) ?? [];
    if (found !== name) return [];
    const pairs = [...labels.matchAll(LABEL)].map(([, key = "", raw = ""]) => [key, unescaped(raw)] as const);
    return [{ labels: new Map(pairs), value: Number(value) }];
  });
}

function unescaped(raw: string): string {
  return raw.replace(/\\(.)/g, (_, letter: string) => (letter === "n" ? "\n" : letter));
}

export interface ConnectedAgents {
  readonly count: number;
  /** Only drawbridge's own server names them. */
  readonly ids: readonly string[] | undefined;
}

/** Undefined when the page is no proxy-server's. */
export function connectedAgents(page: string): ConnectedAgents | undefined {
  const connections = samples(page, `${PREFIX}ready_backend_connections`)[0]?.value;
  const backends = samples(page, `${PREFIX}ready_backends`).map(({ value }) => value);
  const count = connections ?? (backends.length === 0 ? undefined : Math.max(...backends));
  if (count === undefined) return undefined;
  const ids = samples(page, "drawbridge_server_agent_tunnels").map(({ labels }) => labels.get("agent_id") ?? "");
  // Without a single agent this family is empty on our server, too.
  return { count, ids: ids.length === 0 && count > 0 ? undefined : ids };
}

/** Dials that were answered so far; undefined when the page does not count them. */
export function dialsEstablished(page: string): number | undefined {
  return samples(page, `${PREFIX}dial_duration_seconds_count`)[0]?.value;
}
