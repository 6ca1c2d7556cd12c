/**
 * How two drawbridge ends find each other: one metadata key on Connect and in the response headers, ignored by
 * upstream. The value is a version and a list of what its sender can do (docs/protocol.md).
 */
export const FEATURES_KEY = "drawbridge-features";

const VERSION = "1";
/** These two make no sense apart, and everybody who speaks version 1 has both. */
const ALWAYS = ["credit", "end-of-stream"];
const ECHO = "echo";

/** Features that both ends of a link have. */
export interface Features {
  /** Credit and end of stream. */
  readonly extended: boolean;
  /** The agent answers at ECHO_ADDRESS (wire/destination.ts). */
  readonly echo: boolean;
}

/**
 * In the response headers of Connect: how many agents share the search for further servers with this one. All of them
 * together keep one pace, however many they are.
 */
export const SEARCHERS_KEY = "drawbridge-searchers";

/** On Connect: the IDs of the servers that the agent is connected to. One that finds its own there has nothing to add. */
const CONNECTED_KEY = "drawbridge-connected";

/** Features of this program. */
export const OUR_FEATURES: Features = { extended: true, echo: true };

/** The peer's features, as far as this program has them, too. */
export function featuresIn(value: string | readonly string[] | undefined): Features {
  const [version, list = ""] = typeof value === "string" ? value.split(";") : [];
  const named = list.split(",");
  const extended = version === VERSION && ALWAYS.every((name) => named.includes(name));
  return { extended, echo: extended && named.includes(ECHO) };
}

/** The header that says so; nothing to somebody with whom nothing was agreed on. */
export function featureHeader({ extended, echo }: Features): Record<string, string> {
  if (!extended) return {};
  return { [FEATURES_KEY]: `${VERSION};${[...ALWAYS, ...(echo ? [ECHO] : [])].join(",")}` };
}

/** The header for a peer with the given features. */
export function searchersHeader({ extended }: Features, searchers: number): Record<string, string> {
  return extended ? { [SEARCHERS_KEY]: String(searchers) } : {};
}

/** What it says; undefined where there is none, or no number that makes sense. */
export function searchersIn(value: string | readonly string[] | undefined): number | undefined {
  return typeof value === "string" && /^[1-9]\d{0,5}$/.test(value) ? Number(value) : undefined;
}

export function connectedHeader(serverIds: readonly string[]): Record<string, string> {
  return serverIds.length === 0 ? {} : { [CONNECTED_KEY]: serverIds.map(encodeURIComponent).join(",") };
}

/** Whether the agent that calls is connected to this server already, and will drop the call's connection. */
export function isConnectedAlready(metadata: (key: string) => readonly string[], serverId: string): boolean {
  return metadata(CONNECTED_KEY).some((list) => list.split(",").includes(encodeURIComponent(serverId)));
}
