import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createSecureServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemRuntime } from "../../base/runtime.js";
import { OUR_FEATURES } from "../link/features.js";
import { createAuthority, issueCertificate } from "../pki/issue.js";
import { writePem } from "../pki/write-pki.js";
import { Resolver } from "../resolver/resolver.js";
import type { AgentConfig } from "./config.js";
import { type ConnectParts, connectOnce, connectToServer } from "./connect.js";

/** What an agent with a token says of a server that does this to its call. */
async function failureAt(answer: (stream: ServerHttp2Stream, socket: Socket) => void) {
  const dir = mkdtempSync(join(tmpdir(), "drawbridge-token-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const authority = await createAuthority({ commonName: "ca" });
  const pair = await issueCertificate(authority, { use: "server", commonName: "server", ipAddresses: ["127.0.0.1"] });
  const { certFile: caFile } = await writePem(dir, "ca", { certificatePem: authority.certificatePem });
  const { certFile, keyFile } = await writePem(dir, "server", pair);
  const tokenFile = join(dir, "token");
  writeFileSync(tokenFile, "a.b.c");
  const server = createSecureServer({ cert: readFileSync(certFile), key: readFileSync(keyFile!) });
  const sockets: Socket[] = [];
  server.on("secureConnection", (socket) => void sockets.push(socket.on("error", () => {})));
  server.on("stream", (stream) => {
    stream.on("error", () => {});
    answer(stream, sockets[0]!);
  });
  server.on("sessionError", () => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const tls = { caFile, certFile: "", keyFile: "", alpn: [] };
  const config = { agentId: "a", identifiers: "", headerTimeoutMs: 10_000, tokenFile, tls } as unknown as AgentConfig;
  const reach: ConnectParts["reach"] = (to) => connectToServer(to, tls, {}, new Resolver());
  return await connectOnce(config, { host: "127.0.0.1", port }, [], {
    program: "test",
    runtime: systemRuntime,
    reach,
    features: OUR_FEATURES,
  }).then(
    () => "connected",
    (reason: unknown) => reason,
  );
}

const status = (message: string) => (stream: ServerHttp2Stream) => {
  const headers = { ":status": 200, "content-type": "application/grpc", "grpc-status": "2", "grpc-message": message };
  stream.respond(headers, { endStream: true });
};

const refused = "Failed to validate authentication token, err:";

test.each<[string, (stream: ServerHttp2Stream, socket: Socket) => void, string, RegExp, RegExp]>([
  [
    "hangs up without an answer",
    (_stream, socket) => socket.destroy(),
    "DB_TOKEN_REVIEW",
    /got this agent's token and hung up without an answer to it: it stopped, or the Kubernetes API/,
    /tokenreviews/,
  ],
  [
    "cannot have it reviewed",
    status(`${refused}Failed to authenticate request`),
    "DB_TOKEN_REVIEW",
    /could not have this agent's token reviewed: .*Failed to authenticate request\.$/,
    /the server's log/,
  ],
  [
    "does not accept it",
    status(`${refused}lookup failed: service account is not it`),
    "DB_AGENT_TOKEN",
    /refused this agent's token: .*service account is not it\.$/,
    /--agent-service-account/,
  ],
])("a server that %s", async (_what, answer, code, message, remedy) => {
  const failure = await failureAt(answer);
  expect(failure).toMatchObject({
    ...{ code, message: expect.stringMatching(message), remedy: expect.stringMatching(remedy) },
  });
  expect(String(failure)).not.toContain("certificate");
});
