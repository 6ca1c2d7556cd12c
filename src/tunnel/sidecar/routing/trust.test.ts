import { copyFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { makePki } from "../../../../test/support/processes/certs.js";
import { Scope } from "../../../../test/support/processes/scope.js";
import { proxyTrust } from "./proxies.js";

const scope = new Scope();
afterEach(() => scope.close());

describe("the trust bundle for proxies", () => {
  test("is read again only when it was replaced", () => {
    const dir = scope.tempDir();
    const pki = makePki(dir);
    const bundle = join(dir, "bundle.pem");
    copyFileSync(pki.webhook.ca, bundle);
    const trust = proxyTrust(bundle);
    const first = trust();
    expect(trust()).toBe(first);
    rmSync(bundle);
    copyFileSync(pki.frontend.ca, bundle);
    expect(trust()).not.toBe(first);
  });

  test("is refused by name when it is missing or holds no certificate", () => {
    const bundle = join(scope.tempDir(), "bundle.pem");
    const trust = proxyTrust(bundle);
    expect(() => trust()).toThrow(expect.objectContaining({ code: "DB_CERT_MISSING" }));
    writeFileSync(bundle, "nothing");
    expect(() => trust()).toThrow(expect.objectContaining({ code: "DB_CERT_NOT_PEM" }));
  });
});
