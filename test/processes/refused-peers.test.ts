/** Peers whose certificates are wrong, as real processes: what the server says of them, and what they say of themselves. */
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Finding } from "../../src/base/finding.js";
import type { Overview } from "../../src/insight/observe/admin/contract.js";
import { AdminPort } from "../../src/insight/watch/admin-port.js";
import { issueCertificate, loadAuthority } from "../../src/tunnel/pki/issue.js";
import { DAY_MS } from "../../src/tunnel/pki/request.js";
import { type AgentProcess, startAgent } from "../support/processes/agent.js";
import { type CertFiles, makePki, type TestPki } from "../support/processes/certs.js";
import { waitUntil } from "../support/processes/deadline.js";
import { ours } from "../support/processes/executables.js";
import { freePorts } from "../support/processes/ports.js";
import { Scope } from "../support/processes/scope.js";
import { choosePlace, type ServerProcess, startServer } from "../support/processes/server.js";

const TOKEN = "only-for-this-test-0123456789";
const scope = new Scope();
let pki: TestPki;
let tokenFile: string;
let server: ServerProcess;

beforeAll(async () => {
  const dir = scope.tempDir();
  pki = makePki(dir);
  tokenFile = join(dir, "token");
  writeFileSync(tokenFile, TOKEN, { mode: 0o600 });
  const flags = [`--admin-token-file=${tokenFile}`];
  server = await startServer({ origin: "ours", place: await choosePlace("connect-tcp", dir), pki, flags });
  scope.use(server.process);
});
afterAll(() => scope.close());

/** A client's certificate of that authority, good until yesterday only. */
async function ended(ca: string): Promise<CertFiles> {
  const [certificatePem, privateKeyPem] = [ca, ca.replace(/\.pem$/, ".key")].map((file) => readFileSync(file, "utf8"));
  const authority = await loadAuthority({ certificatePem: certificatePem!, privateKeyPem: privateKeyPem! });
  const pair = await issueCertificate(authority, {
    use: "client",
    commonName: "ended",
    now: new Date(Date.now() - 2 * DAY_MS),
  });
  const dir = scope.tempDir();
  const files = { ca, cert: join(dir, "ended.crt"), key: join(dir, "ended.key") };
  writeFileSync(files.cert, pair.certificatePem);
  writeFileSync(files.key, pair.privateKeyPem, { mode: 0o600 });
  return files;
}

const adminAt = (port: number) => new AdminPort({ url: new URL(`http://127.0.0.1:${port}`), token: TOKEN });
const overviewOfServer = () => adminAt(server.place.adminPort).get<Overview>("");

async function agentWith({ cert, key }: CertFiles): Promise<{ agent: AgentProcess; admin: AdminPort }> {
  const [adminPort] = (await freePorts(1)) as [number];
  const flags = [`--admin-token-file=${tokenFile}`, `--admin-server-port=${adminPort}`];
  const agent = await startAgent({
    origin: "ours",
    serverPort: server.place.agentPort,
    pki: { ...pki, agent: { ...pki.agent, cert, key } },
    flags,
  });
  scope.use(agent.process);
  return { agent, admin: adminAt(adminPort) };
}

/** The one finding of that check, as soon as it has a code. */
async function findingOf(admin: AdminPort, check: string): Promise<Finding> {
  return await waitUntil(`the finding ${check}`, async () => {
    const { items } = await admin.get<{ items: Finding[] }>("findings");
    return items.find((each) => each.check === check && each.code !== undefined);
  });
}

const run = promisify(execFile);

test("a foreign agent and a caller without a certificate are in the API, in top and in the log", async () => {
  await agentWith(pki.stranger);
  const proxy = ["--proxy-cacert", pki.frontend.ca, "-x", `https://127.0.0.1:${server.place.frontendPort}`];
  const { stdout: answer } = await run("curl", ["-sS", "-m", "10", ...proxy, "http://127.0.0.1:1/"]);
  expect(answer).toContain("it showed no certificate");
  const peers = await waitUntil("both to be listed", async () => {
    const { refusedPeers = [] } = await overviewOfServer();
    return refusedPeers.length === 2 ? refusedPeers : undefined;
  });
  expect(peers).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        ...{ listener: "agents", address: "127.0.0.1", code: "DB_PEER_CERT_UNTRUSTED" },
        certificate: expect.objectContaining({
          subject: "CN=drawbridge-test-stranger",
          issuer: "CN=drawbridge-test-stranger-ca",
        }),
        reason: expect.stringContaining(
          'issued by "CN=drawbridge-test-stranger-ca", and this listener trusts "CN=drawbridge-test-cluster-ca"',
        ),
      }),
      expect.objectContaining({
        listener: "http-connect frontend",
        address: "127.0.0.1",
        code: "DB_PEER_NO_CERT",
        count: 1,
      }),
    ]),
  );
  const at = ["--admin", `http://127.0.0.1:${server.place.adminPort}`, "--token-file", tokenFile];
  const { stdout: top } = await run(ours("drawbridge"), ["top", "--once", ...at]);
  expect(top).toMatch(/PEERS REFUSED[\s\S]*agents[\s\S]*CN=drawbridge-test-stranger/);
  expect(top).toMatch(/PEERS REFUSED[\s\S]*http-connect frontend[\s\S]*it showed no certificate/);
  const log = server.process.log.text;
  expect(log).toMatch(/peer was rejected.*DB_PEER_CERT_UNTRUSTED.*CN=drawbridge-test-stranger/);
  expect(log).toMatch(/caller was rejected.*DB_PEER_NO_CERT/);
});

test("an agent whose certificate has expired says so in its findings, with the remedy", async () => {
  const { admin } = await agentWith(await ended(pki.agent.ca));
  expect(await findingOf(admin, "servers-connected")).toMatchObject({
    ...{ state: "failed", code: "DB_TLS_OWN_EXPIRED" },
    message: expect.stringMatching(
      /^the agent has no server: .*this agent's certificate \(subject "CN=ended".* expired/,
    ),
    remedy: expect.stringContaining("Renew the certificate in the file that the message names"),
  });
  const { process } = await admin.get<Overview>("");
  expect(process.unreadyReason).toMatch(/CN=ended.*expired/);
  expect(process.unreadyCauses).toEqual([
    expect.objectContaining({ code: "DB_TLS_OWN_EXPIRED", sentence: expect.stringMatching(/CN=ended.*expired/) }),
  ]);
});
