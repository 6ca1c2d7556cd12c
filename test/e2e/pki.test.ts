/**
 * P2: who gets in with the bootstrap profile's certificates, with real processes, ours and upstream's, and certificates
 * from both issuers.
 */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { certificatesFor, writePki } from "../../src/tunnel/pki/write-pki.js";
import { type AgentProcess, startAgent } from "../support/processes/agent.js";
import type { CertFiles, TestPki } from "../support/processes/certs.js";
import { START_WITHIN_MS, waitUntil } from "../support/processes/deadline.js";
import { type Origin, peersAvailable } from "../support/processes/executables.js";
import { Scope } from "../support/processes/scope.js";
import { choosePlace, type ServerProcess, startServer } from "../support/processes/server.js";

const script = fileURLToPath(new URL("../../src/cluster/bootstrap/shell/certs.sh", import.meta.url));

/**
 * With TLS 1.3 a client learns that its certificate was refused only after its own handshake is done, in many words or
 * none; that it is refused shows in both sides' readiness, and that it tried, here.
 */
const turnedAway = /cannot connect (to server|once)/;

/** Fills `dir` with a set for that address. */
const issuers: Record<string, (dir: string, address: string) => Promise<void>> = {
  async "our issuer"(dir, address) {
    await writePki(dir, await certificatesFor("bootstrap", { ipAddresses: [address] }));
  },
  async "certs.sh"(dir, address) {
    execFileSync("bash", [script, address], { env: { ...process.env, KONNECTIVITY_TLS_DIR: dir }, stdio: "pipe" });
  },
};

const origins: Origin[] = peersAvailable("proxy-server", "proxy-agent") ? ["ours", "theirs"] : ["ours"];
const cases = origins.flatMap((origin) => Object.keys(issuers).map((issuer) => ({ origin, issuer })));

describe.each(cases)("P2 programs: $origin, certificates: $issuer", ({ origin, issuer }) => {
  const whole = new Scope();
  let dirs: Record<"right" | "elsewhere" | "stranger", string>;
  let each: Scope;

  beforeAll(async () => {
    const dir = whole.tempDir();
    const make = async (name: string, address: string) => {
      await issuers[issuer]!(join(dir, name), address);
      return join(dir, name);
    };
    dirs = {
      right: await make("right", "127.0.0.1"),
      elsewhere: await make("elsewhere", "192.0.2.1"),
      stranger: await make("stranger", "127.0.0.1"),
    };
  });
  afterAll(() => whole.close());
  afterEach(() => each.close());

  const files = (dir: string, name: "server" | "agent", caDir = dir): CertFiles => ({
    ca: join(caDir, "ca.crt"),
    cert: join(dir, `${name}.crt`),
    key: join(dir, `${name}.key`),
  });

  async function meet(serverDir: string, agent: CertFiles, flags: string[] = []) {
    each = new Scope();
    const pki = { cluster: files(serverDir, "server"), agent } as TestPki;
    const place = await choosePlace("connect-uds", each.tempDir());
    const server: ServerProcess = await startServer({ origin, place, pki });
    each.use(server.process);
    const agentProcess: AgentProcess = await startAgent({ origin, serverPort: place.agentPort, pki, flags });
    each.use(agentProcess.process);
    return { server, agent: agentProcess };
  }

  /** The agent tried, said why it failed, and neither side takes itself for connected. */
  async function refused({ server, agent }: Awaited<ReturnType<typeof meet>>, why: RegExp): Promise<void> {
    const log = () => agent.process.log.text;
    await waitUntil("the agent to be refused", () => why.test(log()), {
      withinMs: START_WITHIN_MS,
      context: () => `\n${agent.process.log.tail()}`,
    });
    expect((await agent.readyz()).status).toBe(503);
    expect((await server.readyz()).status).toBe(500);
  }

  test("server and agent of one set connect", async () => {
    const { agent, server } = await meet(dirs.right, files(dirs.right, "agent"));
    await agent.untilReady();
    await server.untilReady();
  });

  test("an agent without a certificate is refused", async () => {
    const none = ["--agent-cert=", "--agent-key="];
    await refused(await meet(dirs.right, files(dirs.right, "agent"), none), turnedAway);
  });

  test("an agent of another signer is refused", async () => {
    const stranger = files(dirs.stranger, "agent", dirs.right);
    await refused(await meet(dirs.right, stranger), turnedAway);
  });

  test("an agent that presents the server's certificate is refused", async () => {
    await refused(await meet(dirs.right, files(dirs.right, "server")), turnedAway);
  });

  test("a server whose certificate lacks the address is refused by the agent", async () => {
    await refused(
      await meet(dirs.elsewhere, files(dirs.elsewhere, "agent")),
      /altnames|valid for 192\.0\.2\.1|but for 192\.0\.2\.1|not in the cert/i,
    );
  });

  test("a server of another signer is refused by the agent", async () => {
    const agent = files(dirs.right, "agent");
    await refused(
      await meet(dirs.stranger, agent),
      /unable to verify|self.signed|signed by unknown authority|signature failure/i,
    );
  });
});
