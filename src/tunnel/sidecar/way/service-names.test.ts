import { describe, expect, test } from "vitest";
import { KubeApiError } from "../../../cluster/kube/errors.js";
import type { KubeApi } from "../../../cluster/kube/port.js";
import { dnsServerByService } from "./dns-service.js";
import { askServices, serviceNameOf } from "./service-names.js";

const NEVER = new AbortController().signal;

/** Answers GETs from a table of specs; a number is a refusal. */
function kubeWith(services: Record<string, object | number>) {
  const asked: string[] = [];
  const get = async (path: string): Promise<object> => {
    asked.push(path);
    const [, namespace, name] = /^\/api\/v1\/namespaces\/([^/]+)\/services\/([^/]+)$/.exec(path) ?? [];
    const found = services[`${name}.${namespace}`] ?? 404;
    if (typeof found === "number") throw new KubeApiError("no", { status: found });
    return { spec: found };
  };
  return { asked, open: async () => ({ get }) as unknown as KubeApi };
}

describe("the name of a Service", () => {
  test.each([
    ["api.shop", "api", "shop"],
    ["api.shop.svc", "api", "shop"],
    ["API.Shop.svc.Cluster.Local", "api", "shop"],
    ["api.shop.svc.cluster.local.", "api", "shop"],
  ])("can be %s", (host, name, namespace) => {
    expect(serviceNameOf(host, "cluster.local")).toEqual({ name, namespace });
  });

  test.each([
    "api",
    "localhost",
    "api.shop.example.com",
    "a.b.c",
    "api.shop.svc.other.domain",
    "api.shop.svc.cluster.local.evil.example",
    "..",
    ".shop",
    "api.",
    "a_b.shop",
    "-a.shop",
    `${"a".repeat(64)}.shop`,
    "a/../../nodes.shop",
  ])("cannot be %s", (host) => {
    expect(serviceNameOf(host, "cluster.local")).toBeUndefined();
  });
});

describe("Services as a resolver", () => {
  test("answers with every address of the Service", async () => {
    const kube = kubeWith({ "api.shop": { clusterIP: "10.0.0.1", clusterIPs: ["10.0.0.1", "fd00::1"] } });
    const { addresses } = await askServices(kube.open, "cluster.local")("api.shop.svc", NEVER);
    expect(addresses).toEqual(["10.0.0.1", "fd00::1"]);
  });

  test.each([
    ["is headless", { clusterIP: "None", clusterIPs: ["None"] }],
    ["stands for an outside name", { externalName: "db.example" }],
    ["does not exist", 404],
  ])("knows nothing when the Service %s", async (_, spec) => {
    const kube = kubeWith({ "api.shop": spec });
    expect((await askServices(kube.open, "cluster.local")("api.shop", NEVER)).addresses).toEqual([]);
    expect(kube.asked).toHaveLength(1);
  });

  test("says so when it may not look, and does not look for names of other kinds", async () => {
    const kube = kubeWith({ "api.shop": 403 });
    const ask = askServices(kube.open, "cluster.local");
    await expect(ask("api.shop", NEVER)).rejects.toMatchObject({ status: 403 });
    expect((await ask("api.shop.example.com", NEVER)).addresses).toEqual([]);
    expect(kube.asked).toHaveLength(1);
  });
});

describe("the cluster's DNS", () => {
  test("is OpenShift's, or else the one of other clusters, looked up once until it fails", async () => {
    const plain = kubeWith({ "kube-dns.kube-system": { clusterIP: "10.96.0.10" } });
    const server = dnsServerByService(plain.open);
    expect([await server.find(NEVER), await server.find(NEVER)]).toEqual([
      { host: "10.96.0.10", port: 53 },
      { host: "10.96.0.10", port: 53 },
    ]);
    expect(plain.asked).toHaveLength(2);
    server.forget();
    await server.find(NEVER);
    expect(plain.asked).toHaveLength(4);
    const openshift = kubeWith({
      "kube-dns.kube-system": { clusterIP: "10.96.0.10" },
      "dns-default.openshift-dns": { clusterIP: "fd02::a" },
    });
    expect(await dnsServerByService(openshift.open).find(NEVER)).toEqual({ host: "fd02::a", port: 53 });
  });

  test("is missed in words", async () => {
    await expect(dnsServerByService(kubeWith({}).open).find(NEVER)).rejects.toThrow(/dns-default.*kube-dns/);
  });
});
