import { describe, expect, test } from "vitest";
import {
  byBytes,
  configurationHash,
  effectiveProxy,
  effectiveStream,
  fnv1a,
  globalConfig,
  hashedStream,
  poolHashes,
  pullSecretHash,
  trustBundleHash,
} from "./pool-hash.js";

const emptyProxy =
  '{"metadata":{"name":"cluster","creationTimestamp":null},"spec":{"trustedCA":{"name":""}},"status":{}}\n';
const emptyImage =
  '{"metadata":{"name":"cluster","creationTimestamp":null},"spec":{"additionalTrustedCA":{"name":""},"registrySources":{}},"status":{}}\n';

describe("FNV-1a", () => {
  test.each([
    ["", "811c9dc5"],
    ["a", "e40c292c"],
    ["foobar", "bf9cf968"],
  ])("of %j is %s", (text, hash) => expect(fnv1a(text)).toBe(hash));

  test("takes bytes as they are and text as UTF-8", () => {
    expect(fnv1a("é")).toBe(fnv1a(Buffer.from([0xc3, 0xa9])));
  });
});

describe("the cluster's configuration as hashed", () => {
  test("has an empty proxy and an empty image configuration, and from 4.23 on a TLS profile", () => {
    expect(globalConfig(undefined, undefined, "4.22.99")).toBe(emptyProxy + emptyImage);
    expect(globalConfig({}, {}, "4.23.0")).toBe(`${emptyProxy}${emptyImage}null\n`);
    const apiServer = { tlsSecurityProfile: { type: "Modern", modern: {} } };
    expect(globalConfig({ apiServer }, {}, "5.0.0-ec.1")).toBe(
      `${emptyProxy}${emptyImage}{"type":"Modern","modern":{}}\n`,
    );
  });

  test("writes members in the order of the Go types, whatever order they came in, and escapes as Go does", () => {
    const proxy = { trustedCA: { name: "ca" }, noProxy: "example.com", httpsProxy: "", httpProxy: "http://u:<&>@p" };
    const image = {
      imageStreamImportMode: "",
      registrySources: { allowedRegistries: [], blockedRegistries: ["bad.example"] },
      allowedRegistriesForImport: [
        { insecure: false, domainName: "a" },
        { domainName: "b", insecure: true },
      ],
    };
    const [first, second] = globalConfig({ image, proxy }, { service: ["10.96.0.0/16"] }, "4.18.0").split("\n");
    expect(first).toBe(
      '{"metadata":{"name":"cluster","creationTimestamp":null},"spec":{"httpProxy":"http://u:\\u003c\\u0026\\u003e@p","noProxy":"example.com","trustedCA":{"name":"ca"}},' +
        '"status":{"httpProxy":"http://u:\\u003c\\u0026\\u003e@p","noProxy":".cluster.local,.local,.svc,10.96.0.0/16,127.0.0.1,example.com,localhost"}}',
    );
    expect(second).toBe(
      '{"metadata":{"name":"cluster","creationTimestamp":null},"spec":{"allowedRegistriesForImport":[{"domainName":"a"},{"domainName":"b","insecure":true}],' +
        '"additionalTrustedCA":{"name":""},"registrySources":{"blockedRegistries":["bad.example"]}},"status":{}}',
    );
  });

  test("knows what is never proxied, sorted and once", () => {
    expect(effectiveProxy({})).toBeUndefined();
    expect(
      effectiveProxy({ httpProxy: "http://p", noProxy: "localhost,, b" }, { machine: ["192.168.0.0/24"] }),
    ).toEqual({
      httpProxy: "http://p",
      noProxy: [" b", ".cluster.local", ".local", ".svc", "127.0.0.1", "192.168.0.0/24", "localhost"],
    });
  });

  test("has no proxy where only noProxy is set, as HyperShift's has not", () => {
    const proxy = { noProxy: "example.com" };
    expect(effectiveProxy(proxy, { machine: ["192.168.0.0/24"] })).toBeUndefined();
    expect(globalConfig({ proxy }, { service: ["10.96.0.0/16"] }, "4.18.0")).toBe(
      `{"metadata":{"name":"cluster","creationTimestamp":null},"spec":{"noProxy":"example.com","trustedCA":{"name":""}},"status":{}}\n${emptyImage}`,
    );
  });

  test("sorts as Go does, by bytes", () => {
    expect(["\u{10000}", "\uffee", "a", "Z"].sort(byBytes)).toEqual(["Z", "a", "\uffee", "\u{10000}"]);
  });
});

