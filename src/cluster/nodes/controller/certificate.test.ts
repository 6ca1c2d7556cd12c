/** The certificate through a controller on a directory, and at the server that shows it. */
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { readdirSync, statSync } from "node:fs";
import { Agent, request } from "node:https";
import { join } from "node:path";
import { connect } from "node:tls";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { startIgnitionServer } from "../../ignition/server/serve.js";
import { TokenStore } from "../../ignition/server/tokens.js";
// The controller loads it when it first issues, which takes seconds on a busy machine: here before anybody waits.
import "../../../tunnel/pki/keep.js";
import { collectionPath, namedPath } from "../../kube/paths.js";
import {
  type ConfigMap,
  encoded,
  IGNITION_CA_SECRET,
  SERVING_CERTIFICATE_SECRET,
  type Secret,
  secretText,
} from "../objects.js";
import { CertificateSecret } from "../serving/certificate-secret.js";
import { readUserData } from "../token/user-data.js";
import { publishedAddresses } from "./certificate.js";
import { clusterMap, makePool, namespace, PoolFixture } from "./testing/fixture.js";

const dayMs = 24 * 60 * 60_000;
const { ignitionCA: _, ...withoutCa } = clusterMap.data ?? {};
const clusterAt = (ignitionEndpoint: string, more: Readonly<Record<string, string>> = {}): ConfigMap => ({
  ...clusterMap,
  data: { ...withoutCa, ignitionEndpoint, ...more },
});

let fixture: PoolFixture;

beforeEach(() => {
  fixture = new PoolFixture();
});

afterEach(() => fixture.close());

const soon = <T>(check: () => Promise<T>): Promise<T> => vi.waitFor(check, { timeout: 10_000, interval: 20 });
const secretAt = (name: string) => namedPath("Secret", { namespace, name });
const stored = (name: string) => fixture.api.get<Secret>(secretAt(name));
const certificateIn = (secret: Secret) => new X509Certificate(secretText(secret, "tls.crt") ?? "");
const serving = async () => certificateIn(await stored(SERVING_CERTIFICATE_SECRET));
const publish = (map: ConfigMap) => fixture.api.update(namedPath("ConfigMap", { namespace, name: "demo" }), map);
const namesOf = (certificate: X509Certificate) => certificate.subjectAltName?.split(", ");

/** A controller that issues, for a cluster at this address. */
async function issuing(endpoint: string, onIssued: (sentence: string) => void = () => {}): Promise<X509Certificate> {
  await fixture.addObjects(makePool());
  await publish(clusterAt(endpoint));
  fixture.start({ issuesCertificate: true, onIssued });
  return soon(serving);
}

describe("the published addresses", () => {
  const addresses = (...maps: readonly ConfigMap[]) => publishedAddresses(maps);

  test.each([
    ["ignition.example", ["ignition.example"], []],
    ["Ignition.Example:22624", ["ignition.example"], []],
    ["10.0.0.5:30080", [], ["10.0.0.5"]],
    ["[fd00:0::5]:443", [], ["fd00::5"]],
    ["fd00::5", [], ["fd00::5"]],
  ])("of %s", (endpoint, dnsNames, ipAddresses) => {
    expect(addresses(clusterAt(endpoint))).toEqual({ dnsNames, ipAddresses });
  });

  test("are those of all clusters together, with further ones, but not of clusters with an authority of their own", () => {
    const other = clusterAt("10.0.0.5:443", { ignitionAddresses: "b.example, 10.0.0.4\na.example" });
    expect(addresses(clusterAt("a.example"), other, clusterMap, { data: { ignitionEndpoint: "x" } })).toEqual({
      dnsNames: ["a.example", "b.example"],
      ipAddresses: ["10.0.0.4", "10.0.0.5"],
    });
    expect(addresses(clusterMap)).toEqual({ dnsNames: [], ipAddresses: [] });
  });

  test.each(["https://a.example", "a b", "user@host", "[::1"])("%s is none, and is named", (endpoint) => {
    expect(() => addresses(clusterAt(endpoint.replaceAll(" ", "/")))).toThrow(/clusters\/demo publishes .* neither/);
  });
});

