import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { RunningHttp } from "../../base/http.js";
import { MetricsRegistry } from "../../base/metrics/registry.js";
import { livePage } from "./admin/page-file.js";
import { type Asking, ask as askPort } from "./admin/testing/asker.js";
import { PlayedRole } from "./admin/testing/role.js";
import { type AdminOptions, startAdmin } from "./admin.js";

const anywhere = { host: "127.0.0.1", port: 0 };
const TOKEN = "correct-horse-battery-staple";
const authorization = `Bearer ${TOKEN}`;
let folder: string;
let tokenFile: string;
let role: PlayedRole;
let http: RunningHttp;

const get = (path: string, headers: Record<string, string> = {}, method = "GET") => ask(path, { headers, method });
const ask = (path: string, asking: Asking = {}) => askPort(http.port, path, asking);

const options = (overrides: Partial<AdminOptions> = {}): AdminOptions => ({
  ...role.parts,
  tokenFile,
  profiling: false,
  ...overrides,
});

function registry(): MetricsRegistry {
  const made = new MetricsRegistry();
  made.gauge("depth", "How deep.", () => 7);
  return made;
}

const start = async (overrides: Partial<AdminOptions> = {}): Promise<void> => {
  http = await startAdmin(anywhere, registry(), options(overrides));
};

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "drawbridge-admin-"));
  tokenFile = join(folder, "token");
  writeFileSync(tokenFile, `${TOKEN}\n`, { mode: 0o600 });
  role = new PlayedRole();
});
afterEach(async () => {
  await http.close();
  rmSync(folder, { recursive: true });
});

describe("an admin port without a token file, as upstream has it", () => {
  test("shows a server's metrics to everybody", async () => {
    await start({ tokenFile: "" });
    expect(await get("/metrics", { host: "prometheus.example" })).toMatchObject({
      status: 200,
      body: "# HELP depth How deep.\n# TYPE depth gauge\ndepth 7\n",
    });
  });

  test("sends an agent's scrapers to the health port", async () => {
    http = await startAdmin(anywhere, { healthPort: 8093 }, options({ tokenFile: "" }));
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

  test.each(["/debug/pprof", "/debug/pprof/", "/debug/pprof/profile", "/"])("has no %s", async (path) => {
    await start({ tokenFile: "" });
    expect(await get(path)).toMatchObject({ status: 404, body: "404 page not found\n" });
  });

  test("tells a browser, and nobody else, how to open the page", async () => {
    await start({ tokenFile: "" });
    const accept = "text/html,application/xhtml+xml,*/*;q=0.8";
    const answer = await get("/", { accept });
    expect(answer).toMatchObject({ status: 404, headers: { "content-type": "text/html; charset=utf-8" } });
    expect(answer.body).toContain("--admin-token-file=admin-token");
    expect(answer.headers["content-security-policy"]).toMatch(/style-src 'sha256-/);
    for (const other of ["*/*", "application/json"])
      expect(await get("/", { accept: other })).toMatchObject({ status: 404, body: "404 page not found\n" });
    expect(await get("/other", { accept })).toMatchObject({ status: 404, body: "404 page not found\n" });
  });

  test("names the flag that opens the API", async () => {
    await start({ tokenFile: "" });
    const answer = await get("/drawbridge/v1/agents", { authorization });
    expect(answer.status).toBe(403);
    expect(answer.json()).toMatchObject({ error: { code: "DB_ADMIN_CLOSED" } });
    expect(answer.body).toContain("--admin-token-file");
  });
});

describe("profiling", () => {
  test("has upstream's paths", async () => {
    await start({ profiling: true });
    expect(await get("/debug/pprof?debug=1")).toMatchObject({ status: 301, headers: { location: "/debug/pprof/" } });
    expect((await get("/debug/pprof/")).body).toContain("profile?seconds=");
    expect(await get("/debug/pprof/goroutine")).toMatchObject({ status: 404, body: "Unknown profile\n" });
  });

  test("takes one CPU profile at a time", async () => {
    await start({ profiling: true });
    // The one that is taken lasts until the other is refused, however long that takes.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const asked = [1, 2].map(() => get("/debug/pprof/profile?seconds=0.5"));
      expect((await Promise.race(asked)).status).toBe(409);
      await expect.poll(() => vi.getTimerCount(), { timeout: 10_000 }).toBe(1);
      vi.advanceTimersByTime(500);
      expect((await Promise.all(asked)).map(({ status }) => status).sort()).toEqual([200, 409]);
    } finally {
      vi.useRealTimers();
    }
    const profile = JSON.parse((await get("/debug/pprof/profile?seconds=0.1")).body) as Record<string, unknown>;
    expect(Object.keys(profile)).toEqual(expect.arrayContaining(["nodes", "samples", "startTime"]));
    for (const seconds of ["0", "-1", "301", "x"]) {
      expect((await get(`/debug/pprof/profile?seconds=${seconds}`)).status).toBe(400);
    }
  });

  test("ends a profile with the client that asked for it", async () => {
    await start({ profiling: true });
    const asked = request({ host: "127.0.0.1", port: http.port, path: "/debug/pprof/profile?seconds=60" });
    asked.on("error", () => {}).end();
    // Nobody else may ask before it has asked.
    await once(asked, "finish");
    const next = async () => (await get("/debug/pprof/profile?seconds=0.01")).status;
    expect(await next()).toBe(409);
    asked.destroy();
    await expect.poll(next, { timeout: 15_000 }).toBe(200);
  });

  test("gives the heap, which holds every key in memory, to holders of the token only", async () => {
    await start({ profiling: true });
    expect((await get("/debug/pprof/heap")).status).toBe(401);
    const answer = await get("/debug/pprof/heap", { authorization });
    expect(answer.status).toBe(200);
    expect(answer.body.slice(0, 12)).toBe('{"snapshot":');
  }, 60_000);
});

describe("the live page", () => {
  const html = Buffer.from("<html><style>b{}</style><script type=module>go('<')</script></html>");

  test("is served under a policy that knows its scripts and styles by their hashes", async () => {
    await start({ page: () => livePage(html) });
    const { status, headers, body } = await get("/");
    expect([status, body]).toEqual([200, html.toString()]);
    expect(headers["content-security-policy"]).toBe(
      "default-src 'none'; script-src 'sha256-YIVRjrn8qVzsNmsRFcZEUbgkonGIJ9FbsceUsoAsZss='; " +
        "style-src 'sha256-7yqHVAesot11p6HczDsgKRipvI5UPgs97z80zNXlans='; connect-src 'self'; img-src data:; " +
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    expect(headers).toMatchObject({ "x-frame-options": "DENY", "x-content-type-options": "nosniff" });
  });

  test("is not served under a foreign Host header", async () => {
    await start({ page: () => livePage(html) });
    expect((await get("/", { host: "evil.example" })).status).toBe(403);
  });

  test("is replaced by a text where it was not built", async () => {
    await start({ page: () => undefined });
    const { body, headers } = await get("/");
    expect(headers["content-type"]).toContain("text/plain");
    expect(body).toContain("not part of this build");
  });
});
