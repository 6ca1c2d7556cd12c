/** What upstream's server answers to a certificate that it does not accept, and what our agent and our client make of it. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { dialThrough } from "../../src/tunnel/client/dial.js";
import { startAgent } from "../support/processes/agent.js";
import { type CertFiles, endedCaller, makePki, type TestPki } from "../support/processes/certs.js";
import { waitUntil } from "../support/processes/deadline.js";
import { peersAvailable } from "../support/processes/executables.js";
import { get } from "../support/processes/http.js";
import { Scope } from "../support/processes/scope.js";
import { choosePlace, type ServerProcess, startServer } from "../support/processes/server.js";

describe.skipIf(!peersAvailable("proxy-server"))("upstream's server", () => {
  const scope = new Scope();
  let pki: TestPki;
  let server: ServerProcess;

  beforeAll(async () => {
    const dir = scope.tempDir();
    pki = makePki(dir);
    server = await startServer({ origin: "theirs", place: await choosePlace("connect-tcp", dir), pki });
    scope.use(server.process);
  });
  afterAll(() => scope.close());

  const kinds = {
    foreign: { code: "DB_TLS_OWN_REFUSED", own: () => pki.stranger },
    expired: { code: "DB_TLS_OWN_EXPIRED", own: (ca: CertFiles) => endedCaller({ ...pki, caller: ca }) },
    missing: { code: "DB_TLS_OWN_MISSING", own: () => undefined },
  } as const;

  test.each(["foreign", "expired", "missing"] as const)("refuses our agent with a %s certificate", async (kind) => {
    const { code, own } = kinds[kind];
    const { cert = "", key = "" } = own(pki.agent) ?? {};
    const flags = [`--agent-cert=${cert}`, `--agent-key=${key}`];
    const agent = await startAgent({ origin: "ours", serverPort: server.place.agentPort, pki, flags });
    scope.use(agent.process);
    await waitUntil(`the agent to say ${code}`, () => agent.process.log.text.includes(`code="${code}"`), {
      context: () => agent.process.log.tail(),
    });
    expect(agent.process.log.text).not.toMatch(/code="(?:DB_SERVER_HUNG_UP|DB_TLS_FAILED|DB_WRONG_PORT)"/);
    expect((await get(agent.healthPort, "/readyz?verbose")).body).toContain(code);
  });

  test.each(["foreign", "expired", "missing"] as const)("refuses our client with a %s certificate", async (kind) => {
    const { code, own } = kinds[kind];
    const files = own(pki.caller);
    const tls = { caFile: pki.caller.ca, ...(files && { certFile: files.cert, keyFile: files.key }) };
    const { frontendPort: port } = server.place;
    const dialled = dialThrough({ mode: "http-connect", host: "127.0.0.1", port, tls }, "127.0.0.1:9");
    await expect(dialled).rejects.toMatchObject({ code });
  });
});