describe("an issued certificate", () => {
  test("is for the published address, by an authority that user data names; keys are their owner's only", async () => {
    await fixture.addObjects();
    await publish(clusterAt("ignition.example:22624"));
    const controller = fixture.start({ issuesCertificate: true });
    const certificate = await soon(serving);
    expect(namesOf(certificate)).toEqual(["DNS:ignition.example"]);
    const authority = await stored(IGNITION_CA_SECRET);
    expect(certificate.verify(certificateIn(authority).publicKey)).toBe(true);
    expect(Date.parse(certificate.validTo) - Date.now()).toBeGreaterThan(364 * dayMs);
    // A pool that is looked at before the controller has seen its own authority complains of it.
    await soon(async () => expect(controller.view.secrets.has(`${namespace}/${IGNITION_CA_SECRET}`)).toBe(true));
    await fixture.api.create(collectionPath("NodePool", namespace), makePool());
    await soon(async () => {
      const [userData] = await fixture.secrets("user-data-");
      expect(readUserData(userData!)).toContain(encoded(secretText(authority, "tls.crt") ?? ""));
    });
    for (const file of readdirSync(fixture.directory).filter((name) => name.includes("drawbridge-ignition"))) {
      expect(statSync(join(fixture.directory, file)).mode & 0o777).toBe(0o600);
    }
    expect(fixture.errors).toEqual([]);
  });

  test("is issued again for another address by the same authority, and then not any more", async () => {
    const issued: string[] = [];
    const first = await issuing("ignition.example", (sentence) => issued.push(sentence));
    const authority = await stored(IGNITION_CA_SECRET);
    await publish(clusterAt("[fd00::5]:443", { ignitionAddresses: "10.0.0.5" }));
    await soon(async () =>
      expect(namesOf(await serving())).toEqual(["IP Address:10.0.0.5", "IP Address:FD00:0:0:0:0:0:0:5"]),
    );
    expect((await serving()).fingerprint256).not.toBe(first.fingerprint256);
    expect(await stored(IGNITION_CA_SECRET)).toEqual(authority);
    const before = await stored(SERVING_CERTIFICATE_SECRET);
    await soon(async () => expect((await fixture.pool()).status?.version).toBe("4.18.0"));
    const passes = fixture.passes.length;
    await publish(clusterAt("[fd00::5]:443", { ignitionAddresses: "10.0.0.5", networks: "machine: [10.0.0.0/8]" }));
    await soon(async () => expect(fixture.passes.slice(passes)).toContain("certificate"));
    expect(await stored(SERVING_CERTIFICATE_SECRET)).toEqual(before);
    expect(issued.at(-1)).toBe("the certificate ignition-server was issued: it is for other names or addresses");
  });

  test("is issued again a month before its end, though nothing else happens", async () => {
    await fixture.addObjects(makePool());
    await publish(clusterAt("ignition.example"));
    fixture.start({ issuesCertificate: true, resyncMs: 50 });
    const first = await soon(serving);
    fixture.aheadMs = 334 * dayMs;
    const passes = fixture.passes.length;
    // Of two that end from now on the second has begun from now on.
    await soon(async () =>
      expect(fixture.passes.slice(passes).filter((key) => key === "certificate").length).toBeGreaterThan(1),
    );
    expect((await serving()).fingerprint256).toBe(first.fingerprint256);
    fixture.aheadMs = 336 * dayMs;
    await soon(async () => expect((await serving()).fingerprint256).not.toBe(first.fingerprint256));
  });

  test("is issued again with its authority when both were deleted", async () => {
    const first = await issuing("ignition.example");
    // Then the controller has seen what it wrote: a directory does not tell of what comes and goes between two looks.
    await soon(async () => expect(await fixture.secrets("user-data-")).toHaveLength(1));
    await fixture.api.delete(secretAt(IGNITION_CA_SECRET));
    await fixture.api.delete(secretAt(SERVING_CERTIFICATE_SECRET));
    await soon(async () => {
      const certificate = await serving();
      expect(certificate.fingerprint256).not.toBe(first.fingerprint256);
      expect(certificate.verify(certificateIn(await stored(IGNITION_CA_SECRET)).publicKey)).toBe(true);
    });
  });

  test("is not made over one that a person put there, and that is said once", async () => {
    const own: Secret = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: SERVING_CERTIFICATE_SECRET, namespace },
      data: { "tls.crt": encoded("mine") },
    };
    await fixture.api.create(`/api/v1/namespaces/${namespace}/secrets`, own);
    await fixture.addObjects(makePool());
    await publish(clusterAt("ignition.example"));
    fixture.pace = 20;
    fixture.start({ issuesCertificate: true });
    await soon(async () => expect(fixture.passes.filter((key) => key === "certificate").length).toBeGreaterThan(2));
    expect((await stored(SERVING_CERTIFICATE_SECRET)).data).toEqual(own.data);
    const [complaint, ...more] = fixture.errors.filter((sentence) => sentence.includes("not made by drawbridge"));
    expect([complaint, more]).toEqual([expect.stringContaining("name its authority as ignitionCA"), []]);
  });

  test("is not issued unless the controller is asked to", async () => {
    await fixture.addObjects(makePool());
    await publish(clusterAt("ignition.example"));
    fixture.start();
    await soon(async () => {
      const { conditions = [] } = (await fixture.pool()).status ?? {};
      expect(conditions.find(({ type }) => type === "IgnitionEndpointAvailable")).toMatchObject({
        reason: "IgnitionCACertMissing",
        message: expect.stringContaining("--issue-certificate"),
      });
    });
    await expect(stored(SERVING_CERTIFICATE_SECRET)).rejects.toMatchObject({ status: 404 });
  });
});

