import { describe, expect, test } from "vitest";
import { clusterDnsAddress, queryServices, type ServiceName, serviceNameOf } from "./cluster-dns.js";

const NEVER = new AbortController().signal;

function servicesWith(known: Record<string, readonly string[]>) {
  const asked: string[] = [];
  return {
    asked,
    async find({ name, namespace }: ServiceName): Promise<readonly string[]> {
      asked.push(`${name}.${namespace}`);
      return known[`${name}.${namespace}`] ?? [];
    },
    close() {},
  };
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
  test("answer with every address of the Service, and are not asked for names of other kinds", async () => {
    const services = servicesWith({ "api.shop": ["10.0.0.1", "fd00::1"] });
    const ask = queryServices(services, "cluster.local");
    expect((await ask("api.shop.svc", NEVER)).addresses).toEqual(["10.0.0.1", "fd00::1"]);
    expect((await ask("api.shop.example.com", NEVER)).addresses).toEqual([]);
    expect(services.asked).toEqual(["api.shop"]);
  });
});

describe("the cluster's DNS", () => {
  test("is OpenShift's, or else the one of other clusters, looked up once until it fails", async () => {
    const plain = servicesWith({ "kube-dns.kube-system": ["10.96.0.10"] });
    const server = clusterDnsAddress(undefined, plain);
    expect([await server.find(NEVER), await server.find(NEVER)]).toEqual([
      { host: "10.96.0.10", port: 53 },
      { host: "10.96.0.10", port: 53 },
    ]);
    expect(plain.asked).toHaveLength(2);
    server.forget();
    await server.find(NEVER);
    expect(plain.asked).toHaveLength(4);
    const openshift = servicesWith({
      "kube-dns.kube-system": ["10.96.0.10"],
      "dns-default.openshift-dns": ["fd02::a"],
    });
    expect(await clusterDnsAddress(undefined, openshift).find(NEVER)).toEqual({ host: "fd02::a", port: 53 });
  });

  test("that is not found is reported with both Services' names", async () => {
    await expect(clusterDnsAddress(undefined, servicesWith({})).find(NEVER)).rejects.toThrow(/dns-default.*kube-dns/);
  });
});
