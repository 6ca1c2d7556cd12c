import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer as createTls } from "node:tls";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import type { ErrorCode } from "../../../base/errors/catalogue.js";
import { CheckFailure } from "../../../base/finding.js";
import { certificatesFor, writePki } from "../../../tunnel/pki/write-pki.js";
import type { Overview } from "../../observe/admin/contract.js";
import type { SidecarSettings } from "../facts.js";
import { context, messagesOf } from "../testing/context.js";
import { frontend } from "./certificates.js";
import { nameResolution } from "./programs.js";

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

const listener = { name: "socks5://127.0.0.1:8090", order: ["agent"], fallbackDirect: false, kubeconfig: "" };
const settings = (changes: Partial<SidecarSettings>): SidecarSettings => ({
  frontends: [],
  listeners: [listener],
  ...changes,
});

async function listening(server: ReturnType<typeof createServer>): Promise<number> {
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  closing.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

describe("check frontend", () => {
  let pki: string;
  beforeAll(async () => {
    pki = mkdtempSync(join(tmpdir(), "drawbridge-doctor-"));
    await writePki(pki, await certificatesFor("bootstrap", { ipAddresses: ["127.0.0.1"] }));
    return () => rmSync(pki, { recursive: true, force: true });
  });
  const pem = (name: string) => readFileSync(join(pki, name), "utf8");

  const tcpFrontend = (port: number, servername?: string) => ({
    ...{ mode: "http-connect" as const, host: "127.0.0.1", port },
    tls: { caFile: join(pki, "ca.crt"), ...(servername === undefined ? {} : { servername }) },
  });
  const ask = (...frontends: SidecarSettings["frontends"]) =>
    messagesOf(
      frontend,
      context({ role: "sidecar", facts: { sidecar: () => settings({ frontends }) }, now: () => new Date() }),
    );
  const serve = (answer = "HTTP/1.1 502 Bad Gateway\r\n\r\ndial tcp 127.0.0.1:9: connect: connection refused") =>
    listening(
      createTls({ cert: pem("server.crt"), key: pem("server.key") }, (socket) => {
        socket.once("data", () => socket.end(answer));
      }),
    );

  test("a frontend that is for another name or does not answer fails", async () => {
    const port = await serve();
    expect(await ask(tcpFrontend(port))).toEqual([
      `ok: the sidecar reaches the http-connect frontend 127.0.0.1:${port}, and each accepts the other`,
    ]);
    expect(await ask(tcpFrontend(port, "konnectivity-server-local"))).toEqual([
      expect.stringMatching(
        /^failed: the certificate of the server .* is not for konnectivity-server-local, which was/,
      ),
    ]);
    for (const close of closing.splice(0)) close();
    expect(await ask(tcpFrontend(port))).toEqual([
      expect.stringMatching(/^failed: cannot connect to 127\.0\.0\.1:\d+: connection refused/),
    ]);
  });

  test("a port that is no frontend fails, however well its certificate fits", async () => {
    const port = await serve("HTTP/1.1 404 Not Found\r\n\r\nno such page");
    expect(await ask(tcpFrontend(port))).toEqual([
      expect.stringMatching(/^failed: the proxy-server did not connect to 127\.0\.0\.1:9: 404, no such page/),
    ]);
  });

  test("what the sidecar says, and the mode of its socket, count although doctor's own dial is answered", async () => {
    const dialled = { frontend: { mode: "http-connect" as const, uds: "/k.sock" }, where: "/k.sock" };
    const judge = (forbidden: string | undefined, state: Partial<Overview["process"]> | undefined) => {
      const overview = () => ({ process: state }) as Overview;
      const facts = { frontends: () => [{ ...dialled, forbidden }], ...(state && { overview }) };
      return messagesOf(frontend, facts);
    };
    const said = (code: ErrorCode) => ({ ready: false, unreadyCauses: [{ code, sentence: "it may not (EACCES)" }] });
    expect(await judge(undefined, said("DB_FRONTEND"))).toEqual([
      "failed: doctor's own dial through /k.sock is answered, but the sidecar's fails: it may not (EACCES)",
    ]);
    expect(await judge(undefined, said("DB_NO_AGENT"))).toEqual([expect.stringMatching(/^ok/)]);
    expect(await judge("its mode is 0700", undefined)).toEqual([
      "failed: the sidecar may not open the socket /k.sock: its mode is 0700",
    ]);
    expect(await judge("its mode is 0700", { ready: true })).toEqual([expect.stringMatching(/^ok/)]);
  });

  test("a frontend that does not answer is only a warning while another one does", async () => {
    const port = await serve();
    expect(await ask({ mode: "grpc", uds: "/nowhere.sock" }, tcpFrontend(port))).toEqual([
      expect.stringMatching(/^warning: the proxy-server at \/nowhere\.sock cannot be reached/),
      expect.stringMatching(/^ok/),
    ]);
  });

  test("frontend is skipped without a sidecar, and fails when its flags cannot be understood", async () => {
    expect(await messagesOf(frontend, context({ role: "sidecar" }))).toEqual([
      expect.stringMatching(/^skipped: no sidecar runs/),
    ]);
    const unknown = () => Promise.reject(new CheckFailure("its flags cannot be understood here", "Correct them."));
    const given = context(
      { role: "sidecar", programSettings: { agent: unknown, sidecar: unknown } },
      { sidecar: ["drawbridge", "sidecar"] },
    );
    expect(await messagesOf(frontend, given)).toEqual(["failed: its flags cannot be understood here"]);
  });
});

test("resolution reports resolvers behind agent, a fallback without cluster-dns, and a cluster without access", async () => {
  const finding = (changes: Partial<typeof listener>, inCluster = true) => {
    const env = inCluster ? { KUBERNETES_SERVICE_HOST: "10.0.0.1" } : {};
    return messagesOf(
      nameResolution,
      context({ env, facts: { sidecar: () => settings({ listeners: [{ ...listener, ...changes }] }) } }),
    );
  };
  const inOrder = ["ok: names are resolved in an order that works"];
  expect(await finding({})).toEqual(inOrder);
  expect(await finding({ order: ["services", "cluster-dns", "agent"] })).toEqual(inOrder);
  expect(await finding({ order: ["agent", "here"] })).toEqual([
    "warning: socks5://127.0.0.1:8090 never asks here: agent takes every name as it is",
  ]);
  expect(await finding({ order: ["here"], fallbackDirect: true })).toEqual([
    expect.stringMatching(/^warning: .* a fallback that never happens/),
  ]);
  expect(await finding({ order: ["services"] }, false)).toEqual([
    expect.stringMatching(/^failed: .*no pod of a cluster/),
  ]);
  expect(await finding({ order: ["services"], kubeconfig: "/nowhere" })).toEqual([
    expect.stringMatching(/^failed: .*\/nowhere does not exist/),
  ]);
});