describe("a server with its certificate in a Secret", () => {
  test("waits for it, and shows another one without losing who is connected; a broken one changes nothing", async () => {
    const problems: string[] = [];
    const held = new CertificateSecret(`${namespace}/${SERVING_CERTIFICATE_SECRET}`, (sentence) =>
      problems.push(sentence),
    );
    const see = async () => {
      const { items } = await fixture.api.list<Secret>(`/api/v1/namespaces/${namespace}/secrets`);
      held.changed(new Map(items.map((secret) => [`${namespace}/${secret.metadata?.name}`, secret])));
    };
    await issuing("127.0.0.1");
    await see();
    const recorder = { served: () => {}, refused: () => {} };
    const server = await startIgnitionServer(
      { host: "127.0.0.1", port: 0, certificates: await held.source() },
      { tokens: new TokenStore(), recorder },
    );
    const ca = secretText(await stored(IGNITION_CA_SECRET), "tls.crt") ?? "";
    const shown = async () => {
      const socket = connect({ host: "127.0.0.1", port: server.port, ca, checkServerIdentity: () => undefined });
      await once(socket, "secureConnect");
      const { subjectaltname } = socket.getPeerCertificate();
      socket.destroy();
      return subjectaltname;
    };
    const agent = new Agent({ keepAlive: true, maxSockets: 1, ca });
    const ask = async () => {
      const sent = request({ host: "127.0.0.1", port: server.port, path: "/healthz", agent });
      sent.end();
      const [response] = await once(sent, "response");
      response.resume();
      await once(response, "end");
      return [response.statusCode, sent.reusedSocket];
    };
    try {
      expect(await ask()).toEqual([200, false]);
      expect(await shown()).toBe("IP Address:127.0.0.1");
      await publish(clusterAt("127.0.0.1", { ignitionAddresses: "ignition.example" }));
      const answers: unknown[] = [];
      await soon(async () => {
        await see();
        // Asked all the while: a connection that rests for some seconds is closed.
        answers.push(await ask());
        expect(await shown()).toBe("DNS:ignition.example, IP Address:127.0.0.1");
      });
      answers.push(await ask());
      expect(answers).toEqual(answers.map(() => [200, true]));
      const secret = await stored(SERVING_CERTIFICATE_SECRET);
      const other = secretText(await stored(IGNITION_CA_SECRET), "tls.key") ?? "";
      held.changed(
        new Map([
          [
            `${namespace}/${SERVING_CERTIFICATE_SECRET}`,
            { metadata: { resourceVersion: "x" }, data: { ...secret.data, "tls.key": encoded(other) } },
          ],
        ]),
      );
      expect([problems.length, problems[0]]).toEqual([1, expect.stringContaining("cannot be used")]);
      expect(await shown()).toBe("DNS:ignition.example, IP Address:127.0.0.1");
    } finally {
      agent.destroy();
      await server.close();
    }
  });
});
