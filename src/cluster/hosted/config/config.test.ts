import { describe, expect, test } from "vitest";
import { DrawbridgeError } from "../../../base/errors/error.js";
import { checkConfig } from "./config.js";

const least = { name: "demo", publishing: { type: "Route", hostname: "konnectivity.example.test" } };
const check = (document: unknown) => checkConfig(document, "hosted.yaml");
const faultsOf = (document: unknown): string => {
  try {
    check(document);
  } catch (reason) {
    expect(reason).toBeInstanceOf(DrawbridgeError);
    expect((reason as DrawbridgeError).code).toBe("DB_HOSTED_CONFIG");
    return (reason as DrawbridgeError).message;
  }
  return "";
};

test("a description with name and publishing alone gets HyperShift's defaults", () => {
  expect(check(least)).toMatchObject({
    controlPlaneNamespace: "clusters-demo",
    replicas: 3,
    publishing: { type: "Route", host: "konnectivity.example.test", port: 443, router: "management" },
    image: { kind: "drawbridge" },
    signers: "separate",
    certificates: { validDays: 365, renewDays: 30 },
    tls: { minVersion: "VersionTLS12" },
    agentHostNetwork: true,
    priorityClass: undefined,
    apiServerPort: undefined,
  });
});

test("the control plane's namespace is made of the owner's and the name, with dots replaced", () => {
  expect(check({ ...least, name: "demo.one", namespace: "own" }).controlPlaneNamespace).toBe("own-demo-one");
});

test("agents with shared signers get HyperShift's priority class", () => {
  expect(check({ ...least, signers: "shared" }).priorityClass).toBe("hypershift-control-plane");
});

test.each([
  [
    { type: "NodePort", address: "192.0.2.1", port: 30091 },
    { host: "192.0.2.1", port: 30091 },
  ],
  [{ type: "LoadBalancer" }, { host: undefined, port: 8091 }],
  [
    { type: "LoadBalancer", address: "2001:db8::1" },
    { host: "2001:db8::1", port: 8091 },
  ],
  [{ type: "Route" }, { host: undefined, port: 443 }],
])("publishing %j is read", (publishing, expected) => {
  expect(check({ ...least, publishing }).publishing).toMatchObject(expected);
});

describe("every fault is named, with what to do", () => {
  test("all faults of a description are in one message", () => {
    const faults = faultsOf({ nmae: "demo", publishing: { type: "route" }, replicas: 0, signers: "one" });
    expect(faults).toMatch(/^hosted\.yaml cannot be used: /);
    for (const part of [
      "name is missing (give the cluster's name as in DNS)",
      "nmae does not exist (known here: name, namespace,",
      "publishing.type is not one of Route, NodePort, LoadBalancer",
      "replicas is not a whole number from 1 to 9",
      "signers is not one of separate, shared",
    ])
      expect(faults).toContain(part);
  });

  test.each<[object, string]>([
    [{ name: "Demo" }, 'name "Demo" cannot be used'],
    [{ controlPlaneNamespace: "a.b" }, '"a.b" is no namespace\'s name'],
    [{ publishing: { type: "NodePort" } }, "publishing.address is missing"],
    [{ publishing: { type: "NodePort", address: "192.0.2.1" } }, "publishing.port is missing"],
    [{ publishing: { type: "Route", address: "192.0.2.1" } }, "a Route cannot be reached by IP address"],
    [{ publishing: { type: "Route", hostname: "192.0.2.1" } }, "is no DNS name"],
    [{ publishing: { type: "LoadBalancer", hostname: "a.test", address: "192.0.2.1" } }, "both hostname and address"],
    [{ publishing: { type: "LoadBalancer", port: 443 } }, "agents dial 8091"],
    [{ publishing: { ...least.publishing, prot: 1 } }, "publishing.prot does not exist"],
    [{ image: { kind: "payload" } }, "image.server is missing"],
    [{ image: { server: "a b" } }, 'image.server "a b" is no pull spec'],
    [{ aggregatedApis: ["172.30.0.0/99"] }, 'aggregatedApis has "172.30.0.0/99"'],
    [{ aggregatedApis: ["172.30.0.0/16"], image: { kind: "upstream" } }, "only drawbridge's own server"],
    [{ aggregatedApis: "172.30.0.1" }, "aggregatedApis is not a list of texts"],
    [{ networks: { service: ["172.30.0.0"] } }, 'networks.service has "172.30.0.0"'],
    [{ proxy: {} }, "proxy has neither http nor https"],
    [{ certificates: { validDays: 10, renewDays: 10 } }, "make renewDays smaller than validDays"],
    [{ tls: { minVersion: "TLS1.2" } }, "tls.minVersion is not one of VersionTLS12, VersionTLS13"],
    [{ connectionChecker: true, image: { kind: "upstream" } }, "connectionChecker needs drawbridge's own image"],
    [{ replicas: "3" }, "without quotes"],
  ])("%j is refused with what to do", (change, expected) => {
    expect(faultsOf({ ...least, ...change })).toContain(expected);
  });

  test("a proxy's password is not repeated", () => {
    const faults = faultsOf({ ...least, proxy: { https: "socks5://me:secret@proxy.test" } });
    expect(faults).toContain("proxy.https is no proxy's URL");
    expect(faults).not.toContain("secret");
  });

  test.each([["text"], [["list"]], [7]])("a document that is %j is refused", (document) => {
    expect(faultsOf(document)).toContain("the document is not a mapping");
  });
});
