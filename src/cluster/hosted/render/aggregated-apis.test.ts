import { beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { createAuthority } from "../../../tunnel/pki/issue.js";
import type { KubeManifest } from "../../kube/apply.js";
import { checkConfig } from "../config/config.js";
import { hostedModel } from "../model/model.js";
import { renderHosted } from "./render.js";

let caBundle: string;
beforeAll(async () => {
  caBundle = (await createAuthority({ commonName: "root", validForMs: 60_000 })).certificatePem;
});

const addresses = { "openshift-apiserver": "172.30.10.11", "openshift-oauth-apiserver": "fd00::12" };

function rendered(endpointKind?: "Endpoints"): KubeManifest[] {
  const hypershift = Object.entries(addresses).map(([name, address]) => ({ name, address, caBundle }));
  const shared = { name: "metrics", address: "172.30.10.11", caBundle, apiServices: ["v2.metrics.example.com"] };
  const aggregatedApis = [...hypershift, shared, "172.30.10.99"];
  const document = { name: "demo", publishing: { type: "Route", hostname: "k.example.test" }, aggregatedApis };
  return renderHosted(hostedModel(checkConfig(document, "the test"), { version: "1", endpointKind })).objects.map(
    ({ manifest }) => manifest,
  );
}

const named = (kind: string, name: string, endpointKind?: "Endpoints"): KubeManifest => {
  const found = rendered(endpointKind).filter(({ kind: of, metadata }) => of === kind && metadata.name === name);
  expect(found, `${kind} ${name}`).toHaveLength(1);
  return found[0]!;
};

test("each aggregated API has a Service without pods and the control plane's address behind it", () => {
  for (const [name, ip] of Object.entries(addresses)) {
    const service = named("Service", name);
    expect(service.metadata).toEqual({ name, namespace: "default", labels: { "drawbridge-hosted": "clusters-demo" } });
    expect(service.spec).toEqual({ ports: [{ name: "https", protocol: "TCP", port: 443, targetPort: 443 }] });
    const ports = [{ name: "https", protocol: "TCP", port: 443 }];
    const { metadata, addressType, endpoints, ports: there } = named("EndpointSlice", name);
    expect(metadata.labels).toMatchObject({ "kubernetes.io/service-name": name, "drawbridge-hosted": "clusters-demo" });
    expect({ addressType, there }).toEqual({ addressType: ip.includes(":") ? "IPv6" : "IPv4", there: ports });
    expect(endpoints).toEqual([{ addresses: [ip], conditions: { ready: true } }]);
    // For kube-apiservers that read nothing else.
    expect(named("Endpoints", name, "Endpoints").subsets).toEqual([{ addresses: [{ ip }], ports }]);
  }
});

test("each aggregated API has an APIService for each group it serves, with HyperShift's priorities", () => {
  const services = rendered().filter(({ kind }) => kind === "APIService");
  const behind = (name: string) =>
    services
      .filter(({ spec }) => (spec as { service: { name: string } }).service.name === name)
      .map(({ metadata }) => metadata.name);
  expect(behind("openshift-apiserver")).toEqual(
    ["apps", "authorization", "build", "image", "project", "quota", "route", "security", "template"].map(
      (group) => `v1.${group}.openshift.io`,
    ),
  );
  expect(behind("openshift-oauth-apiserver")).toEqual(["v1.oauth.openshift.io", "v1.user.openshift.io"]);
  expect(behind("metrics")).toEqual(["v2.metrics.example.com"]);
  const { metadata, spec } = named("APIService", "v1.user.openshift.io");
  expect(metadata).toEqual({ name: "v1.user.openshift.io", labels: { "drawbridge-hosted": "clusters-demo" } });
  expect(spec).toEqual({
    group: "user.openshift.io",
    version: "v1",
    groupPriorityMinimum: 9900,
    versionPriority: 15,
    caBundle: Buffer.from(caBundle).toString("base64"),
    service: { name: "openshift-oauth-apiserver", namespace: "default", port: 443 },
  });
});

test("agents of the control plane claim, and may claim, each address of an aggregated API once", () => {
  const { spec } = named("Deployment", "konnectivity-agent") as unknown as {
    spec: { template: { spec: { containers: { args: string[] }[] } } };
  };
  expect(spec.template.spec.containers[0]!.args).toContain(
    "--agent-identifiers=ipv4=172.30.10.11&ipv6=fd00%3A%3A12&ipv4=172.30.10.99",
  );
  const { data } = named("ConfigMap", "konnectivity-agent-claims") as unknown as { data: Record<string, string> };
  const { rules } = parse(data["claims.yaml"]!) as { rules: { mayClaim: string[] }[] };
  expect(rules.at(-1)!.mayClaim).toEqual(["ipv4=172.30.10.11", "ipv6=fd00::12", "ipv4=172.30.10.99"]);
});
