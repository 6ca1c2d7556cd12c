import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { annotation, encoded, nanoTime, parseTime, type Secret, secondTime } from "../objects.js";
import {
  isTokenSecret,
  makeTokenSecret,
  pack,
  readTokenSecret,
  refreshTokenSecret,
  sizeProblem,
  unpack,
} from "./token-secret.js";

const now = Date.parse("2031-03-04T05:06:07.120Z");
const token = "8a2f0c3e-1b7d-4f5a-9c8e-2d6b7a1f0e3c";
const content = {
  namespace: "clusters-demo",
  pool: { namespace: "clusters", name: "workers" },
  hash: "83935368",
  upgradeType: "InPlace",
  token,
  releaseImage: "registry.example/release@sha256:1",
  releaseVersion: "4.18.0",
  rawConfig: "kind: MachineConfig\n",
  pullSecretHash: "2e24ad6f",
  trustBundleHash: "811c9dc5",
  configurationHash: "77074ba4",
  stream: "rhel-9",
} as const;

describe("the token Secret", () => {
  test("is what HyperShift's Ignition server reads", () => {
    const { data, ...rest } = makeTokenSecret(content, now);
    expect(rest).toEqual({
      apiVersion: "v1",
      kind: "Secret",
      metadata: {
        name: "token-workers-83935368",
        namespace: "clusters-demo",
        annotations: {
          "hypershift.openshift.io/ignition-config": "true",
          "hypershift.openshift.io/node-pool-upgrade-type": "InPlace",
          "hypershift.openshift.io/nodePool": "clusters/workers",
          "hypershift.openshift.io/last-token-generation-time": "2031-03-04T05:06:07.12Z",
        },
      },
      type: "Opaque",
      immutable: false,
    });
    const text = Object.fromEntries(
      Object.entries(data!).map(([key, value]) => [key, Buffer.from(value, "base64").toString()]),
    );
    expect(text).toEqual({
      token,
      release: "registry.example/release@sha256:1",
      "release-version": "4.18.0",
      config: expect.stringMatching(/^H4sI/),
      "pull-secret-hash": "2e24ad6f",
      "additional-trust-bundle-hash": "811c9dc5",
      "hc-configuration-hash": "77074ba4",
      "cloud-config-hash": "",
      "os-stream": "rhel-9",
    });
    expect(unpack(text.config!)).toBe(content.rawConfig);
  });

  test("reads back what was written", () => {
    const view = readTokenSecret(makeTokenSecret(content, now));
    expect(view).toMatchObject({
      pool: content.pool,
      token,
      oldToken: undefined,
      upgradeType: "InPlace",
      generatedAt: now,
      expiresAt: undefined,
      reached: false,
      outcome: undefined,
    });
    expect(view.rawConfig()).toBe(content.rawConfig);
    expect(readTokenSecret(makeTokenSecret({ ...content, rawConfig: "" }, now)).rawConfig()).toBe("");
    expect(isTokenSecret(makeTokenSecret(content, now))).toBe(true);
    expect(isTokenSecret({})).toBe(false);
  });

  test("reads what others left: outcomes, ends, nonsense", () => {
    const made = makeTokenSecret(content, now);
    const with_ = (data: Record<string, string>, annotations: Record<string, string> = {}): Secret => ({
      ...made,
      metadata: { ...made.metadata, annotations: { ...made.metadata?.annotations, ...annotations } },
      data: { ...made.data, ...data },
    });
    expect(readTokenSecret(with_({ reason: encoded("InvalidConfig"), message: encoded("no") })).outcome).toEqual({
      reason: "InvalidConfig",
      message: "no",
    });
    expect(readTokenSecret(with_({ token: "", old_token: "" }))).toMatchObject({
      token: undefined,
      oldToken: undefined,
    });
    expect(readTokenSecret(with_({}, { [annotation.tokenExpires]: "soon" })).expiresAt).toBeNaN();
    expect(() => readTokenSecret(with_({ config: encoded("!") })).rawConfig()).toThrow("is not base64");
    expect(() => readTokenSecret(with_({ config: encoded("aGVsbG8=") })).rawConfig()).toThrow(
      "failed to decode and decompress config",
    );
    expect(readTokenSecret({})).toMatchObject({ pool: undefined, token: undefined, generatedAt: undefined });
  });

  test.each(["", "  "])("is never made with the token %j", (empty) => {
    expect(() => makeTokenSecret({ ...content, token: empty }, now)).toThrow("empty token");
  });

  test("is refused before the API would, when it is too large", () => {
    const noise = randomBytes(900_000).toString("base64");
    expect(() => makeTokenSecret({ ...content, rawConfig: noise }, now)).toThrow(/takes \d+ bytes of the Secret/);
  });

  test("leaves room for what the Ignition server adds to it", () => {
    const of = (bytes: number) => ({ payload: Buffer.alloc(bytes).toString("base64") });
    expect(sizeProblem(of(1024 * 1024 - 4096))).toBeUndefined();
    expect(sizeProblem(of(1024 * 1024 - 4095))).toContain("the API allows 1048576, of which 4096 are kept free");
  });

  test("once there, only the cluster's configuration hash is kept right, and it never expires while in use", () => {
    const made = makeTokenSecret(content, now);
    expect(refreshTokenSecret(made, "77074ba4", "")).toBeUndefined();
    const changed = refreshTokenSecret(made, "00000001", "");
    expect(changed?.data).toEqual({ ...made.data, "hc-configuration-hash": encoded("00000001") });
    const ending: Secret = {
      ...made,
      metadata: {
        ...made.metadata,
        annotations: { ...made.metadata?.annotations, [annotation.tokenExpires]: "2031-01-01T00:00:00Z" },
      },
    };
    expect(refreshTokenSecret(ending, "77074ba4", "")).toEqual(made);
  });
});

