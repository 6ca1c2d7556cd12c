/** Who is let in, asked over real HTTP on loopback. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, type MockInstance, test, vi } from "vitest";
import { type RunningHttp, startHttp } from "../../../base/http.js";
import { MetricsRegistry } from "../../../base/metrics/registry.js";
import { noteChannel } from "../../../tunnel/events/channels.js";
import { startAdmin } from "../admin.js";
import { AdminApi } from "./api.js";
import type { ApiError } from "./contract.js";
import { Guard } from "./guard.js";
import { AdminModel } from "./model.js";
import { isLoopback, isOurName } from "./own-name.js";
import { Readers } from "./readers.js";
import { type Answer, type Asking, ask as askPort } from "./testing/asker.js";
import { PlayedRole } from "./testing/role.js";

const TOKEN = "correct-horse-battery-staple";
const authorization = `Bearer ${TOKEN}`;
const API = "/drawbridge/v1/";
let folder: string;
let tokenFile: string;
let role: PlayedRole;
let http: RunningHttp;

const ask = (path: string, asking: Asking = {}) => askPort(http.port, API + path, asking);
const get = (path: string, headers: Record<string, string>) => ask(path, { headers });
const codeOf = (answer: Answer): string => answer.json<ApiError>().error.code;
const origin = () => `http://127.0.0.1:${http.port}`;

function logIn(token = TOKEN, headers: Record<string, string> = {}): Promise<Answer> {
  const body = JSON.stringify({ token });
  return ask("login", { method: "POST", body, headers: { "content-type": "application/json", ...headers } });
}

/** Only the name and the value, as a browser sends it back. */
async function cookie(): Promise<string> {
  const answer = await logIn();
  expect(answer.status).toBe(204);
  return answer.headers["set-cookie"]![0]!.split(";")[0]!;
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "drawbridge-guard-"));
  tokenFile = join(folder, "token");
  writeFileSync(tokenFile, `${TOKEN}\n`, { mode: 0o600 });
  role = new PlayedRole();
  role.open(7);
  const options = { ...role.parts, tokenFile, profiling: false };
  http = await startAdmin({ host: "127.0.0.1", port: 0 }, new MetricsRegistry(), options);
});
afterEach(async () => {
  await http.close();
  rmSync(folder, { recursive: true });
});

describe("the token", () => {
  test("is required on every route, and never echoed", async () => {
    const routes = ["", "process", "agents", "tunnels", "tunnels/7", "events", "dump", "session", "nothing", "a/b/c/d"];
    for (const path of routes) {
      for (const wrong of ["", "Bearer", "Bearer wrong", `Basic ${TOKEN}`, `Bearer ${TOKEN}x`, TOKEN]) {
        const answer = await get(path, wrong === "" ? {} : { authorization: wrong });
        expect([path, wrong, answer.status, codeOf(answer)]).toEqual([path, wrong, 401, "unauthenticated"]);
        expect(answer.headers["www-authenticate"]).toContain("Bearer");
        expect(answer.body).not.toContain(TOKEN);
      }
    }
    for (const path of ["tunnels/7/close", "agents/1/drain", "drain", "logout", "a/b/c/d"]) {
      expect([path, (await ask(path, { method: "POST" })).status]).toEqual([path, 401]);
    }
    expect(role.closed).toEqual([]);
  });

  test("is not accepted in the URL", async () => {
    expect((await ask(`agents?token=${TOKEN}&access_token=${TOKEN}`)).status).toBe(401);
  });

  test("opens the API, and a new token does as soon as the file has it", async () => {
    expect((await get("agents", { authorization })).status).toBe(200);
    writeFileSync(tokenFile, "another-token");
    expect((await get("agents", { authorization })).status).toBe(401);
    expect((await get("agents", { authorization: "Bearer another-token" })).status).toBe(200);
  });

  test.each(["missing", "empty"])("closes the API when its file is %s, and the log says why once", async (trouble) => {
    if (trouble === "empty") writeFileSync(tokenFile, " \n");
    else rmSync(tokenFile);
    const notes: string[] = [];
    const end = noteChannel.subscribe(({ message }) => notes.push(message), role.source);
    for (let count = 0; count < 3; count++) {
      const answer = await get("agents", { authorization: "Bearer " });
      expect([answer.status, codeOf(answer)]).toEqual([503, "DB_ADMIN_TOKEN_FILE"]);
      expect(answer.body).not.toContain(tokenFile);
    }
    end();
    expect(notes).toHaveLength(1);
    expect(notes[0]).toContain(tokenFile);
  });
});

