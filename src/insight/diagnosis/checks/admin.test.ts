import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { remedies } from "../../../base/errors/catalogue.js";
import { refusedPeer } from "../../watch/testing/samples.js";
import { context, fakeHost, findingsOf, messagesOf } from "../testing/context.js";
import { admin, agent, certificate, now, processInfo } from "../testing/overview.js";
import {
  adminApi,
  agentsConnected,
  certificatesInUse,
  draining,
  filesOnDisk,
  ownListeners,
  path,
  refusals,
  refusedPeers,
  serversConnected,
  strategies,
} from "./admin.js";

const hour = 3_600_000;

test("admin-api reports an admin port that does not answer, and the other admin checks are silent then", async () => {
  expect(await messagesOf(adminApi, context(admin()))).toEqual([
    "ok: the server server-1 answers on its admin port 127.0.0.1:8095",
  ]);
  const failed = context({ admin: "http://127.0.0.1:8095", tokenFile: "/t" });
  expect(await messagesOf(adminApi, failed)).toEqual([
    "failed: the admin token file /t cannot be read: it does not exist",
  ]);
  const own = context({}, { server: ["proxy-server", "--admin-token-file=/", "--admin-port=8095"] });
  expect(await findingsOf(adminApi, own)).toMatchObject([
    {
      message: expect.stringMatching(/ cannot be read: it is a directory$/),
      remedy: expect.stringMatching(/^Make it again/),
    },
  ]);
  expect(await messagesOf(adminApi, context())).toEqual([
    expect.stringMatching(
      /^skipped: the process was not asked through its admin port, so whom it refused is not known$/,
    ),
  ]);
  for (const check of [agentsConnected, path, refusals, certificatesInUse, ownListeners]) {
    expect(await messagesOf(check, failed)).toEqual([]);
  }
});

test("a token is sent only to a process that may read it itself, or to one that --admin names", async () => {
  const files = { "/t": "secret" };
  const server = ["proxy-server", "--admin-port=1"];
  const reader = { ...fakeHost({ server, files }), readAs: async () => undefined };
  const [unnamed] = await findingsOf(adminApi, context({ host: reader, tokenFile: "/t" }));
  expect(unnamed).toMatchObject({
    message: "process 7 was not sent the token: it may not read /t itself",
    remedy: expect.stringMatching(/name its admin port with --admin/),
  });
  const [named] = await findingsOf(adminApi, context({ host: reader, tokenFile: "/t", admin: "http://127.0.0.1:1" }));
  expect(named?.message).toMatch(/127\.0\.0\.1:1 cannot be reached/);
});

test("agents-connected fails without agents and warns when all of them drain or failed", async () => {
  const many = { process: { ...processInfo, serverCount: 3 } };
  expect(await messagesOf(agentsConnected, context(admin({ agents: [] })))).toEqual([
    "failed: no agent is connected, so no dial can be served",
  ]);
  const bad = [
    { ...agent, draining: true },
    { ...agent, key: 2, demotedUntil: now + hour },
  ];
  expect(await messagesOf(agentsConnected, context(admin({ agents: bad })))).toEqual([
    expect.stringMatching(/^warning: no connected agent is a good choice: each drains, or found no way/),
  ]);
  const draining = [{ ...agent, draining: true }];
  expect(await messagesOf(agentsConnected, context(admin({ agents: draining })))).toEqual([
    `warning: the only agent, ${agent.id}, drains, and no other is connected`,
  ]);
  // One agent may have several streams.
  expect(await messagesOf(agentsConnected, context(admin({ agents: [agent, { ...agent, key: 2 }], ...many })))).toEqual(
    ["ok: 1 agent is connected; agents should know 3 servers"],
  );
});

