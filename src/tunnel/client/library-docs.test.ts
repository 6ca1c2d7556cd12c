/** Runs the examples of docs/library.md as a reader would: each in a process of its own. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import http from "node:http";
import https from "node:https";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { freePort } from "../../../test/support/processes/ports.js";
import { startEcho } from "../../../test/support/targets/echo.js";
import type { Target } from "../../../test/support/targets/listener.js";
import { certificatesFor, writePki } from "../pki/write-pki.js";
import type { Frontend } from "./frontend.js";
import { startTunnelFixture, type TunnelFixture } from "./testing/fixture.js";

const page = readFileSync(new URL("../../../docs/library.md", import.meta.url), "utf8");
const examples = [...page.matchAll(/```js\n(.*?)```/gs)].map((match) => match[1]!);
const library = new URL("../../index.ts", import.meta.url).href;
const root = fileURLToPath(new URL("../../..", import.meta.url));

// Each example is compiled and run in a process of its own.
vi.setConfig({ testTimeout: 60_000 });

let fixture: TunnelFixture;
let echo: Target;
let dir: string;

beforeAll(async () => {
  [fixture, echo, dir] = await Promise.all([
    startTunnelFixture(),
    startEcho(),
    mkdtemp(join(tmpdir(), "drawbridge-docs-")),
  ]);
  await fixture.startAgent();
});

afterAll(async () => {
  await Promise.all([fixture.close(), echo.close(), rm(dir, { recursive: true })]);
});

const socketOf = (frontend: Frontend): string => ("uds" in frontend ? frontend.uds : "");

async function run(example: string, env: Record<string, string>): Promise<string> {
  const file = join(dir, `example-${examples.indexOf(example)}.mts`);
  const packages = { drawbridge: library, undici: createRequire(import.meta.url).resolve("undici") };
  const text = example.replace(/from "(drawbridge|undici)"/g, (_, name: keyof typeof packages) => {
    return `from ${JSON.stringify(packages[name])}`;
  });
  await writeFile(file, text);
  const options = { cwd: root, env: { ...process.env, ...env }, timeout: 50_000 };
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ["--import", "tsx", file], options);
  expect(stderr).toBe("");
  return stdout;
}

const exampleWith = (text: string): string => {
  const found = examples.filter((example) => example.includes(text));
  expect(found, text).toHaveLength(1);
  return found[0]!;
};

test("the example of a socket in library.md prints the echo", async () => {
  const env = { FRONTEND_SOCKET: socketOf(fixture.frontends["connect-uds"]), TARGET: echo.address };
  expect(await run(exampleWith("TARGET,"), env)).toBe("hello through the tunnel\n");
});

test("the example of a web request in library.md prints the answer", async () => {
  const files = { cert: readFileSync(fixture.files.endpoint), key: readFileSync(fixture.files.endpointKey) };
  const site = https.createServer(files, (_request, response) => response.end("from behind the tunnel"));
  await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
  const env = {
    FRONTEND_SOCKET: socketOf(fixture.frontends["grpc-uds"]),
    TARGET_URL: `https://localhost:${(site.address() as AddressInfo).port}/`,
    TARGET_CA: readFileSync(fixture.files.ca, "utf8"),
  };
  expect(await run(exampleWith("TARGET_URL"), env)).toBe("from behind the tunnel");
  site.close();
});

test("the example of fetch in library.md prints status and answer, of both kinds of target", async () => {
  const files = { cert: readFileSync(fixture.files.endpoint), key: readFileSync(fixture.files.endpointKey) };
  const answer: http.RequestListener = (_request, response) => void response.end("fetched");
  const sites = { http: http.createServer(answer), https: https.createServer(files, answer) };
  for (const [protocol, site] of Object.entries(sites)) {
    await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
    const env = {
      FRONTEND_SOCKET: socketOf(fixture.frontends["connect-uds"]),
      FETCH_URL: `${protocol}://localhost:${(site.address() as AddressInfo).port}/`,
      FETCH_CA: readFileSync(fixture.files.ca, "utf8"),
    };
    expect(await run(exampleWith("FETCH_URL"), env), protocol).toBe("200 fetched\n");
    site.close();
  }
});

test("the example of a server and an agent in library.md prints what came through them", async () => {
  const pki = join(dir, "pki");
  await writePki(pki, await certificatesFor("bootstrap", { ipAddresses: ["127.0.0.1"] }));
  const env = { PKI: pki, AGENT_PORT: String(await freePort()) };
  expect(await run(exampleWith("AGENT_PORT"), env)).toMatch(/through a tunnel of this process\n$/);
});

test("library.md names every export", () => {
  const sources = ["../../index.ts", "index.ts"].map((file) => readFileSync(new URL(file, import.meta.url), "utf8"));
  const lists = sources.flatMap((text) =>
    [...text.matchAll(/^export (?:type )?\{(.*?)\}/gms)].map(([, list = ""]) => list),
  );
  const names = lists.flatMap((list) => list.split(",").map((name) => name.replace(/\btype\b/, "").trim()));
  expect(names).toEqual(expect.arrayContaining(["ProxyServer", "dialThrough", "HttpsAgentOptions"]));
  const [, table = ""] = page.split("## All exports");
  expect(names.filter((name) => !new RegExp(`\`${name}\\b`).test(table))).toEqual([]);
});

test("the example of a refusal in library.md prints code, status and answer", async () => {
  const address = `127.0.0.1:${await freePort()}`;
  const env = { FRONTEND_SOCKET: socketOf(fixture.frontends["connect-uds"]), CLOSED_PORT: address };
  expect(await run(exampleWith("CLOSED_PORT"), env)).toMatch(/^DB_\w+ 502 dial tcp .*: connect: connection refused\n$/);
});
