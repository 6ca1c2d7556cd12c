/** Who is let in, and for how long: tokens and claim rules at a real server. */

import { mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { systemRuntime } from "../../src/base/runtime.js";
import {
  claimRulesRefused,
  claimRulesReloaded,
  peerRefused,
  serverAgentDisconnected,
} from "../../src/tunnel/events/channels.js";
import { ClaimRulesFile } from "../../src/tunnel/server/agents/claims.js";
import { createTokenAuthenticator } from "../../src/tunnel/server/agents/token-auth.js";
import { waitUntil } from "../support/processes/deadline.js";
import { type Fixture, openFixture } from "./fixture/fixture.js";
import { rawAgent } from "./fixture/grpc.js";

let fixture: Fixture;
afterEach(() => fixture.close());

const TOKENS = { namespace: "kube-system", serviceAccount: "konnectivity-agent", audience: "us" };

test("a token whose stream is reset is reviewed no longer, and a stranger is told nothing of the API server", async () => {
  const signals: AbortSignal[] = [];
  const tokens = createTokenAuthenticator(
    TOKENS,
    (token, _audiences, signal) => {
      signals.push(signal);
      if (token === "slow") return new Promise(() => {});
      return Promise.reject(new Error("https://10.1.2.3:6443 did not answer"));
    },
    { runtime: systemRuntime, qps: 0, burst: 0 },
  );
  fixture = await openFixture({ agents: 0, parts: { tokens } });
  const rejected: string[] = [];
  const unsubscribe = peerRefused.subscribe(({ reason }) => rejected.push(reason), fixture.server);
  try {
    const slow = rawAgent(fixture, { agentid: "a", authorization: "Bearer slow" });
    await waitUntil("the review to begin", () => signals.length === 1);
    slow.stream.close();
    await waitUntil("the review to be abandoned", () => signals[0]!.aborted);
    slow.close();

    const other = rawAgent(fixture, { agentid: "b", authorization: "Bearer other" });
    const headers = await other.headers;
    other.close();
    const said = "Failed to validate authentication token, err:Failed to authenticate request";
    expect([headers["grpc-status"], decodeURIComponent(String(headers["grpc-message"]))]).toEqual(["2", said]);
    expect(rejected.at(-1)).toBe(`${said}: https://10.1.2.3:6443 did not answer`);
  } finally {
    unsubscribe();
  }
});

test("new claim rules are in force without a restart: agents that they refuse are sent away, bad rules change nothing", async () => {
  const dir = mkdtempSync(join(tmpdir(), "drawbridge-rules-"));
  const file = join(dir, "rules.json");
  const write = (text: string): void => {
    writeFileSync(file, text);
    utimesSync(file, 1, 1);
  };
  const allowing = (...claims: string[]) => JSON.stringify({ rules: [{ match: { issuer: "*" }, mayClaim: claims }] });
  const said: unknown[] = [];
  write(allowing("host=a", "host=b"));
  fixture = await openFixture({
    agents: 0,
    parts: { claims: (events) => new ClaimRulesFile(file, { ...events, every: () => () => {} }) },
  });
  const endings = [
    claimRulesReloaded.subscribe(({ dismissed }) => said.push({ dismissed }), fixture.server),
    claimRulesRefused.subscribe(({ error }) => said.push(error), fixture.server),
    serverAgentDisconnected.subscribe(({ agentId, reason }) => said.push({ agentId, reason }), fixture.server),
  ];
  try {
    const { registry } = fixture.server.board;
    const peers = ["a", "b"].map((name) => rawAgent(fixture, { agentid: name, agentidentifiers: `host=${name}` }));
    await waitUntil("both to be in", () => registry.size === 2);

    write("rules: [");
    fixture.server.checkFiles();
    expect([registry.size, said.splice(0)]).toEqual([2, [expect.stringContaining("cannot be read")]]);

    write(allowing("host=a"));
    fixture.server.checkFiles();
    const reason = "the claim rules have changed: this agent may not claim host=b";
    expect(said).toEqual([{ agentId: "b", reason }, { dismissed: 1 }]);
    expect([...registry.links()].map(({ identity }) => identity.agentId)).toEqual(["a"]);

    const again = rawAgent(fixture, { agentid: "b", agentidentifiers: "host=b" });
    const { "grpc-message": message } = await again.headers;
    expect(decodeURIComponent(String(message))).toBe("this agent may not claim host=b");
    for (const peer of [...peers, again]) peer.close();
  } finally {
    for (const end of endings) end();
    rmSync(dir, { recursive: true });
  }
});