test("servers-connected compares an agent's servers with how many it should know", async () => {
  const servers = [{ key: 1, id: "a", address: "10.0.0.1:8091" }];
  const metrics = "# HELP x\nkonnectivity_network_proxy_agent_known_server_count 3\n";
  const asAgent = (found: typeof servers, text = metrics) =>
    context({ role: "agent", ...admin({ process: { ...processInfo, role: "agent" }, servers: found }, text) });
  expect(await messagesOf(serversConnected, asAgent([]))).toEqual(["failed: the agent has no server"]);
  const code = "DB_TLS_OWN_EXPIRED" as const;
  const unreadyCauses = [{ sentence: "unknown" }, { code, sentence: "its certificate expired", remedy: "Renew it." }];
  const alone = {
    process: { ...processInfo, role: "agent", unreadyReason: "why", unreadyCauses },
    servers: [],
  } as const;
  expect(await findingsOf(serversConnected, context({ role: "agent", ...admin(alone) }))).toMatchObject([
    { state: "failed", code, message: "the agent has no server: its certificate expired", remedy: "Renew it." },
  ]);
  // A code that only stands in the text is nobody's judgement.
  const older = { process: { ...processInfo, role: "agent", unreadyReason: `why (${code}).` }, servers: [] } as const;
  expect(await findingsOf(serversConnected, context({ role: "agent", ...admin(older) }))).toMatchObject([
    { state: "failed", message: "the agent has no server", evidence: [`why (${code}).`] },
  ]);
  expect(await messagesOf(serversConnected, asAgent(servers))).toEqual([
    "warning: the agent has 1 of the 3 servers it should know",
  ]);
  expect(await messagesOf(serversConnected, asAgent(servers, ""))).toEqual(["ok: the agent has 1 of 1 servers"]);
  // Its admin port has no metrics of its own: it says the number itself.
  const told = { process: { ...processInfo, role: "agent" as const, serverCount: 2 }, servers };
  expect(await messagesOf(serversConnected, context({ role: "agent", ...admin(told, "") }))).toEqual([
    "warning: the agent has 1 of the 2 servers it should know",
  ]);
});

test("path fails when no bytes get through, and warns when they do not through some agents", async () => {
  const failing = { state: "failing", error: "no echo within 5 s", failures: 3 } as const;
  expect(await messagesOf(path, context(admin({ path: failing })))).toEqual([
    "failed: bytes do not get through: no echo within 5 s (3 times in a row)",
  ]);
  const agents = [agent, { ...agent, key: 2, path: failing }];
  expect(await messagesOf(path, context(admin({ path: { state: "ok" }, agents })))).toEqual([
    "warning: 1 of 2 agents are connected but carry no bytes",
  ]);
  expect(await messagesOf(path, context(admin({ path: { state: "ok" } })))).toEqual([
    "ok: bytes get through the tunnel",
  ]);
  expect(await messagesOf(path, context(admin()))).toEqual([expect.stringMatching(/^skipped/)]);
});

test("certificates-in-use judges certificates that ended, have not begun, or end soon", async () => {
  const of = (notBeforeAt: number, notAfterAt: number) =>
    messagesOf(
      certificatesInUse,
      context(admin({ agents: [], certificates: [{ ...certificate, notBeforeAt, notAfterAt }] })),
    );
  const which = "the certificate for agents (/pki/server.crt)";
  expect(await of(now - 24 * hour, now - hour)).toEqual([
    expect.stringContaining(`failed: ${which} expired 1 h ago, on `),
  ]);
  expect(await of(now + hour, now + 24 * hour)).toEqual([
    expect.stringContaining(`failed: ${which} is not valid yet, only in 1 h, from `),
  ]);
  expect(await of(now - 24 * hour, now + 2 * hour)).toEqual([`warning: ${which} expires in 2 h`]);
  expect(await of(now - hour, now + 24 * hour)).toEqual([
    "ok: the 1 certificates in use last until 2026-11-17T00:00:00.000Z",
  ]);
});

test("certificates-in-use only warns of one that ended while links made with it are open", async () => {
  const ended = { ...certificate, notBeforeAt: now - 24 * hour, notAfterAt: now - hour };
  const of = (overview: Parameters<typeof admin>[0]) => findingsOf(certificatesInUse, context(admin(overview)));
  const goesOn = "open links work until they are next connected";
  const warned = { state: "warning", message: expect.stringContaining("the links that are open work until") };
  expect(await of({ agents: [agent], certificates: [ended] })).toMatchObject([
    { ...warned, short: `certificate for agents ended 1 h ago; ${goesOn}` },
  ]);
  const servers = [{ key: 1, id: "a", address: "10.0.0.1:8091" }];
  const own = { ...ended, use: "servers" };
  expect(await of({ agents: [], servers, certificates: [own] })).toMatchObject([
    { ...warned, short: `certificate for servers ended 1 h ago; ${goesOn}` },
  ]);
  expect(await of({ agents: [], servers: [], certificates: [own] })).toMatchObject([{ state: "failed" }]);
  // Callers come anew each time.
  const callers = { ...ended, use: "http-connect frontend" };
  expect(await of({ agents: [agent], certificates: [callers] })).toMatchObject([{ state: "failed" }]);
});

