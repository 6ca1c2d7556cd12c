import { expect, test } from "vitest";
import { freePort } from "../../../support/processes/ports.js";
import { startBlackHole } from "../../../support/targets/black-hole.js";
import type { PairingFixture } from "../pairing.js";

/** Too long for a DNS label: no resolver of any kind knows it, and none is asked over the network. */
const UNRESOLVABLE = `${"x".repeat(64)}.invalid`;

const HEADERS = "Connection: close\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n";
const BAD_GATEWAY = `HTTP/1.1 502 Bad Gateway\r\n${HEADERS}`;
const GATEWAY_TIMEOUT = `HTTP/1.1 504 Gateway Timeout\r\n${HEADERS}`;

export function refusals({ pairing, tunnel }: PairingFixture): void {
  async function refused(target: string, head: string): Promise<string> {
    const dialled = await tunnel().dial(target);
    if (dialled.ok) throw new Error(`${target} was reached`);
    if (pairing.frontend !== "grpc-uds") expect(dialled.head).toBe(head);
    return dialled.text;
  }

  test("says that an endpoint refused the connection", async () => {
    const target = `127.0.0.1:${await freePort()}`;
    expect(await refused(target, BAD_GATEWAY)).toMatch(
      new RegExp(`^dial tcp ${target.replaceAll(".", "\\.")}: connect: connection refused`),
    );
  });

  test("says that an endpoint's name does not resolve", async () => {
    expect(await refused(`${UNRESOLVABLE}:443`, BAD_GATEWAY)).toMatch(
      /^dial tcp: lookup x{64}\.invalid.*: no such host/,
    );
  });

  // Short for loopback to getaddrinfo, but not to Go and not to us.
  test.each(["127.1", "0", "2130706433"])("takes %s for a name that nobody has", async (host) => {
    expect(await refused(`${host}:443`, BAD_GATEWAY)).toMatch(/^dial tcp: lookup \d[\d.]*.*: no such host/);
  });

  test("says that an endpoint did not answer", async () => {
    const blackHole = await startBlackHole();
    try {
      expect(await refused(blackHole.address, GATEWAY_TIMEOUT)).toMatch(/^dial tcp 127\.0\.0\.1:\d+: i\/o timeout/);
    } finally {
      await blackHole.close();
    }
  });
}