describe("the stream of events", () => {
  const shut: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of shut.splice(0).reverse()) await close();
  });

  /** As the port has it, but it looks again at once and not every ten seconds. */
  async function follow(headers: Record<string, string>): Promise<{ readonly isOver: boolean }> {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      request({ host: "127.0.0.1", port: quick.port, path: `${API}events`, headers }, resolve)
        .once("error", reject)
        .end();
    });
    expect(answer.statusCode).toBe(200);
    const stream = { isOver: false };
    answer
      .on("error", () => {})
      .once("close", () => {
        stream.isOver = true;
      })
      .resume();
    shut.push(() => answer.destroy());
    return stream;
  }

  let quick: RunningHttp;
  let looks: MockInstance<Guard["admit"]>;
  beforeEach(async () => {
    const model = new AdminModel(role.parts);
    const guard = new Guard({ source: role.source, tokenFile, host: "127.0.0.1", instance: model.instance });
    looks = vi.spyOn(guard, "admit");
    const readers = new Readers(model);
    const { route } = new AdminApi(model, guard, readers, 20);
    quick = await startHttp("admin", { host: "127.0.0.1", port: 0 }, { exact: new Map(), prefixes: [[API, route]] });
    shut.push(() => quick.close(), readers.close.bind(readers));
  });

  test("ends when the token that opened it is replaced", async () => {
    const stream = await follow({ authorization });
    await expect.poll(() => looks.mock.calls.length, { timeout: 10_000 }).toBeGreaterThan(3);
    expect(stream.isOver).toBe(false);
    writeFileSync(tokenFile, "another-token");
    await expect.poll(() => stream.isOver, { timeout: 10_000 }).toBe(true);
  });

  test("ends with the session that opened it", async () => {
    const body = JSON.stringify({ token: TOKEN });
    const type = { "content-type": "application/json" };
    const session = (await askPort(quick.port, `${API}login`, { method: "POST", body, headers: type })).headers;
    const cookie = session["set-cookie"]![0]!.split(";")[0]!;
    const stream = await follow({ cookie });
    const headers = { cookie, "sec-fetch-site": "same-origin" };
    expect((await askPort(quick.port, `${API}logout`, { method: "POST", headers })).status).toBe(204);
    await expect.poll(() => stream.isOver, { timeout: 10_000 }).toBe(true);
  });
});

describe("a page's session", () => {
  test("is a cookie that scripts cannot read and other sites cannot send", async () => {
    const [cookieLine = ""] = (await logIn()).headers["set-cookie"]!;
    expect(cookieLine).toMatch(/^drawbridge-[0-9a-f]{12}=[\w-]{43}; /);
    expect(cookieLine).toMatch(/; Path=\/drawbridge\/; Max-Age=43200; HttpOnly; SameSite=Strict$/);
    expect(cookieLine).not.toContain(TOKEN);
  });

  test("opens what the token opens, until logout", async () => {
    const session = { cookie: `other=1; ${await cookie()}` };
    expect((await get("agents", session)).status).toBe(200);
    const answer = (await get("session", session)).json<{ expiresAt: number }>();
    expect(Math.abs(answer.expiresAt - Date.now() - 12 * 3_600_000)).toBeLessThan(60_000);
    const out = await ask("logout", { method: "POST", headers: { ...session, origin: origin() } });
    expect(out.headers["set-cookie"]![0]).toContain("Max-Age=0");
    expect((await get("agents", session)).status).toBe(401);
  });

  test("ends with the token that opened it", async () => {
    const session = { cookie: await cookie() };
    writeFileSync(tokenFile, "another-token");
    expect((await get("agents", session)).status).toBe(401);
    writeFileSync(tokenFile, TOKEN);
    expect((await get("agents", session)).status).toBe(401);
  });

  test("ends when there are too many newer ones", async () => {
    const first = await cookie();
    for (let count = 0; count < 63; count++) await cookie();
    expect((await get("process", { cookie: first })).status).toBe(200);
    const last = await cookie();
    expect((await get("process", { cookie: first })).status).toBe(401);
    expect((await get("process", { cookie: last })).status).toBe(200);
  });

  test("cannot be opened by guessing the token", async () => {
    const name = (await cookie()).split("=")[0];
    expect((await get("process", { cookie: `${name}=${"A".repeat(43)}` })).status).toBe(401);
    const answers: number[] = [];
    // One a second may be tried after that, so how many it takes depends on how long they take.
    while (!answers.includes(429) && answers.length < 1_000) answers.push((await logIn("wrong")).status);
    expect(answers.slice(0, 10)).toEqual(Array(10).fill(401));
    expect(answers.at(-1)).toBe(429);
    // Who knows the token is not kept out by those who do not.
    expect((await logIn()).status).toBe(204);
  });

  test.each([
    ["no type", "", '{"token":"x"}'],
    ["a form", "application/x-www-form-urlencoded", `token=${TOKEN}`],
    ["text", "text/plain", JSON.stringify({ token: TOKEN })],
    ["no JSON", "application/json", "{"],
    ["no token", "application/json", "{}"],
    ["no object", "application/json", "null"],
    ["a number", "application/json", '{"token":5}'],
    ["far too much", "application/json", JSON.stringify({ token: "x".repeat(100_000) })],
  ])("is not opened with %s", async (_what, type, body) => {
    const headers: Record<string, string> = type === "" ? {} : { "content-type": type };
    const answer = await ask("login", { method: "POST", body, headers });
    expect([answer.status, codeOf(answer)]).toEqual([400, "malformed"]);
  });
});