test("listeners fails when no process, or another process, listens on an address of the process", async () => {
  const onTcp = { listeners: [{ what: "agents", address: "0.0.0.0:8091" }] };
  const owner = (pid: number) => [{ port: 8091, owner: { pid, words: ["x"] } }];
  const server = ["proxy-server"];
  const of = (open: ReturnType<typeof owner>) =>
    messagesOf(ownListeners, context(admin(onTcp), { server, listeners: open }));
  expect(await of(owner(7))).toEqual(["ok: its 1 listeners are open"]);
  expect(await of([])).toEqual(["failed: agents: nothing listens on 0.0.0.0:8091"]);
  expect(await of(owner(8))).toEqual(["failed: agents: 0.0.0.0:8091 belongs to process 8"]);
  const socket = { listeners: [{ what: "grpc frontend", address: "/nowhere/s.sock" }] };
  expect(await messagesOf(ownListeners, context(admin(socket), { server }))).toEqual([
    expect.stringMatching(/^failed: grpc frontend: \/nowhere\/s\.sock leads nowhere/),
  ]);
  expect(await messagesOf(ownListeners, context(admin(onTcp)))).toEqual([
    expect.stringMatching(/^skipped: .*not on this host/),
  ]);
});

test("refusals of the last minutes are a warning, in text without terminal control characters", async () => {
  const refusal = { id: "AB", at: now - 60_000, target: "db\u001b[2J:5432", why: "no agent takes it" };
  const given = context(admin({ refusals: [refusal, { ...refusal, at: now - 24 * hour }] }));
  const [finding] = await findingsOf(refusals, given);
  expect(finding).toMatchObject({
    state: "warning",
    message: "1 dial was refused in the last 10 min",
    evidence: ["1 min ago, db\ufffd[2J:5432: no agent takes it (AB)"],
  });
  expect(await messagesOf(refusals, context(admin()))).toEqual(["ok: no dial was refused in the last 10 min"]);
});

