/** doctor run by a user who may not read the files of the process that it looks at. */
import { execFile } from "node:child_process";
import { chmodSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Finding } from "../../src/base/finding.js";
import type { Overview } from "../../src/insight/observe/admin/contract.js";
import { AdminPort } from "../../src/insight/watch/admin-port.js";
import { makePki, type TestPki } from "../support/processes/certs.js";
import { START_WITHIN_MS } from "../support/processes/deadline.js";
import { ours } from "../support/processes/executables.js";
import { freePorts } from "../support/processes/ports.js";
import { startProcess } from "../support/processes/process.js";
import { Scope } from "../support/processes/scope.js";
import { choosePlace, type ServerProcess, startServer } from "../support/processes/server.js";

const NOBODY = 65_534;
const TOKEN = "0123456789abcdef0123456789abcdef";
/** Only root can start a program as somebody else, who has to be allowed to get there. */
const isRoot =
  process.getuid?.() === 0 &&
  isOpenToAll(ours("drawbridge")) &&
  (process.env.PATH ?? "").split(":").some((folder) => isOpenToAll(join(folder, "node")));

function isOpenToAll(path: string): boolean {
  const status = statSync(path, { throwIfNoEntry: false });
  const isOpen = status !== undefined && (status.mode & 0o001) !== 0;
  return isOpen && (dirname(path) === path || isOpenToAll(dirname(path)));
}

const scope = new Scope();
let pki: TestPki;
let server: ServerProcess;

beforeAll(async () => {
  if (!isRoot) return;
  const folder = scope.tempDir();
  pki = makePki(folder);
  const tokenFile = join(folder, "token");
  writeFileSync(tokenFile, TOKEN, { mode: 0o600 });
  chmodSync(folder, 0o700);
  const place = await choosePlace("connect-tcp", folder);
  server = await startServer({ origin: "ours", place, pki, flags: [`--admin-token-file=${tokenFile}`] });
  scope.use(server.process);
});
afterAll(() => scope.close());

async function asNobody(role: string, pid: number): Promise<Finding[]> {
  const args = ["doctor", "--role", role, "--pid", String(pid), "--output", "json"];
  const options = { uid: NOBODY, gid: NOBODY, cwd: "/", env: { PATH: process.env.PATH } };
  const stdout = await new Promise<string>((resolve) =>
    execFile(ours("drawbridge"), args, options, (_, text) => resolve(text)),
  );
  return (JSON.parse(stdout) as { findings: Finding[] }).findings;
}

const unread = {
  state: "skipped",
  message: expect.stringMatching(/^doctor runs as user 65534, who may not read \S+; process \d+ is user 0's$/),
  remedy: "Run doctor as root, or as the user of that process.",
};

test.runIf(isRoot)(
  "the certificate of a server cannot be read: it is said, and the server is not dialled",
  async () => {
    const findings = await asNobody("server", server.process.pid);
    expect(findings.find(({ check }) => check === "server-reachable")).toMatchObject(unread);
    const admin = new AdminPort({ url: new URL(`http://127.0.0.1:${server.place.adminPort}`), token: TOKEN });
    expect((await admin.get<Overview>("")).refusedPeers).toEqual([]);
  },
);

test.runIf(isRoot)("the key of a sidecar cannot be read: it is said, and its frontend is no failure", async () => {
  const [port = 0, health = 0] = await freePorts(2);
  const { ca, cert, key } = pki.caller;
  const frontend = `http-connect+tcp:127.0.0.1:${server.place.frontendPort},ca=${ca},cert=${cert},key=${key}`;
  const args = ["sidecar", `--frontend=${frontend}`, `--listen=http://127.0.0.1:${port}`, `--health-port=${health}`];
  const sidecar = scope.use(startProcess({ name: "sidecar", command: ours("drawbridge"), args }));
  await sidecar.untilReady("it was up", () => sidecar.log.waitFor(/sidecar is up/, START_WITHIN_MS));
  const findings = await asNobody("sidecar", sidecar.pid);
  expect(findings.filter(({ check }) => check === "frontend")).toMatchObject([unread]);
});
