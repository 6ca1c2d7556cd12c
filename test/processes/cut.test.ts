/** Real processes that are killed, or stopped at the end of their drain, in the middle of a stream: neither end may take it for whole. */
import { execFile } from "node:child_process";
import type { Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { wasReset } from "../../src/base/cut-socket.js";
import { opensslAvailable } from "../../src/tunnel/pki/testing/openssl.js";
import { payload, readExactly, readToEnd } from "../support/callers/bytes.js";
import { within } from "../support/processes/deadline.js";
import { get } from "../support/processes/http.js";
import { startTunnel, type Tunnel } from "../support/processes/tunnel.js";
import { type Conversation, type SteeredTarget, startSteered } from "../support/targets/half-open.js";

const PART = payload("part", 300_000);
const QUESTION = "and then?";

let tunnel: Tunnel;
let target: SteeredTarget;
beforeEach(async () => {
  target = await startSteered();
});
afterEach(async () => {
  await tunnel?.close();
  await target.close();
});

const start = async (frontend: "connect-tcp" | "connect-uds") => {
  const [serverFlags, agentFlags] = [["--graceful-shutdown-timeout=1s"], ["--drain-timeout=1s"]];
  tunnel = await startTunnel({ server: "ours", agent: "ours", frontend, serverFlags, agentFlags });
};

/** OpenSSL's own reader at the frontend, which reports a connection that ends without TLS's good-bye. */
interface Reader {
  /** How much it has read behind the answer to its CONNECT, and what it complains about in the end. */
  readonly done: Promise<{ bytes: number; complaint: string }>;
  readonly endpoint: Conversation;
  ask(question: string): void;
}

const ESTABLISHED = "HTTP/1.1 200 Connection Established\r\n\r\n";

async function openReader(): Promise<Reader> {
  const { ca, cert, key } = tunnel.pki.caller;
  const where = ["-connect", `127.0.0.1:${tunnel.place.frontendPort}`, "-CAfile", ca, "-cert", cert, "-key", key];
  const next = target.next();
  let ask: Reader["ask"] = () => {};
  const done = new Promise<Awaited<Reader["done"]>>((resolve) => {
    const args = ["s_client", "-quiet", "-ign_eof", ...where];
    const child = execFile("openssl", args, { encoding: "buffer", maxBuffer: 1 << 26 }, (_error, stdout, stderr) => {
      const [complaint = ""] = /unexpected eof while reading|errno=104/.exec(stderr.toString()) ?? [];
      resolve({ bytes: stdout.length - ESTABLISHED.length, complaint });
    });
    child.stdin!.on("error", () => {});
    ask = (question) => void child.stdin!.write(question);
    child.stdin!.write(`CONNECT ${target.address} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
  });
  const endpoint = await within(20_000, "the reader's connection at the endpoint", next);
  endpoint.socket.on("error", () => {});
  return { done, endpoint, ask };
}

/** Bytes that the server has had from its agents. */
async function carried(): Promise<number> {
  const { body } = await get(tunnel.place.adminPort, "/metrics");
  return Number(/^\S*server_segment_bytes_total\{segment="from_agent"\} (\d+)$/m.exec(body)?.[1] ?? 0);
}

function fateOf(socket: Socket): Promise<string> {
  const fate = new Promise<string>((resolve) => {
    socket.once("end", () => resolve(wasReset(socket) ? "ECONNRESET" : "end"));
    socket.once("error", ({ code = "" }: NodeJS.ErrnoException) => resolve(code));
  });
  return within(20_000, "the endpoint's connection to end", fate);
}

describe.skipIf(!opensslAvailable())("an answer through a CONNECT frontend on TLS", () => {
  test("that is whole is whole to its reader", async () => {
    await start("connect-tcp");
    const { done, endpoint } = await openReader();
    endpoint.socket.end(PART);
    expect(await done).toEqual({ bytes: PART.length, complaint: "" });
  });

  test.each<[string, () => unknown]>([
    ["whose agent is killed", () => tunnel.agents[0]!.process.kill()],
    ["whose agent ends at the end of its drain", () => tunnel.agents[0]!.process.signal("SIGTERM")],
    ["whose server is killed", () => tunnel.server.process.kill()],
    ["whose server ends at the end of its drain", () => tunnel.server.process.signal("SIGTERM")],
  ])("%s is all delivered, and truncated to its reader", async (_name, end) => {
    await start("connect-tcp");
    const { done, endpoint, ask } = await openReader();
    endpoint.socket.write(PART);
    await expect.poll(() => carried(), { timeout: 10_000 }).toBe(PART.length);
    // A caller that has been answered may be closed in order by a drain; this one waits for more.
    ask(QUESTION);
    await expect.poll(() => endpoint.received().toString(), { timeout: 10_000 }).toBe(QUESTION);
    await end();
    expect(await done).toEqual({ bytes: PART.length, complaint: expect.stringMatching(/./) });
  });
});

describe.each(["connect-tcp", "connect-uds"] as const)("an upload through a %s frontend", (frontend) => {
  test.each<[string, () => unknown]>([
    ["the server is killed", () => tunnel.server.process.kill()],
    ["the server ends at the end of its drain", () => tunnel.server.process.signal("SIGTERM")],
    ["the agent ends at the end of its drain", () => tunnel.agents[0]!.process.signal("SIGTERM")],
  ])("%s: the endpoint has all that had arrived, and is reset", async (_name, end) => {
    await start(frontend);
    const next = target.next();
    const caller = await tunnel.open(target.address);
    const endpoint = await next;
    endpoint.socket.on("error", () => {});
    const fate = fateOf(endpoint.socket);
    caller.write(PART);
    await expect.poll(() => endpoint.received().length, { timeout: 10_000 }).toBe(PART.length);
    await end();
    expect(await fate).toBe("ECONNRESET");
  });
});

test("on a Unix socket a cut answer is all delivered, and ends: nothing else can be sent on one", async () => {
  await start("connect-uds");
  const next = target.next();
  const caller = await tunnel.open(target.address);
  const endpoint = await next;
  endpoint.socket.on("error", () => {});
  endpoint.socket.write(PART);
  await readExactly(caller, PART.length);
  const ending = readToEnd(caller);
  await tunnel.agents[0]!.process.kill();
  expect((await ending).error).toBeUndefined();
});