describe("labels and taints of a pool's nodes", () => {
  const registration = '{"nodeLabels":{"tier":"front"}}';
  const key = "drawbridge/node-registration";

  test("are noted on the token Secret, and nothing is where there are none", () => {
    const made = makeTokenSecret({ ...content, registration }, now);
    expect(made.metadata?.annotations?.[key]).toBe(registration);
    expect(readTokenSecret(made).registration).toBe(registration);
    expect(Object.keys(makeTokenSecret(content, now).metadata?.annotations ?? {})).not.toContain(key);
  });

  test("are kept right on a Secret that is there", () => {
    const made = makeTokenSecret(content, now);
    const noted = refreshTokenSecret(made, "77074ba4", registration);
    expect(noted).toEqual(makeTokenSecret({ ...content, registration }, now));
    expect(refreshTokenSecret(noted!, "77074ba4", registration)).toBeUndefined();
    expect(refreshTokenSecret(noted!, "77074ba4", "")).toEqual(made);
  });
});

describe("packed texts", () => {
  test.each(["", "x", "é\n".repeat(10_000)])("come back as they were", (text) => expect(unpack(pack(text))).toBe(text));

  test("are small and made of base64", () => {
    expect(pack("a".repeat(100_000))).toMatch(/^[A-Za-z0-9+/=]{1,300}$/);
    expect(pack("")).toBe("");
  });
});

describe("times in annotations", () => {
  test("are written as Go writes them", () => {
    expect(secondTime(now)).toBe("2031-03-04T05:06:07Z");
    const at = (ms: number) => nanoTime(Date.parse("2031-03-04T05:06:00Z") + ms);
    expect([0, 7, 120, 10_000, 100].map(at)).toEqual([
      "2031-03-04T05:06:00Z",
      "2031-03-04T05:06:00.007Z",
      "2031-03-04T05:06:00.12Z",
      "2031-03-04T05:06:10Z",
      "2031-03-04T05:06:00.1Z",
    ]);
  });

  test("are read with nanoseconds and offsets, and nothing else is", () => {
    expect(parseTime("2031-03-04T05:06:07.123456789Z")).toBe(Date.parse("2031-03-04T05:06:07.123Z"));
    expect(parseTime("2031-03-04T07:06:07+02:00")).toBe(Date.parse("2031-03-04T05:06:07Z"));
    for (const text of [undefined, "", "now", "2031", "2031-13-04T05:06:07Z", "2031-03-04 05:06:07", "1"]) {
      expect(parseTime(text)).toBeUndefined();
    }
  });
});
