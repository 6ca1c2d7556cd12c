/** CONNECT answers that our own server would not give in just this way. */

import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readToEnd } from "../../../test/support/callers/bytes.js";
import { ManualClock } from "../../base/testing/manual-clock.js";
import { dialFailed, ESTABLISHED, gatewayError, methodNotAllowed, noTunnels } from "../wire/connect.js";
import { dialConnect } from "./connect-dial.js";
import { dialThrough } from "./dial.js";
import type { DialRefusedError } from "./errors.js";

let dir: string;
let close: () => void;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "drawbridge-connect-"));
});

afterEach(() => {
  close();
  rmSync(dir, { recursive: true });
});

/** A frontend that calls `script` once a whole request head has come. */
async function startFrontend(
  script: (socket: Socket, request: string) => void,
): Promise<{ mode: "http-connect"; uds: string }> {
  const uds = join(dir, "frontend.sock");
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    let head = "";
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      const before = head.includes("\r\n\r\n");
      head += chunk.toString("latin1");
      if (!before && head.includes("\r\n\r\n")) script(socket, head);
    });
  });
  await new Promise<void>((resolve) => server.listen(uds, resolve));
  close = () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  return { mode: "http-connect", uds };
}

describe("a CONNECT dial", () => {
  test.each([
    ["[fd00::1]:443", undefined, "[fd00::1]"],
    ["db.example:5432", undefined, "db.example"],
    ["10.0.0.7:5432", "db.example", "db.example"],
  ])("asks for %s (which is %s), and for nothing else", async (address, name, host) => {
    let seen = "";
    const frontend = await startFrontend((socket, request) => {
      seen = request;
      socket.write(ESTABLISHED);
    });
    (await dialThrough(frontend, address, { name })).destroy();
    expect(seen).toBe(`CONNECT ${address} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  });

  test("refuses a name that would break out of its header", async () => {
    const frontend = await startFrontend(() => {});
    const dialled = dialThrough(frontend, "10.0.0.7:1", { name: "a\r\nX: y" });
    await expect(dialled).rejects.toMatchObject({ code: "DB_DIAL_FAILED" });
  });

  test("keeps bytes, and the end, that come with the answer in one piece", async () => {
    const frontend = await startFrontend((socket) => socket.end(`${ESTABLISHED}first words`));
    const { bytes, error } = await readToEnd(await dialThrough(frontend, "a:1"));
    expect({ text: bytes.toString(), error }).toEqual({ text: "first words", error: undefined });
  });

  test("keeps them for a reader that comes late, and in order with what follows", async () => {
    const frontend = await startFrontend((socket) => {
      socket.write(`${ESTABLISHED}one `);
      setImmediate(() => socket.end("two"));
    });
    const socket = await dialThrough(frontend, "a:1");
    await new Promise((resolve) => setTimeout(resolve, 20));
    let text = "";
    for await (const chunk of socket) text += String(chunk);
    expect(text).toBe("one two");
  });

  test("reads an answer that comes byte by byte", async () => {
    const frontend = await startFrontend((socket) => {
      const bytes = [...Buffer.from(`${ESTABLISHED}x`)];
      const next = (): void => {
        const byte = bytes.shift();
        if (byte === undefined) socket.end();
        else socket.write(Buffer.from([byte]), () => setImmediate(next));
      };
      next();
    });
    expect((await readToEnd(await dialThrough(frontend, "a:1"))).bytes.toString()).toBe("x");
  });

  test.each([
    [noTunnels("No agent available"), 500, "DB_NO_AGENT", "currently no tunnels available: No agent available"],
    [
      gatewayError(502, "Backend context error: context canceled"),
      502,
      "DB_AGENT_LOST",
      "Backend context error: context canceled",
    ],
    [
      gatewayError(504, "Backend dial timeout: timed out waiting for backend dial"),
      504,
      "DB_DIAL_TIMEOUT",
      "Backend dial timeout: timed out waiting for backend dial",
    ],
    [
      gatewayError(504, "Failed to tunnel dial request: timed out waiting for backend dial"),
      504,
      "DB_DIAL_TIMEOUT",
      "Failed to tunnel dial request: timed out waiting for backend dial",
    ],
    [dialFailed(504, "dial tcp 10.0.0.1:80: i/o timeout"), 504, "DB_DIAL_TIMEOUT", "dial tcp 10.0.0.1:80: i/o timeout"],
    [
      dialFailed(502, "refused by this agent's destination policy: no"),
      502,
      "DB_DIAL_DENIED",
      "refused by this agent's destination policy: no",
    ],
    ["HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", 407, "DB_PEER_PROTOCOL", ""],
  ])("takes a refusal apart: %j", async (answer, status, code, text) => {
    const frontend = await startFrontend((socket) => socket.end(answer));
    await expect(dialThrough(frontend, "a:1", { redialMs: 0 })).rejects.toMatchObject({ status, code, answer: text });
  });

  test("does not wait for the end of a connection that is kept after a refusal", async () => {
    const frontend = await startFrontend((socket) => socket.write(methodNotAllowed(new Date(0), true)));
    // The time for the rest of a text never passes here: whoever waits for it waits for ever.
    const dial = dialConnect(frontend, { address: "a:1", runtime: new ManualClock() }, new AbortController().signal);
    await expect(dial).rejects.toMatchObject({ status: 405 });
  });

  test("gives a refusal's text a bound in bytes and in time", async () => {
    const endless = await startFrontend((socket) => {
      socket.write("HTTP/1.1 503 Service Unavailable\r\n\r\n");
      const more = (): void => {
        while (!socket.destroyed && socket.write("x".repeat(4096)));
      };
      socket.on("drain", more);
      more();
    });
    const long = (await dialThrough(endless, "a:1").catch((reason: unknown) => reason)) as DialRefusedError;
    expect(long.answer.length).toBe(8 * 1024);
    close();
    const stuck = await startFrontend((socket) =>
      socket.write("HTTP/1.1 503 Service Unavailable\r\n\r\ntoo many open"),
    );
    await expect(dialThrough(stuck, "a:1")).rejects.toMatchObject({ status: 503, answer: "too many open" });
  });

  test.each([
    ["a hang-up", "", "was lost: it hung up without an answer"],
    ["half an answer", "HTTP/1.1 200 Conn", "was lost: it hung up without an answer"],
    ["something else", "SSH-2.0-OpenSSH\r\n", "it is not HTTP/1"],
  ])("tells %s from a refusal", async (_what, answer, words) => {
    const frontend = await startFrontend((socket) => socket.end(answer));
    await expect(dialThrough(frontend, "a:1")).rejects.toThrow(words);
  });
});
