/** Files that were replaced on disk by something that cannot be used: said for as long as it lasts. */
import { appendFileSync, copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { afterEach, expect, test } from "vitest";
import { ObservedAgent } from "../../src/insight/observe/roles/agent.js";
import { ObservedServer } from "../../src/insight/observe/roles/server.js";
import { type Fixture, openFixture } from "./fixture/fixture.js";

let fixture: Fixture;
afterEach(() => fixture.close());

test("a server names the key that belongs to another certificate, until the right one is back", async () => {
  fixture = await openFixture({ agents: 0 });
  const { server } = fixture;
  const role = new ObservedServer(server);
  expect(role.unusedFiles()).toEqual([]);
  const { keyFile } = server.config.agents.tls;
  const right = readFileSync(keyFile);
  copyFileSync((await fixture.pki.issueClient("other", 60_000)).keyFile, keyFile);
  server.checkFiles();
  expect(role.unusedFiles()).toContainEqual(
    expect.objectContaining({ use: "agents", code: "DB_CERT_KEY_MISMATCH", reason: expect.stringContaining(keyFile) }),
  );
  expect(server.readyBut).toBe("changed files on disk cannot be used (DB_CERT_KEY_MISMATCH), the log says which");
  writeFileSync(keyFile, right);
  // Whoever repaired them and asks gets what is so now, not what the last check found.
  expect(role.unusedFiles()).toEqual([]);
  expect(server.readyBut).toBeUndefined();
});

test("an agent names a certificate of its own that cannot be parsed, until the right one is back", async () => {
  fixture = await openFixture({ agents: 0 });
  const files = await fixture.pki.issueClient("mine", 60_000);
  const agent = await fixture.addAgent({ tls: { caFile: fixture.pki.caFile, ...files, alpn: [] } });
  const right = readFileSync(files.certFile);
  expect(new ObservedAgent(agent).unusedFiles()).toEqual([]);
  appendFileSync(files.certFile, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
  const role = new ObservedAgent(agent);
  expect(role.unusedFiles()).toEqual([
    expect.objectContaining({
      ...{ use: "servers", code: "DB_CERT_FILE", sinceAt: expect.any(Number) },
      reason: expect.stringMatching(/mine.* cannot be used: a CERTIFICATE block in it cannot be parsed/),
    }),
  ]);
  writeFileSync(files.certFile, right);
  expect(role.unusedFiles()).toEqual([]);
});
