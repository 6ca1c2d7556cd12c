import { expect, test } from "vitest";
import { readToEnd } from "../../../support/callers/bytes.js";
import { connectRequest, openFrontend } from "../../../support/callers/connect.js";
import type { CertFiles } from "../../../support/processes/certs.js";
import type { Tunnel } from "../../../support/processes/tunnel.js";
import { startEcho } from "../../../support/targets/echo.js";
import type { PairingFixture } from "../pairing.js";

/** The TCP frontend opens only to certificates of its own authority. */
export function strangers({ pairing, tunnel }: PairingFixture): void {
  if (pairing.frontend !== "connect-tcp") return;
  test.each([
    ["without a certificate", ({ pki }: Tunnel): Partial<CertFiles> => ({ ca: pki.frontend.ca })],
    ["with a certificate of another authority", ({ pki }: Tunnel): Partial<CertFiles> => pki.stranger],
    ["with an agent's certificate", ({ pki }: Tunnel): Partial<CertFiles> => ({ ...pki.agent, ca: pki.frontend.ca })],
  ])("does not serve a caller %s", async (_, certsOf) => {
    const echo = await startEcho();
    try {
      // Ours says why; upstream's just hangs up. Neither reads the request.
      expect(await speak(tunnel(), certsOf(tunnel()), echo.address)).toMatch(
        /^$|^HTTP\/1\.1 403 Forbidden\r\n.*\r\n\r\nThis proxy refused the connection: its? .*certificate.*\.\n$/s,
      );
      expect(echo.accepted).toBe(0);
    } finally {
      await echo.close();
    }
  });
}

/** What the frontend says. With TLS 1.3 a refusal may come in the handshake or as its first and only word after it. */
async function speak({ place }: Tunnel, certs: Partial<CertFiles>, target: string): Promise<string> {
  try {
    const socket = await openFrontend({ transport: "tcp", host: "127.0.0.1", port: place.frontendPort, certs });
    socket.write(connectRequest(target));
    const { bytes } = await readToEnd(socket, 12_000);
    socket.destroy();
    return bytes.toString("latin1");
  } catch (reason) {
    expect((reason as Error).message).not.toContain("not within");
    return "";
  }
}