test("a Unix socket that accepts connections counts as an open listener", async () => {
  const folder = mkdtempSync(join(tmpdir(), "db-doctor-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const socket = join(folder, "frontend.sock");
  const server = createServer().listen(socket);
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  const given = context(admin({ listeners: [{ what: "grpc frontend", address: socket }] }), {
    server: ["proxy-server"],
  });
  expect(await messagesOf(ownListeners, given)).toEqual(["ok: its 1 listeners are open"]);
});

test("refused-peers names who was refused with what, how often and why, and passes old refusals over", async () => {
  const minute = 60_000;
  const certificate = {
    subject: "CN=node-7",
    issuer: "CN=ca",
    serial: "0A",
    notBeforeAt: now - 9e7,
    notAfterAt: now - 37 * minute,
  };
  const peer = {
    ...{
      id: 1,
      listener: "agents",
      address: "10.0.3.7",
      code: "DB_AGENT_TOKEN" as const,
      reason: "its certificate expired",
    },
    ...{ remedy: "Renew it.", count: 3, firstAt: now - 8 * minute, at: now - minute, certificate },
  };
  const [finding] = await findingsOf(refusedPeers, context(admin({ refusedPeers: [peer] })));
  expect(finding).toMatchObject({
    ...{ state: "warning", code: "DB_AGENT_TOKEN", remedy: "Renew it." },
    message:
      "an agent from 10.0.3.7 was refused by the listener agents 3 times since 8 min ago, the last time 1 min ago: its certificate expired",
    evidence: [expect.stringMatching(/"CN=node-7" of "CN=ca", serial 0A, .* until 2026-11-15T23:23:00/)],
  });
  const stranger = { ...peer, code: "DB_PEER_WRONG_PORT" as const };
  expect(await messagesOf(refusedPeers, context(admin({ refusedPeers: [stranger] })))).toEqual([
    expect.stringMatching(/^warning: a peer from 10.0.3.7 was refused by the listener agents /),
  ]);
  expect(
    await messagesOf(refusedPeers, context(admin({ refusedPeers: [{ ...stranger, agentId: "node-7" }] }))),
  ).toEqual([expect.stringMatching(/^warning: an agent from 10.0.3.7 /)]);
  const silent = { ...peer, code: "DB_PEER_HUNG_UP" as const, reason: "it hung up right after TLS, as some do" };
  expect(await findingsOf(refusedPeers, context(admin({ refusedPeers: [silent] })))).toMatchObject([
    {
      message: expect.stringMatching(/^a peer from 10.0.3.7 gave up at the listener agents 3 times .*: it hung up/),
      short: "peer gave up: it hung up right after TLS",
    },
  ]);
  const dated = { ...peer, reason: "its certificate expired on 2026-11-15T23:23:00.000Z" };
  expect(await findingsOf(refusedPeers, context(admin({ refusedPeers: [dated] })))).toMatchObject([
    { message: expect.stringMatching(/expired on 2026-/), short: "agent refused: its certificate expired" },
  ]);
  const replaced = { ...silent, replacedAt: now - 1_000 };
  expect(await messagesOf(refusedPeers, context(admin({ refusedPeers: [replaced] })))).toEqual([
    expect.stringMatching(/^ok: .*; this listener's certificate was replaced since$/),
  ]);
  const corrected = { ...peer, acceptedAt: now - 1_000 };
  const [over] = await findingsOf(refusedPeers, context(admin({ refusedPeers: [corrected] })));
  expect(over).toMatchObject({
    ...{ state: "ok", remedy: "" },
    message: expect.stringMatching(
      /its certificate expired; a peer with this name in its certificate was accepted since$/,
    ),
  });
  expect(over).not.toHaveProperty("code");
  const old = { ...peer, at: now - 11 * minute };
  expect(await messagesOf(refusedPeers, context(admin({ refusedPeers: [old] })))).toEqual([
    "ok: nobody was refused at a listener in the last 10 min",
  ]);
  expect(await messagesOf(refusedPeers, context(admin()))).toEqual([expect.stringMatching(/^skipped/)]);
  // Whom the server refused, an agent does not know.
  const ofAgent = admin({ process: { ...processInfo, role: "agent" }, refusedPeers: [] });
  expect(await messagesOf(refusedPeers, context(ofAgent))).toEqual([]);
});

test.each<[number, number, string]>([
  [0, 0, "failed: 1 agents are connected, but none claims what a strategy looks for, so no dial can be served"],
  [
    1,
    0,
    "warning: only destinations that an agent claims can be reached, whatever /readyz says: no agent takes the others",
  ],
  [0, 1, "ok: agents by strategy: destHost 0, defaultRoute 1"],
])("strategies judges %i agents for hosts and %i for the rest", async (hosts, rest, expected) => {
  const strategyCounts = [
    { name: "destHost", agents: hosts },
    { name: "defaultRoute", agents: rest },
  ];
  const given = context(admin({ process: { ...processInfo, strategyCounts } }));
  expect(await messagesOf(strategies, given)).toEqual([expected]);
});

test("draining says since when an agent drains, and how it is ended or taken back", async () => {
  const drains = (parts: object) => admin({ process: { ...processInfo, role: "agent", ...parts } });
  expect(await findingsOf(draining, context(drains({ draining: false })))).toEqual([]);
  expect(await findingsOf(draining, context(drains({ draining: true, drainingSinceAt: now })))).toMatchObject([
    {
      ...{ state: "warning", short: `drains since ${new Date(now).toISOString()}` },
      remedy: expect.stringContaining("second signal ends it"),
    },
  ]);
});

test("files-on-disk names files that were not taken, and what that means for the process", async () => {
  const unused = {
    ...{ use: "agents", files: ["/pki/tls.crt", "/pki/tls.key"], code: "DB_CERT_KEY_MISMATCH" as const },
    ...{ reason: "/pki/tls.key cannot be used: it is another's", sinceAt: now - 3 * 60_000 },
  };
  const [finding] = await findingsOf(filesOnDisk, context(admin({ unusedFiles: [unused] })));
  expect(finding).toMatchObject({
    ...{ state: "warning", code: "DB_CERT_KEY_MISMATCH", subject: "agents", remedy: remedies.DB_CERT_KEY_MISMATCH },
    message:
      "the files on disk for agents, changed 3 min ago, were not taken: /pki/tls.key cannot be used: it is another's; those of before stay in use, and a restart would fail",
  });
  const agent = { ...processInfo, role: "agent" as const };
  expect(await messagesOf(filesOnDisk, context(admin({ process: agent, unusedFiles: [unused] })))).toEqual([
    expect.stringMatching(/; open connections go on, and new ones fail$/),
  ]);
  expect(await messagesOf(filesOnDisk, context(admin({ unusedFiles: [] })))).toEqual([
    "ok: the certificates and rules on disk are those in use",
  ]);
  // Older versions do not say.
  expect(await messagesOf(filesOnDisk, context(admin()))).toEqual([]);
});

test("the few words about a refused peer do not cut a name in quotes", async () => {
  const reason =
    'its certificate was signed by another key than that of the CA "CN=signer,O=drawbridge" (RSA), see there';
  const peer = refusedPeer({ reason, at: now - 1000, firstAt: now - 1000 });
  const [finding] = await findingsOf(refusedPeers, context(admin({ refusedPeers: [peer] })));
  expect(finding?.short).toBe(
    'peer refused: its certificate was signed by another key than that of the CA "CN=signer,O=drawbridge"',
  );
});
