import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type AdminOptions, startAgentAdmin, startServerAdmin } from "./admin.js";
import { isOurName } from "./admin-guard.js";
import { note, serverRefused } from "./channels.js";
import type { RunningHttp } from "./http.js";
import { gaugeRead } from "./metrics/families.js";
import { MetricsRegistry } from "./metrics/registry.js";
import { RefusalLog } from "./refusals.js";

const source = { name: "the server under test" };
const anywhere = { host: "127.0.0.1", port: 0 };
const TOKEN = "correct-horse-battery-staple";
let folder: string;
let tokenFile: string;
let http: RunningHttp | undefined;
let refusals: RefusalLog;

interface Answer {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly body: string;
}

/** node:http rather than fetch: the Host header is under test. */
function get(path: string, headers: Record<string, string> = {}, method = "GET"): Promise<Answer> {
  return new Promise((resolve, reject) => {
    request({ host: "127.0.0.1", port: http!.port, path, headers, method }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (chunk: string) => {
        body += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode!, headers: response.headers, body }));
    })
      .on("error", reject)
      .end();
  });
}

const authorized = (path: string, headers = {}) => get(path, { authorization: `Bearer ${TOKEN}`, ...headers });

function options(overrides: Partial<AdminOptions> = {}): AdminOptions {
  const agents = { list: () => [{ agentId: "a-1", dialId: 5n }] };
  return { source, tokenFile, profiling: false, resources: { refusals, agents }, ...overrides };
}

function registry(): MetricsRegistry {
  const made = new MetricsRegistry();
  gaugeRead(made, "depth", "How deep.", () => 7);
  return made;
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "drawbridge-admin-"));
  tokenFile = join(folder, "token");
  writeFileSync(tokenFile, `${TOKEN}\n`, { mode: 0o600 });
  refusals = new RefusalLog(source, () => new Date(0));
});
afterEach(async () => {
  await http?.close();
  http = undefined;
  refusals.close();
  rmSync(folder, { recursive: true });
});

describe("the admin API", () => {
  it("shows the last refusals and each one's explanation", async () => {
    http = await startServerAdmin(anywhere, registry(), options());
    for (let count = 0; count < 300; count++) {
      serverRefused.publish({ source, referenceId: `r-${count}`, address: "10.0.0.1:443", explanation: { count: 7n } });
    }
    const list = await authorized("/drawbridge/v1/refusals");
    expect(list.status).toBe(200);
    const listed = JSON.parse(list.body) as { referenceId: string }[];
    expect(listed).toHaveLength(256);
    expect(listed[0]).toEqual({ referenceId: "r-299", address: "10.0.0.1:443", time: "1970-01-01T00:00:00.000Z" });
    expect(listed.at(-1)?.referenceId).toBe("r-44");
    const one = await authorized("/drawbridge/v1/refusals/r-299");
    expect(JSON.parse(one.body)).toMatchObject({ referenceId: "r-299", explanation: { count: "7" } });
    expect((await authorized("/drawbridge/v1/refusals/r-43")).status).toBe(404);
  });

  it("keeps an endless explanation from filling the memory", () => {
    serverRefused.publish({ source, referenceId: "big", address: "a:1", explanation: { text: "x".repeat(1e6) } });
    expect(JSON.stringify(refusals.find("big")).length).toBeLessThan(140_000);
  });

  it("shows what the process describes, bigints included", async () => {
    http = await startServerAdmin(anywhere, registry(), options());
    const answer = await authorized("/drawbridge/v1/agents");
    expect(answer.body).toBe('[{"agentId":"a-1","dialId":"5"}]\n');
    expect(answer.headers).toMatchObject({ "content-type": "application/json", "cache-control": "no-store" });
  });

  it.each(["nothing", "constructor", "agents/x", "refusals/a/b", "", "refusals/__proto__"])(
    "has no resource %j",
    async (path) => {
      http = await startServerAdmin(anywhere, registry(), options());
      expect((await authorized(`/drawbridge/v1/${path}`)).status).toBe(404);
    },
  );

  it("only answers GET and HEAD", async () => {
    http = await startServerAdmin(anywhere, registry(), options());
    const headers = { authorization: `Bearer ${TOKEN}` };
    expect((await get("/drawbridge/v1/agents", headers, "DELETE")).status).toBe(405);
    expect(await get("/drawbridge/v1/agents", headers, "HEAD")).toMatchObject({ status: 200, body: "" });
  });

  it("asks for the token", async () => {
    http = await startServerAdmin(anywhere, registry(), options());
    for (const authorization of ["", "Bearer", "Bearer wrong", `Basic ${TOKEN}`, `Bearer ${TOKEN}x`, TOKEN]) {
      const answer = await get("/drawbridge/v1/agents", authorization === "" ? {} : { authorization });
      expect([authorization, answer.status]).toEqual([authorization, 401]);
      expect(answer.headers["www-authenticate"]).toContain("Bearer");
      expect(answer.body).not.toContain(TOKEN);
    }
  });

  it("takes a new token as soon as the file has it", async () => {
    http = await startServerAdmin(anywhere, registry(), options());
    writeFileSync(tokenFile, "another-token");
    expect((await authorized("/drawbridge/v1/agents")).status).toBe(401);
    expect((await get("/drawbridge/v1/agents", { authorization: "Bearer another-token" })).status).toBe(200);
  });

  it("is closed without a token file, and says which flag opens it", async () => {
    http = await startServerAdmin(anywhere, registry(), options({ tokenFile: "" }));
    const answer = await authorized("/drawbridge/v1/agents");
    expect(answer.status).toBe(403);
    expect(answer.body).toContain("--admin-token-file");
  });

  it.each(["missing", "empty"])("is closed when the token file is %s, and notes why once", async (trouble) => {
    http = await startServerAdmin(anywhere, registry(), options());
    if (trouble === "empty") writeFileSync(tokenFile, " \n");
    else rmSync(tokenFile);
    const notes: string[] = [];
    const end = note.subscribe(({ message }) => notes.push(message), source);
    for (let count = 0; count < 3; count++) {
      const answer = await get("/drawbridge/v1/agents", { authorization: "Bearer " });
      expect(answer.status).toBe(503);
      expect(answer.body).not.toContain(tokenFile);
    }
    end();
    expect(notes).toHaveLength(1);
    expect(notes[0]).toContain(tokenFile);
  });

  it("answers only under its own names", async () => {
    http = await startServerAdmin(anywhere, registry(), options());
    expect((await authorized("/drawbridge/v1/agents", { host: "evil.example:8095" })).status).toBe(403);
    expect((await authorized("/drawbridge/v1/agents", { host: `localhost:${http.port}` })).status).toBe(200);
  });

  it.each([
    ["localhost", true],
    ["LOCALHOST:8095", true],
    ["127.0.0.1:8095", true],
    ["127.9.9.9", true],
    ["[::1]:8095", true],
    ["127.evil.example", false],
    ["localhost.evil.example", false],
    ["10.0.0.5:8095", true],
    ["admin.example:8095", true],
    ["[fd00::5]:8095", true],
    ["10.0.0.6:8095", false],
    ["", false],
    [undefined, false],
    ["user@localhost", false],
  ])("Host %j is ours: %s", (host, ours) => {
    expect(isOurName(host, ["admin.example", "::ffff:10.0.0.5", "fd00::5", undefined])).toBe(ours);
  });
});