describe("a pool's hashes", () => {
  const input = { rawConfig: "", pullSecretName: "pull-secret", trustBundleName: "", stream: "" };

  test.each(["rawConfig", "trustBundleName", "pullSecretName", "stream"] as const)("change with %s", (field) => {
    const changed = poolHashes({ ...input, releaseVersion: "4.18.0", globalConfig: "", [field]: "other" });
    const before = poolHashes({ ...input, releaseVersion: "4.18.0", globalConfig: "" });
    expect(changed.full).not.toBe(before.full);
    expect(changed.withoutVersion).not.toBe(before.withoutVersion);
  });

  test("the short one knows neither release nor the cluster's configuration", () => {
    const one = poolHashes({ ...input, releaseVersion: "4.18.0", globalConfig: "a" });
    const other = poolHashes({ ...input, releaseVersion: "4.19.0", globalConfig: "b" });
    expect(other.withoutVersion).toBe(one.withoutVersion);
    expect(other.full).not.toBe(one.full);
  });

  test("leave out the stream that machines boot when none is asked for", () => {
    expect(hashedStream("rhel-9", "4.18.0", false)).toBe("");
    expect(hashedStream("rhel-9", "5.0.0", false)).toBe("rhel-9");
    expect(hashedStream("rhel-9", "5.0.0", true)).toBe("");
    expect(hashedStream("rhel-10", "5.1.2", false)).toBe("");
  });

  test.each([
    ["", "4.23.1", false, "rhel-9"],
    ["", "4.23.1", true, "rhel-9"],
    ["", "5.0.0", false, "rhel-10"],
    ["", "5.0.0", true, "rhel-9"],
    ["rhel-9", "5.0.0", false, "rhel-9"],
    ["rhel-10", "5.0.0-ec.1", false, "rhel-10"],
  ])("stream %j in %s, runc %s: machines boot %s", (wanted, version, runc, stream) => {
    expect(effectiveStream(wanted, version, runc)).toBe(stream);
  });

  test("refuse a stream that the release or the runtime does not have", () => {
    expect(() => effectiveStream("rhel-10", "5.0.0", true)).toThrow("rhel-10 has no runc");
    expect(() => effectiveStream("rhel-10", "4.23.0", false)).toThrow("comes with release 5.0");
  });

  test.each(["", "4.18", "v4.18.0", "latest"])("need a real version, not %j", (version) => {
    expect(() => globalConfig(undefined, undefined, version)).toThrow("is not a release version");
  });
});

describe("the other hashes in a token Secret", () => {
  test("pull secret: over what Go prints for bytes", () => {
    expect(pullSecretHash(Buffer.from('{"auths":{"example.com":{"auth":"dGVzdDp0ZXN0"}}}'))).toBe("2e24ad6f");
  });

  test("trust bundle: over the PEM text", () => {
    expect([trustBundleHash(""), trustBundleHash("test-ca-bundle")]).toEqual(["811c9dc5", "196fecff"]);
  });

  test("configuration: null without one, and independent of the order of members", () => {
    expect(configurationHash(undefined)).toBe("77074ba4");
    const one = { proxy: { httpProxy: "http://p", noProxy: "x" }, ingress: { b: 1, a: [{ d: 1, c: 2 }] }, zebra: {} };
    const other = { zebra: {}, ingress: { a: [{ c: 2, d: 1 }], b: 1 }, proxy: { noProxy: "x", httpProxy: "http://p" } };
    expect(configurationHash(other)).toBe(configurationHash(one));
    expect(configurationHash({ ...one, ingress: {} })).not.toBe(configurationHash(one));
  });

  test("configuration: an empty import mode leaves no trace", () => {
    const image = { additionalTrustedCA: { name: "x" } };
    expect(configurationHash({ image: { ...image, imageStreamImportMode: "" } })).toBe(configurationHash({ image }));
    expect(configurationHash({ image })).toBe(
      fnv1a('{"image":{"additionalTrustedCA":{"name":"x"},"registrySources":{}}}'),
    );
  });
});
