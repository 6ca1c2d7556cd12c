/** The simulation decides about time, turns, chance and connections: whatever takes them elsewhere is not simulated. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

/** Calls that the runtime (src/base/runtime.ts) makes for everybody. */
const RAW = [
  /(?<![.\w])(?:setImmediate|setTimeout|setInterval|queueMicrotask|randomBytes|randomFillSync|randomInt|randomUUID)\(/,
  /\b(?:nextTick|performance\.now|Date\.now|new Date\(\)|AbortSignal\.timeout|Math\.random)/,
  /\b(?:net|tls)\.(?:connect|createConnection)\(/,
];

/** Folders and files that stand beside the data path, and those that nothing simulates yet. */
const EXEMPT: Readonly<Record<string, string>> = {
  "pki/": "files and certificates",
  "resolver/": "agents are given a resolver",
  "start-warnings.ts": "what is said when a process starts",
  "client/grpc-tunnel.ts": "setTimeout as sockets have it, for programs",
  "client/transport.ts": "certificate files",
  "link/tls-listener.ts": "TLS",
  "link/peer-trust.ts": "TLS",
  "link/failed-handshake.ts": "TLS",
  "outgoing/facts.ts": "TLS",
  "outgoing/secure.ts": "TLS",
  "sidecar/listeners/accept-first.ts": "Node's HTTP server",
  "sidecar/listeners/forwarder.ts": "Node's HTTP client",
  "sidecar/readiness.ts": "probes",
  "sidecar/routing/": "routers are given to listeners",
};

const root = fileURLToPath(new URL(".", import.meta.url));
const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter(
  (name) => name.endsWith(".ts") && !/\.(?:test|fuzz)\.ts$|(?:^|\/)testing\//.test(name),
);
const isExempt = (name: string): boolean => Object.keys(EXEMPT).some((each) => name.startsWith(each));

function rawCalls(name: string): string[] {
  const lines = readFileSync(`${root}${name}`, "utf8").split("\n");
  const code = lines.map((line) => line.replace(/^\s*(?:\/?\*|\/\/).*/, ""));
  return code.flatMap((line, index) =>
    RAW.some((each) => each.test(line)) ? [`${name}:${index + 1}: ${line.trim()}`] : [],
  );
}

test("the data path takes time, turns, chance and connections from its runtime alone", () => {
  expect(files.length).toBeGreaterThan(100);
  expect(files.filter((name) => !isExempt(name)).flatMap(rawCalls)).toEqual([]);
});

test("whatever is exempt needs it", () => {
  const unneeded = Object.keys(EXEMPT).filter(
    (each) => !files.some((name) => name.startsWith(each) && rawCalls(name).length > 0),
  );
  expect(unneeded).toEqual([]);
});