describe("another site", () => {
  const foreign = [
    { origin: "https://evil.example" },
    { origin: "null" },
    { origin: "http://127.0.0.1:1" },
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
  ];

  test.each(foreign)("may ask nothing, whatever its browser knows: %j", async (headers) => {
    const session = await cookie();
    for (const proof of [{ cookie: session }, { authorization }]) {
      const answer = await get("agents", { ...headers, ...proof } as Record<string, string>);
      expect([answer.status, codeOf(answer)]).toEqual([403, "cross-site"]);
      expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
      const close = await ask("tunnels/7/close", { method: "POST", headers: { ...headers, ...proof } as never });
      expect(close.status).toBe(403);
    }
    expect((await logIn(TOKEN, headers as never)).status).toBe(403);
    expect(role.closed).toEqual([]);
  });

  test("gets no CORS preflight approved", async () => {
    const headers = { origin: "https://evil.example", "access-control-request-method": "POST" };
    const answer = await ask("tunnels/7/close", { method: "OPTIONS", headers });
    expect(answer.status).toBe(403);
    expect(answer.headers["access-control-allow-methods"]).toBeUndefined();
  });

  test("cannot change anything with a session's cookie", async () => {
    const session = await cookie();
    const close = (headers: Record<string, string>) =>
      ask("tunnels/7/close", { method: "POST", headers: { cookie: session, ...headers } });
    expect((await close({})).status).toBe(403);
    expect((await close({ "sec-fetch-site": "none" })).status).toBe(403);
    expect(role.closed).toEqual([]);
    expect((await close({ origin: origin() })).status).toBe(200);
    role.open(7);
    expect((await close({ "sec-fetch-site": "same-origin" })).status).toBe(200);
    expect(role.closed).toEqual([7, 7]);
  });

  test("is not mistaken for a person's own browser or script", async () => {
    const session = await cookie();
    expect((await get("agents", { cookie: session, "sec-fetch-site": "none" })).status).toBe(200);
    expect((await get("agents", { cookie: session, "sec-fetch-site": "same-origin" })).status).toBe(200);
    expect((await ask("tunnels/7/close", { method: "POST", headers: { authorization } })).status).toBe(200);
  });
});

describe("the Host header", () => {
  test("must name this port", async () => {
    const answer = await get("agents", { authorization, host: "evil.example:8095" });
    expect([answer.status, codeOf(answer)]).toEqual([403, "wrong-host"]);
    expect((await get("agents", { authorization, host: `localhost:${http.port}` })).status).toBe(200);
    expect((await logIn(TOKEN, { host: "evil.example" })).status).toBe(403);
    for (const path of ["a/b/c", "a/b/c/d"]) expect((await get(path, { host: "evil.example" })).status).toBe(403);
  });

  test.each([
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
  ])("%j is ours: %s", (host, ours) => {
    expect(isOurName(host, ["admin.example", "::ffff:10.0.0.5", "fd00::5", undefined])).toBe(ours);
  });
});

test.each([
  ["127.0.0.1", true],
  ["::1", true],
  ["::ffff:127.0.0.1", true],
  ["10.0.0.5", false],
  ["127.evil.example", false],
  [undefined, false],
])("%j is loopback: %s", (address, loopback) => {
  expect(isLoopback(address)).toBe(loopback);
});
