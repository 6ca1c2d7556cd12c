import { readFileSync } from "node:fs";
import { connect, type TLSSocket } from "node:tls";
import { issueCertificate, loadAuthority } from "../../src/tunnel/pki/issue.js";
import { type Attack, BOUND_MIB } from "../attack.js";
import { CONNECT_PATH } from "../raw/headers.js";
import { RawPeer } from "../raw/peer.js";

const VALID_MS = 2_000;

/** Whether the server takes an agent's call on this connection. */
async function getsIn(socket: TLSSocket, agentId: string): Promise<boolean> {
  const peer = new RawPeer(socket, "client");
  return await new Promise((resolve) => {
    peer.onHeaders = (_stream, ended) => resolve(!ended);
    peer.onEnded = () => resolve(false);
    socket.once("close", () => resolve(false));
    setTimeout(() => resolve(false), 3_000);
    peer.greet();
    peer.open(1, CONNECT_PATH, { agentid: agentId });
  });
}

export const expiredCertificate: Attack = {
  name: "expired-certificate",
  against: "agents' listener, with a certificate that has ended",
  description: "a TLS session from when the certificate was valid is resumed after its end",
  fixture: "server",
  boundMiB: BOUND_MIB,
  noSink: true,
  seconds: 4,
  shortSeconds: 4,
  async run(target, work) {
    const place = target.listeners.agents!;
    if (place.kind !== "tls") return;
    const read = (path: string) => readFileSync(path, "utf8");
    const authority = await loadAuthority({
      certificatePem: read(place.ca),
      privateKeyPem: read(place.ca.replace(/\.pem$/, ".key")),
    });
    const ends = Date.now() + VALID_MS;
    const pair = await issueCertificate(authority, {
      ...{ use: "client", commonName: "expiring", validForMs: VALID_MS, backdateMs: 60_000 },
    });
    const tls = {
      ...{ host: "127.0.0.1", port: place.port, ca: read(place.ca), ALPNProtocols: ["h2"] },
      ...{ cert: pair.certificatePem, key: pair.privateKeyPem },
    };
    const sessions: Buffer[] = [];
    const first = work.adopt(connect(tls).on("session", (session) => sessions.push(session))) as TLSSocket;
    if (!(await getsIn(first, "expiring"))) return work.violation("the valid certificate did not get in");
    await work.until(() => sessions.length > 0);
    work.drop(first);
    // The work's time may be over by then; the attack is not.
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, ends + 1_200 - Date.now())));
    for (const session of [...sessions, undefined]) {
      const again = connect({ ...tls, ...(session && { session }) });
      again.on("error", () => {});
      work.adopt(again);
      const how = session ? "with its old TLS session" : "again";
      if (await getsIn(again, "expired")) work.violation(`the certificate got in after its end, ${how}`);
      work.drop(again);
    }
    work.note(`${sessions.length} sessions to resume`);
  },
};