describe("the admin ports as upstream has them", () => {
  it("a server's shows the metrics, to everybody", async () => {
    http = await startServerAdmin(anywhere, registry(), options({ tokenFile: "" }));
    expect(await get("/metrics", { host: "prometheus.example" })).toMatchObject({
      status: 200,
      body: "# HELP depth How deep.\n# TYPE depth gauge\ndepth 7\n",
    });
  });

  it("an agent's sends scrapers to the health port", async () => {
    http = await startAgentAdmin(anywhere, 8093, options());
    const answer = await get("/metrics?x=1&y", { host: "10.0.0.1:8094" });
    expect(answer).toMatchObject({
      status: 301,
      body: '<a href="//10.0.0.1:8093/metrics?x=1&amp;y">Moved Permanently</a>.\n\n',
      headers: { location: "//10.0.0.1:8093/metrics?x=1&y", "content-type": "text/html; charset=utf-8" },
    });
    expect((await get("/metrics", { host: "[fd00::1]:8094" })).headers.location).toBe("//[fd00::1]:8093/metrics");
    expect((await get("/metrics", { host: "agent" })).headers.location).toBe("//agent:8093/metrics");
    expect(await get("/metrics", { host: "agent" }, "POST")).toMatchObject({ status: 301, body: "" });
  });

  it.each(["/debug/pprof", "/debug/pprof/", "/debug/pprof/profile", "/"])(
    "has no %s without profiling",
    async (path) => {
      http = await startServerAdmin(anywhere, registry(), options());
      expect(await get(path)).toMatchObject({ status: 404, body: "404 page not found\n" });
    },
  );
});

describe("profiling", () => {
  it("has upstream's paths", async () => {
    http = await startServerAdmin(anywhere, registry(), options({ profiling: true }));
    expect(await get("/debug/pprof?debug=1")).toMatchObject({ status: 301, headers: { location: "/debug/pprof/" } });
    expect((await get("/debug/pprof/")).body).toContain("profile?seconds=");
    expect(await get("/debug/pprof/goroutine")).toMatchObject({ status: 404, body: "Unknown profile\n" });
  });

  it("takes one CPU profile at a time", async () => {
    http = await startServerAdmin(anywhere, registry(), options({ profiling: true }));
    const first = get("/debug/pprof/profile?seconds=0.5");
    const statuses = new Set([(await get("/debug/pprof/profile?seconds=0.5")).status, (await first).status]);
    expect([...statuses].sort()).toEqual([200, 409]);
    const profile = JSON.parse((await get("/debug/pprof/profile?seconds=0.1")).body) as Record<string, unknown>;
    expect(Object.keys(profile)).toEqual(expect.arrayContaining(["nodes", "samples", "startTime"]));
    for (const seconds of ["0", "-1", "301", "x"]) {
      expect((await get(`/debug/pprof/profile?seconds=${seconds}`)).status).toBe(400);
    }
  });

  it("ends a profile with the client that asked for it", async () => {
    http = await startServerAdmin(anywhere, registry(), options({ profiling: true }));
    const asked = request({ host: "127.0.0.1", port: http.port, path: "/debug/pprof/profile?seconds=60" });
    asked.on("error", () => {}).end();
    await expect.poll(async () => (await get("/debug/pprof/profile?seconds=0.01")).status).toBe(409);
    asked.destroy();
    await expect.poll(async () => (await get("/debug/pprof/profile?seconds=0.01")).status).toBe(200);
  });

  it("gives the heap, which holds every key in memory, to holders of the token only", async () => {
    http = await startServerAdmin(anywhere, registry(), options({ profiling: true }));
    expect((await get("/debug/pprof/heap")).status).toBe(401);
    const answer = await authorized("/debug/pprof/heap");
    expect(answer.status).toBe(200);
    expect(answer.body.slice(0, 12)).toBe('{"snapshot":');
  });
});
