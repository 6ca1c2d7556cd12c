import { createHash } from "node:crypto";
import {
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { hastyClock } from "../../../base/testing/hasty-clock.js";
import type { FetchAttempt } from "./fetcher.js";
import { simulateBoot } from "./simulate.js";
import { IgnitionSource } from "./testing/source.js";

let source: IgnitionSource;
let folder: string;
let attempts: FetchAttempt[];

beforeAll(async () => {
  source = await IgnitionSource.start();
});
afterAll(() => source.close());
beforeEach(() => {
  source.asked.length = 0;
  folder = mkdtempSync(join(tmpdir(), "db-simulate-"));
  attempts = [];
});
afterEach(() => rmSync(folder, { recursive: true }));

const TOKEN = "Bearer c2VjcmV0LXRva2Vu";
const config = (content: object, ignition: object = {}) =>
  JSON.stringify({ ...content, ignition: { version: "3.4.0", ...ignition } });

const pointer = (resource: object = {}, ignition: object = {}) =>
  config(
    {},
    {
      config: {
        merge: [
          { source: source.url("/ignition"), httpHeaders: [{ name: "Authorization", value: TOKEN }], ...resource },
        ],
      },
      security: source.trust,
      ...ignition,
    },
  );

const payload = config({
  storage: {
    files: [
      { path: "/etc/a/secret.key", mode: 0o400, contents: { source: "data:,s3cr3t" } },
      { path: "/etc/b", contents: { source: "data:,x" }, append: [{ source: "data:,yz" }] },
      { path: "/empty" },
    ],
    directories: [{ path: "/opt/closed", mode: 0o500 }],
    links: [
      { path: "/etc/soft", target: "/etc/b" },
      { path: "/hard", target: "/etc/b", hard: true },
    ],
  },
  systemd: {
    units: [
      { name: "b.service", enabled: true, contents: "[Install]\nWantedBy=multi-user.target\n" },
      { name: "echo@two.service", enabled: true },
      { name: "echo@one.service", enabled: true },
      { name: "off.service", enabled: false, contents: "[Unit]\n" },
      { name: "masked.service", mask: true },
      { name: "c.service", dropins: [{ name: "10-x.conf", contents: "[Service]\n" }] },
    ],
  },
  passwd: { users: [{ name: "core" }] },
});

function boot(userData: string, more: { timeoutMs?: number; clock?: ReturnType<typeof hastyClock> } = {}) {
  const onAttempt = (attempt: FetchAttempt) => attempts.push(attempt);
  const root = join(folder, "root");
  return simulateBoot({ userData, root, timeoutMs: 60_000, onAttempt, clock: hastyClock(), ...more });
}

const at = (path: string) => join(folder, "root", path);
const served = (text: string | Buffer) => {
  source.answer = (_, response) => response.writeHead(200).end(text);
};

describe("a simulated first boot", () => {
  test("fetches with the user data's headers and authority, and writes what it got below the root", async () => {
    served(payload);
    const { files, skipped, links, units } = await boot(pointer());
    expect(source.asked.map(({ headers, path }) => [path, headers.authorization])).toEqual([["/ignition", TOKEN]]);
    expect(source.asked[0]?.headers.accept).toContain("application/vnd.coreos.ignition+json;version=3.");
    expect(readFileSync(at("/etc/b"), "utf8")).toBe("xyz");
    expect(statSync(at("/etc/a/secret.key")).mode & 0o777).toBe(0o400);
    expect([statSync(at("/empty")).size, statSync(at("/empty")).mode & 0o777]).toEqual([0, 0o644]);
    expect(statSync(at("/opt/closed")).mode & 0o777).toBe(0o500);
    expect(readlinkSync(at("/etc/soft"))).toBe("/etc/b");
    expect(statSync(at("/hard")).ino).toBe(statSync(at("/etc/b")).ino);
    expect(readFileSync(at("/etc/systemd/system-preset/20-ignition.preset"), "utf8")).toBe(
      "enable b.service\nenable echo@.service two one\n",
    );
    expect(readlinkSync(at("/etc/systemd/system/masked.service"))).toBe("/dev/null");
    expect(readdirSync(at("/etc/systemd/system")).sort()).toEqual([
      ...["b.service", "c.service.d", "masked.service", "off.service"],
    ]);
    expect([links, units]).toEqual([2, 6]);
    expect(skipped).toEqual([{ what: "users", names: ["core"] }]);
    expect(files.find(({ path }) => path.endsWith(".key"))).toEqual({
      ...{ path: "/etc/a/secret.key", mode: "0400", bytes: 6 },
      sha256: createHash("sha256").update("s3cr3t").digest("hex"),
    });
    expect(JSON.stringify([files, attempts])).not.toMatch(/s3cr3t|c2VjcmV0/);
    expect(statSync(join(folder, "root")).mode & 0o777).toBe(0o700);
  });

  test.each([511, 500, 503])(
    "asks again after %i, 0.2 s later and then twice as long each time up to 5 s",
    async (status) => {
      const clock = hastyClock();
      source.answer = (_, response) => {
        if (source.asked.length < 8) response.writeHead(status).end("no");
        else response.writeHead(200).end(payload);
      };
      await boot(pointer(), { clock });
      expect(clock.waited).toEqual([200, 400, 800, 1600, 3200, 5000, 5000]);
      expect(attempts.map(({ againInMs, status: got }) => [got, againInMs])).toEqual([
        ...[200, 400, 800, 1600, 3200, 5000, 5000].map((ms) => [status, ms]),
        [200, undefined],
      ]);
    },
  );

  test.each([400, 401, 403, 404, 418])("gives up on %i at once, as a machine does", async (status) => {
    source.answer = (_, response) => response.writeHead(status).end();
    const message = expect.stringContaining(`answered ${status}`);
    await expect(boot(pointer())).rejects.toMatchObject({ code: "DB_SIMULATE_FETCH", message });
    expect(source.asked).toHaveLength(1);
  });

  test("stops after its timeout, or the config's own, where a machine would not", async () => {
    source.answer = (_, response) => response.writeHead(511).end();
    const message = expect.stringContaining("asked 3 times");
    await expect(boot(pointer(), { timeoutMs: 1000 })).rejects.toMatchObject({ code: "DB_SIMULATE_FETCH", message });
    source.asked.length = 0;
    rmSync(join(folder, "root"), { recursive: true });
    await expect(boot(pointer({}, { timeouts: { httpTotal: 1 } }))).rejects.toMatchObject({ message });
  });

  test("does not wait for ever for the rest of an answer", async () => {
    source.answer = (_, response) => response.writeHead(200).write("{");
    await expect(boot(pointer(), { timeoutMs: 100 })).rejects.toThrow("asked once");
  });

  test("does not trust a server that the user data does not vouch for, and goes on asking it", async () => {
    served(payload);
    // An attempt may take as long as the timeout leaves, by the real clock: enough for a handshake on a busy machine.
    await expect(boot(pointer({}, { security: {} }), { timeoutMs: 10_000 })).rejects.toThrow("asked 6 times");
    expect(source.asked).toEqual([]);
    expect(attempts[0]?.result).toMatch(/certificate/);
  });

  test("follows redirects without the token", async () => {
    source.answer = ({ url }, response) => {
      if (url === "/ignition") response.writeHead(302, { location: "/elsewhere" }).end();
      else response.writeHead(200).end(payload);
    };
    await boot(pointer());
    expect(source.asked.map(({ headers, path }) => [path, headers.authorization])).toEqual([
      ["/ignition", TOKEN],
      ["/elsewhere", undefined],
    ]);
  });

  test("checks hashes after unpacking, of configs and of files", async () => {
    const hash = (bytes: string | Buffer) => `sha512-${createHash("sha512").update(bytes).digest("hex")}`;
    const file = { source: source.url("/file"), verification: { hash: hash("content") } };
    const text = config({ storage: { files: [{ path: "/f", contents: file }] } });
    source.answer = ({ url }, response) => response.writeHead(200).end(url === "/file" ? "content" : gzipSync(text));
    const packed = { compression: "gzip", verification: { hash: hash(text) } };
    await boot(pointer(packed));
    expect(readFileSync(at("/f"), "utf8")).toBe("content");
    rmSync(join(folder, "root"), { recursive: true });
    const wrong = { compression: "gzip", verification: { hash: hash("other") } };
    await expect(boot(pointer(wrong))).rejects.toMatchObject({ code: "DB_IGNITION_RESOURCE" });
  });

  test("follows configs that refer to configs, and replaces where a config says so", async () => {
    const inner = config({ storage: { files: [{ path: "/inner", contents: { source: "data:,1" } }] } });
    const middle = config({}, { config: { merge: [{ source: source.url("/inner") }] } });
    const texts: Readonly<Record<string, string>> = {
      "/ignition": config({}, { config: { replace: { source: source.url("/middle") } }, security: source.trust }),
      "/middle": JSON.stringify({
        ...JSON.parse(middle),
        ignition: { ...JSON.parse(middle).ignition, security: source.trust },
      }),
      "/inner": inner,
    };
    source.answer = ({ url = "" }, response) => response.writeHead(200).end(texts[url]);
    await boot(pointer());
    expect(readFileSync(at("/inner"), "utf8")).toBe("1");
  });

  test("goes through the user data's proxy", async () => {
    served(payload);
    const asked: string[] = [];
    const proxy = createServer().listen(0, "127.0.0.1");
    proxy.on("connect", ({ url = "" }, socket) => {
      asked.push(url);
      const target = new URL(source.url("/"));
      const through = connect(Number(target.port), target.hostname, () => {
        socket.write("HTTP/1.1 200 OK\r\n\r\n");
        through.pipe(socket).pipe(through);
      });
    });
    await new Promise((resolve) => proxy.once("listening", resolve));
    const httpsProxy = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    // Loopback addresses never go through a proxy, so the way there has a name.
    const named = source.url("/ignition").replace("127.0.0.1", "source.example");
    const text = pointer({ source: named }, { proxy: { httpsProxy } });
    await boot(text);
    proxy.close();
    expect([asked, source.asked.length]).toEqual([[new URL(named).host], 1]);
  });
});

describe("a proxy that wants a login", () => {
  test("gets it in a header of its own, which the server behind it does not see as its caller's", async () => {
    const seen: IncomingHttpHeaders[] = [];
    const proxy = createServer((request, response) => {
      seen.push(request.headers);
      response.writeHead(200).end(payload);
    }).listen(0, "127.0.0.1");
    await new Promise((resolve) => proxy.once("listening", resolve));
    const httpProxy = `http://me:pass%20word@127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const way = { proxy: { httpProxy } };
    await boot(pointer({ source: "http://source.example/ignition", httpHeaders: [] }, way));
    proxy.close();
    const login = `Basic ${Buffer.from("me:pass word").toString("base64")}`;
    expect(seen.map((headers) => [headers.host, headers["proxy-authorization"], headers.authorization])).toEqual([
      ["source.example", login, undefined],
    ]);
  });
});

describe("the root of a simulated machine", () => {
  test("is never left, whatever links a payload has", async () => {
    const outside = join(folder, "outside");
    const evil = config({
      storage: { links: [{ path: "/etc", target: "/../../../../.." }] },
      systemd: { units: [{ name: "a.service", contents: "[Unit]\n" }] },
    });
    const up = config({
      storage: { links: [{ path: "/etc/systemd", target: `../../../../..${outside}` }] },
      systemd: { units: [{ name: "a.service", contents: "[Unit]\n" }] },
    });
    served(evil);
    await boot(pointer());
    expect(lstatSync(at("/etc")).isSymbolicLink()).toBe(true);
    expect(readFileSync(at("/systemd/system/a.service"), "utf8")).toBe("[Unit]\n");
    rmSync(join(folder, "root"), { recursive: true });
    served(up);
    await boot(pointer());
    expect(readFileSync(join(at("/"), outside, "system/a.service"), "utf8")).toBe("[Unit]\n");
    expect(readdirSync(folder)).toEqual(["root"]);
  });

  test("must be new or empty", async () => {
    await boot(config({}));
    writeFileSync(at("/mine"), "");
    await expect(boot(config({}))).rejects.toMatchObject({ code: "DB_SIMULATE_ROOT" });
  });
});
