import { describe, expect, test } from "vitest";
import { makeUserDataSecret, pointerConfig, readUserData, refreshUserDataSecret } from "./user-data.js";

const content = {
  pool: { namespace: "clusters", name: "workers" },
  hash: "83935368",
  token: "8a2f0c3e-1b7d-4f5a-9c8e-2d6b7a1f0e3c",
  ignitionEndpoint: "ignition.example:30443",
  ignitionCaPem: "PEM\n",
};
const withoutProxy =
  '{"ignition":{"config":{"merge":[{"httpHeaders":[{"name":"Authorization","value":"Bearer OGEyZjBjM2UtMWI3ZC00ZjVhLTljOGUtMmQ2YjdhMWYwZTNj"},' +
  '{"name":"NodePool","value":"clusters/workers"},{"name":"TargetConfigVersionHash","value":"83935368"}],' +
  '"source":"https://ignition.example:30443/ignition"}]},' +
  '"security":{"tls":{"certificateAuthorities":[{"source":"data:text/plain;base64,UEVNCg=="}]}},"version":"3.2.0"}}';

describe("user data", () => {
  test("is the pointer config, byte for byte", () => {
    expect(pointerConfig(content)).toBe(withoutProxy);
  });

  test("has a proxy only when there is one, with what it has", () => {
    const proxied = pointerConfig({
      ...content,
      proxy: { httpProxy: "http://p?a=1&b=<2>", noProxy: [".svc", "localhost"] },
    });
    expect(proxied).toBe(
      withoutProxy.replace(
        '"security"',
        '"proxy":{"httpProxy":"http://p?a=1\\u0026b=\\u003c2\\u003e","noProxy":[".svc","localhost"]},"security"',
      ),
    );
    expect(
      JSON.parse(pointerConfig({ ...content, proxy: { httpsProxy: "https://s", noProxy: [] } })).ignition.proxy,
    ).toEqual({
      httpsProxy: "https://s",
    });
  });

  test("never carries an empty token", () => {
    expect(() => pointerConfig({ ...content, token: "" })).toThrow("empty token");
  });

  test("is in a Secret under the key value, with templating switched off", () => {
    const secret = makeUserDataSecret("clusters-demo", content);
    expect(secret).toMatchObject({
      metadata: {
        name: "user-data-workers-83935368",
        namespace: "clusters-demo",
        annotations: { "hypershift.openshift.io/nodePool": "clusters/workers" },
      },
      immutable: false,
    });
    expect(Buffer.from(secret.data!.disableTemplating!, "base64").toString()).toBe("dHJ1ZQ==");
    expect(readUserData(secret)).toBe(withoutProxy);
    expect(() => readUserData({ metadata: { namespace: "a", name: "b" } })).toThrow("a/b has no user data");
  });

  test("is rewritten when the token has changed, and only then", () => {
    const secret = {
      ...makeUserDataSecret("clusters-demo", content),
      metadata: { name: "x", namespace: "y", resourceVersion: "7" },
    };
    expect(refreshUserDataSecret(secret, content)).toBeUndefined();
    const refreshed = refreshUserDataSecret(secret, { ...content, token: "another" });
    expect(refreshed?.metadata).toEqual(secret.metadata);
    expect(readUserData(refreshed!)).toContain(Buffer.from("another").toString("base64"));
  });
});
