/** A frontend that refuses the client's certificate: which one, whose, and why, whichever way the client comes. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createAuthority, issueCertificate, type PemPair } from "../pki/issue.js";
import { DAY_MS } from "../pki/request.js";
import { dialThrough } from "./dial.js";
import type { Frontend } from "./frontend.js";
import { GrpcTunnelPool } from "./grpc-pool.js";
import { startTunnelFixture, type TunnelFixture } from "./testing/fixture.js";

let fixture: TunnelFixture;
let shown: Readonly<Record<"none" | "foreign" | "expired", PemPair | undefined>>;

beforeAll(async () => {
  fixture = await startTunnelFixture();
  const foreign = await createAuthority({ commonName: "foreign-ca", backdateMs: 9 * DAY_MS });
  const [stranger, ended] = await Promise.all([
    issueCertificate(foreign, { use: "client", commonName: "stranger" }),
    issueCertificate(foreign, {
      use: "client",
      commonName: "ended",
      now: new Date(Date.now() - 2 * DAY_MS),
    }),
  ]);
  shown = { none: undefined, foreign: stranger, expired: ended };
});

afterAll(() => fixture.close());

function at(name: "connect-tcp" | "grpc-tcp", pair: PemPair | undefined): Exclude<Frontend, { uds: string }> {
  const frontend = fixture.frontends[name] as Exclude<Frontend, { uds: string }>;
  const own = pair === undefined ? {} : { cert: pair.certificatePem, key: pair.privateKeyPem };
  return { ...frontend, tls: { caFile: fixture.files.ca, ...own }, self: "this sidecar" };
}

const WANTED = {
  none: ["DB_TLS_OWN_MISSING", /refused this sidecar \(it says "[^)]*showed no certificate[^)]*"\): .*given none/],
  foreign: [
    "DB_TLS_OWN_REFUSED",
    /refused this sidecar \(it says .*this sidecar's certificate \(subject "CN=stranger", issuer "CN=foreign-ca"\).*is valid by itself/,
  ],
  expired: [
    "DB_TLS_OWN_EXPIRED",
    /refused this sidecar \(it says .*this sidecar's certificate \(subject "CN=ended".* expired /,
  ],
} as const;

describe.each(["none", "foreign", "expired"] as const)("%s as the client's certificate", (kind) => {
  const [code, message] = WANTED[kind];
  const named = { code, message: expect.stringMatching(message) };

  test.each(["connect-tcp", "grpc-tcp"] as const)("is named by a dial at %s", async (name) => {
    await expect(dialThrough(at(name, shown[kind]), "127.0.0.1:9")).rejects.toMatchObject(named);
  });

  test("is named by a pool", async () => {
    const pool = new GrpcTunnelPool({ ...at("grpc-tcp", shown[kind]), mode: "grpc" });
    await expect(pool.dial("127.0.0.1:9")).rejects.toMatchObject(named);
    await pool.close();
  });
});

test("a frontend of the other protocol is named as the wrong port", async () => {
  const { mode: _, ...connect } = fixture.frontends["connect-tcp"] as Exclude<Frontend, { uds: string }>;
  const wrong = { code: "DB_WRONG_PORT", message: expect.stringContaining("a frontend of another protocol") };
  await expect(dialThrough({ ...connect, mode: "grpc" }, "127.0.0.1:9")).rejects.toMatchObject(wrong);
});

test.each([
  ["http-connect", /^127\.0\.0\.1:\d+ is not the port .*did not ask for HTTP\/2.*: it is the agents' port of a server/],
  ["grpc", /^127\.0\.0\.1:\d+ is not the port .*Unimplemented: .*ProxyService.*: it is the agents' port of a server/],
] as const)("the agents' port is named as the wrong port by a dial with %s", async (mode, message) => {
  const { tls, host } = fixture.frontends["connect-tcp"] as Exclude<Frontend, { uds: string }>;
  const frontend = { mode, host, port: fixture.agentPort, tls, self: "this sidecar" };
  const wrong = { code: "DB_WRONG_PORT", message: expect.stringMatching(message) };
  await expect(dialThrough(frontend, "127.0.0.1:9")).rejects.toMatchObject(wrong);
});
