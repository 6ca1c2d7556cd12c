import type { Socket } from "node:net";
import { expect, test } from "vitest";
import { readExactly, readToEnd } from "../../../support/callers/bytes.js";
import { within } from "../../../support/processes/deadline.js";
import { GO, startEndlessSource } from "../../../support/targets/bulk.js";
import { startEcho } from "../../../support/targets/echo.js";
import { startSteered } from "../../../support/targets/half-open.js";
import { type PairingFixture, PROMPTLY_MS } from "../pairing.js";

const NO_AGENT = "HTTP/1.1 500 Internal Server Error\r\nContent-Type: text/plain\r\n\r\n";

/** Every test here leaves the tunnel in the state in which the next one finds it. */
export function failures({ pairing, tunnel }: PairingFixture): void {
  async function echoes(): Promise<void> {
    const echo = await startEcho();
    try {
      const socket = await tunnel().open(echo.address);
      socket.write("still there?");
      expect(String(await readExactly(socket, 12))).toBe("still there?");
      socket.destroy();
    } finally {
      await echo.close();
    }
  }

  test("tells a caller at once that its agent was killed in mid-transfer", async () => {
    const source = await startEndlessSource();
    try {
      const socket = await tunnel().open(source.address);
      socket.write(GO);
      await readExactly(socket, 1024 * 1024);
      await Promise.all([untilEnded(socket), tunnel().killAgents()]);
    } finally {
      await source.close();
    }
  });

  test("refuses when there is no agent", async () => {
    const dialled = await tunnel().dial("127.0.0.1:9");
    if (dialled.ok) throw new Error("dialled without an agent");
    if (pairing.frontend === "grpc-uds") {
      expect(dialled.text).toMatch(/^No agent available/);
    } else {
      expect(dialled.head).toBe(NO_AGENT);
      expect(dialled.text).toMatch(/^currently no tunnels available: No agent available/);
    }
  });

  test("works again with a new agent", async () => {
    await tunnel().addAgent();
    await echoes();
  });

  test("ends tunnels when the server is killed, and works again when it is back", async () => {
    const endpoint = await startSteered();
    try {
      const socket = await tunnel().open(endpoint.address);
      const conversation = await endpoint.next();
      const bothTold = Promise.all([
        untilEnded(socket),
        within(PROMPTLY_MS, "the endpoint to be told", conversation.inputEnded),
      ]);
      await Promise.all([bothTold, tunnel().restartServer()]);
      await echoes();
    } finally {
      await endpoint.close();
    }
  });
}

async function untilEnded(socket: Socket): Promise<void> {
  await readToEnd(socket, PROMPTLY_MS);
  socket.destroy();
}
