import { beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { keepOrIssue } from "../../../tunnel/pki/keep.js";
import { hostedProfile } from "../../../tunnel/pki/profiles.js";
import { parseClaimRules } from "../../../tunnel/server/agents/claims.js";
import type { Identifiers } from "../../../tunnel/wire/identifiers.js";
import type { KubeManifest } from "../../kube/apply.js";
import { checkConfig } from "../config/config.js";
import { type HostedModel, hostedModel, pkiOptions } from "../model/model.js";
import type { Certificates } from "./certificates.js";
import type { Side } from "./manifest.js";
import { hostedFiles, type Rendering, renderedStream, renderHosted, withHiddenValues } from "./render.js";

const routed = { name: "demo", publishing: { type: "Route", hostname: "konnectivity.example.test" } };
const modelOf = (change: object = {}): HostedModel =>
  hostedModel(checkConfig({ ...routed, ...change }, "the test"), { version: "1.2.3" });

async function certificatesOf(model: HostedModel): Promise<Certificates> {
  const nothing = { signers: new Map(), leaves: new Map() };
  return keepOrIssue(hostedProfile(pkiOptions(model)), nothing, { renewBeforeMs: 0 });
}

function find({ objects }: Rendering, kind: string, name: string, side: Side = "control-plane"): KubeManifest {
  const found = objects.filter(
    ({ manifest, side: of }) => of === side && manifest.kind === kind && manifest.metadata.name === name,
  );
  expect(found, `${side} ${kind} ${name}`).toHaveLength(1);
  return found[0]!.manifest;
}

const listOf = ({ objects }: Rendering, side: Side): string[] =>
  objects.filter((object) => object.side === side).map(({ manifest }) => `${manifest.kind} ${manifest.metadata.name}`);

interface Container {
  readonly name: string;
  readonly args: string[];
  readonly env?: { name: string; value?: string }[];
}
interface PodSpec {
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
}
const podOf = (manifest: object): PodSpec => (manifest as { spec: { template: { spec: PodSpec } } }).spec.template.spec;

describe("both sides", () => {
  let certificates: Certificates;
  const model = modelOf({ aggregatedApis: ["172.30.10.11", "172.30.10.12"] });
  let rendering: Rendering;
  beforeAll(async () => {
    certificates = await certificatesOf(model);
    rendering = renderHosted(model, certificates);
  });

  test("the control plane has all of its objects", () => {
    expect(listOf(rendering, "control-plane").toSorted()).toEqual(
      [
        ...["server", "client", "agent", "control-plane-agent"].map((role) => `Secret konnectivity-${role}-signer`),
        ...["server", "cluster", "client", "agent", "control-plane-agent"].map((role) => `Secret konnectivity-${role}`),
        ...["", "agent-", "client-"].map((role) => `ConfigMap konnectivity-${role}ca-bundle`),
        "ConfigMap kas-egress-selector-config",
        "ConfigMap konnectivity-agent-claims",
        "Service konnectivity-server-local",
        "Service konnectivity-server",
        "Route konnectivity-server",
        "NetworkPolicy konnectivity-server",
        "NetworkPolicy route-konnectivity-kas",
        "ServiceAccount konnectivity-agent",
        "Deployment konnectivity-agent",
      ].toSorted(),
    );
  });

  test("the hosted cluster has its agents and what they need, no signer and nobody else's key", () => {
    expect(listOf(rendering, "hosted")).toEqual([
      "Secret konnectivity-agent",
      "ConfigMap konnectivity-ca-bundle",
      "Namespace kube-system",
      "ServiceAccount konnectivity-agent",
      "DaemonSet konnectivity-agent",
      "ConfigMap control-plane-connectivity-check",
      ...["ServiceAccount", "Role", "RoleBinding", "Deployment"].map((kind) => `${kind} kas-connection-checker`),
    ]);
    const text = JSON.stringify(rendering.objects.filter(({ side }) => side === "hosted"));
    for (const [name, { privateKeyPem }] of [...certificates.signers, ...certificates.leaves]) {
      const isThere = text.includes(Buffer.from(privateKeyPem).toString("base64"));
      expect({ name, isThere }).toEqual({ name, isThere: name === "konnectivity-agent" });
    }
  });

  test("one label is on all that is ours, and not on what is borrowed", () => {
    for (const { manifest, isBorrowed } of rendering.objects) {
      expect(manifest.metadata.labels?.["drawbridge-hosted"]).toBe(isBorrowed ? undefined : "clusters-demo");
    }
  });

  test("the server's flags, in HyperShift's order", () => {
    const patch = rendering.patches.find(({ file }) => file === "patches/kube-apiserver.yaml")!;
    const [server] = podOf(patch.document).initContainers!;
    expect(server!.args).toEqual([
      "--logtostderr=true",
      "--log-file-max-size=0",
      "--cluster-cert=/etc/konnectivity/cluster/tls.crt",
      "--cluster-key=/etc/konnectivity/cluster/tls.key",
      "--cluster-ca-cert=/etc/konnectivity/agent-ca/ca.crt",
      "--server-cert=/etc/konnectivity/server/tls.crt",
      "--server-key=/etc/konnectivity/server/tls.key",
      "--server-ca-cert=/etc/konnectivity/client-ca/ca.crt",
      "--server-port=8090",
      "--agent-port=8091",
      "--health-port=2041",
      "--admin-port=8093",
      "--mode=http-connect",
      "--proxy-strategies=destHost,defaultRoute",
      "--keepalive-time=30s",
      "--frontend-keepalive-time=30s",
      "--server-count=3",
      "--tls-min-version=VersionTLS12",
      "--agent-claims-file=/etc/konnectivity/claims/claims.yaml",
      "--graceful-shutdown-timeout=50s",
      "--readiness=all",
      "--wait-for-agent=5s",
    ]);
  });

  test("agents are configured with the address to dial and with what they claim", () => {
    const hosted = podOf(find(rendering, "DaemonSet", "konnectivity-agent", "hosted")).containers[0]!.args;
    expect(hosted).toEqual(
      expect.arrayContaining([
        "--proxy-server-host=konnectivity.example.test",
        "--proxy-server-port=443",
        "--agent-identifiers=default-route=true",
        "--health-server-host=127.0.0.1",
        "--sync-interval=5s",
        "--sync-interval-cap=30s",
        "--sync-forever=true",
        "--ready-with=all",
      ]),
    );
    const inside = podOf(find(rendering, "Deployment", "konnectivity-agent")).containers[0]!.args;
    expect(inside).toEqual(
      expect.arrayContaining([
        "--proxy-server-host=konnectivity-server",
        "--proxy-server-port=8091",
        "--agent-identifiers=ipv4=172.30.10.11&ipv4=172.30.10.12",
      ]),
    );
    const { data } = find(rendering, "ConfigMap", "konnectivity-agent-claims") as unknown as {
      data: Record<string, string>;
    };
    expect(parse(data["claims.yaml"]!)).toEqual({
      rules: [
        { match: { issuer: "CN=konnectivity-agent-signer,OU=kubernetes" }, mayClaim: ["default-route"] },
        {
          match: { issuer: "CN=konnectivity-control-plane-agent-signer,OU=kubernetes" },
          mayClaim: ["ipv4=172.30.10.11", "ipv4=172.30.10.12"],
          exclusive: true,
        },
      ],
    });
  });

  test("files of Secrets are private, and nothing printed without asking holds a key", () => {
    const files = hostedFiles(rendering);
    expect(new Set(files.map(({ name }) => name)).size).toBe(files.length);
    for (const { name, mode } of files)
      expect({ name, mode }).toEqual({ name, mode: name.includes("/secret-") ? 0o600 : 0o644 });
    const objects = rendering.objects.map((object) => ({ ...object, manifest: withHiddenValues(object.manifest) }));
    const printed = renderedStream(objects, rendering.patches);
    expect(printed).toContain("<hidden, sha256 ");
    for (const [, { privateKeyPem }] of certificates.leaves)
      expect(printed).not.toContain(Buffer.from(privateKeyPem).toString("base64").slice(0, 40));
  });
});

describe("publishing", () => {
  const policyOf = (rendering: Rendering, name: string) => find(rendering, "NetworkPolicy", name).spec;
  const agents = [{ protocol: "TCP", port: 8091 }];

  test("by NodePort opens 8091 to everybody", () => {
    const rendering = renderHosted(modelOf({ publishing: { type: "NodePort", address: "192.0.2.7", port: 30_091 } }));
    expect(find(rendering, "Service", "konnectivity-server").spec).toMatchObject({
      type: "NodePort",
      ports: [{ port: 8091, targetPort: 8091, nodePort: 30_091 }],
    });
    expect(policyOf(rendering, "nodeport-konnectivity-kas")).toMatchObject({ ingress: [{ ports: agents }] });
    expect(listOf(rendering, "control-plane")).not.toContain("Route konnectivity-server");
    expect(podOf(find(rendering, "DaemonSet", "konnectivity-agent", "hosted")).containers[0]!.args).toEqual(
      expect.arrayContaining(["--proxy-server-host=192.0.2.7", "--proxy-server-port=30091"]),
    );
  });

  test("by LoadBalancer opens 8091, too, which HyperShift forgets", () => {
    const rendering = renderHosted(modelOf({ publishing: { type: "LoadBalancer", hostname: "lb.example.test" } }));
    expect(policyOf(rendering, "loadbalancer-konnectivity-kas")).toMatchObject({ ingress: [{ ports: agents }] });
    const { metadata, spec } = find(rendering, "Service", "konnectivity-server");
    expect(metadata.annotations).toEqual({ "external-dns.alpha.kubernetes.io/hostname": "lb.example.test" });
    expect(spec).toMatchObject({ type: "LoadBalancer" });
    const byAddress = renderHosted(modelOf({ publishing: { type: "LoadBalancer", address: "192.0.2.7" } }));
    expect(find(byAddress, "Service", "konnectivity-server").metadata.annotations).toBeUndefined();
  });

  test.each([
    ["management", [{ namespaceSelector: { matchLabels: { "network.openshift.io/policy-group": "ingress" } } }]],
    ["cluster", [{ podSelector: {} }]],
  ])("by Route opens 8091 to the %s's routers only", (router, from) => {
    const rendering = renderHosted(modelOf({ publishing: { ...routed.publishing, router } }));
    expect(policyOf(rendering, "route-konnectivity-kas")).toMatchObject({ ingress: [{ from, ports: agents }] });
    expect(find(rendering, "Route", "konnectivity-server").spec).toMatchObject({
      host: "konnectivity.example.test",
      tls: { termination: "passthrough", insecureEdgeTerminationPolicy: "None" },
    });
  });

  test("the frontend port is open inside the namespace only, and the kube-apiserver's stays open", () => {
    const { ingress } = policyOf(renderHosted(modelOf()), "konnectivity-server") as {
      ingress: { from?: object; ports: { port: number }[] }[];
    };
    const doors = ingress.map(({ from, ports }) => [from, ports.map(({ port }) => port)]);
    expect(doors).toContainEqual([[{ podSelector: {} }], [8090, 8091]]);
    expect(doors).toContainEqual([undefined, [6443]]);
  });

  test.each([
    [1, "drawbridge", undefined],
    [1, "upstream", true],
    [3, "upstream", undefined],
  ])("agents find servers that are not ready; callers only where %i is all there is and its image %s's", (...row) => {
    const [replicas, kind, expected] = row;
    const rendering = renderHosted(modelOf({ replicas, image: { kind } }));
    expect(find(rendering, "Service", "konnectivity-server").spec).toMatchObject({ publishNotReadyAddresses: true });
    const { spec } = find(rendering, "Service", "konnectivity-server-local");
    expect((spec as { publishNotReadyAddresses?: boolean }).publishNotReadyAddresses).toBe(expected);
  });

  test("without an address nothing can be rendered", () => {
    expect(() => modelOf({ publishing: { type: "LoadBalancer" } })).toThrow(
      expect.objectContaining({ code: "DB_HOSTED_ADDRESS" }),
    );
  });
});

describe("one signer for all, in place of a HyperShift's own", () => {
  const model = modelOf({ signers: "shared", aggregatedApis: ["172.30.10.11"] });

  // Five RSA keys, which take as long as luck and the machine will have it.
  test("has HyperShift's Secrets and its one bundle", async () => {
    const rendering = renderHosted(model, await certificatesOf(model));
    const found = listOf(rendering, "control-plane").filter((name) => /^Secret|bundle$/.test(name));
    expect(found.toSorted()).toEqual([
      "ConfigMap konnectivity-ca-bundle",
      ...["agent", "client", "cluster", "server", "signer"].map((name) => `Secret konnectivity-${name}`),
    ]);
    const { data } = find(rendering, "Secret", "konnectivity-signer");
    expect(Object.keys(data as object)).toEqual(["ca.crt", "ca.key", "tls.crt", "tls.key"]);
  }, 60_000);

  test("still keeps callers of the tunnel from becoming agents", () => {
    const { data } = find(renderHosted(model), "ConfigMap", "konnectivity-agent-claims") as unknown as {
      data: Record<string, string>;
    };
    const match = { subject: "CN=konnectivity-agent,O=kubernetes" };
    expect(parse(data["claims.yaml"]!)).toEqual({
      rules: [{ match, mayClaim: ["default-route", "ipv4=172.30.10.11"] }],
    });
  });
});

describe("the server's own reading of the claim rules", () => {
  const rulesOf = (change: object) => {
    const { data } = find(renderHosted(modelOf(change)), "ConfigMap", "konnectivity-agent-claims") as unknown as {
      data: Record<string, string>;
    };
    return parseClaimRules(parse(data["claims.yaml"]!), "claims.yaml");
  };
  const principal = (leaf: string) => ({
    subject: `CN=${leaf},O=kubernetes`,
    issuer: `CN=${leaf}-signer,OU=kubernetes`,
    serviceAccount: "",
  });
  const nothing: Identifiers = { ipv4: [], ipv6: [], host: [], cidr: [], defaultRoute: false };
  const change = { aggregatedApis: ["172.30.10.11", "fd00::5", "10.9.0.0/24"] };

  test("workers get the default route, control-plane agents their addresses, neither the other's, others nothing", () => {
    const rules = rulesOf(change);
    const [worker, inside, caller] = ["agent", "control-plane-agent", "client"].map((role) =>
      principal(`konnectivity-${role}`),
    );
    const addresses = { ...nothing, ipv4: ["172.30.10.11"], ipv6: ["fd00::5"], cidr: ["10.9.0.0/24"] };
    const route = { ...nothing, defaultRoute: true };
    expect(rules.refusal(worker!, route)).toBeUndefined();
    expect(rules.refusal(inside!, addresses)).toBeUndefined();
    expect(rules.refusal(worker!, { ...route, ipv4: ["172.30.10.11"] })).toContain("may not claim ipv4=172.30.10.11");
    expect(rules.refusal(inside!, route)).toContain("may not claim default-route");
    expect(rules.refusal(inside!, { ...nothing, ipv4: ["172.30.10.99"] })).toContain("may not claim");
    expect(rules.refusal(caller!, nothing)).toContain("no claim rule matches");
  });

  test("with one signer callers of the tunnel may claim nothing", () => {
    const shared = { issuer: "CN=konnectivity-signer,OU=kubernetes" };
    const rules = rulesOf({ ...change, signers: "shared" });
    expect(rules.refusal({ ...principal("konnectivity-agent"), ...shared }, { ...nothing, defaultRoute: true })).toBe(
      undefined,
    );
    expect(rules.refusal({ ...principal("konnectivity-client"), ...shared }, nothing)).toContain("no claim rule");
  });
});

describe("images", () => {
  const probes = (change: object, name: string) => {
    const found = named(renderHosted(modelOf(change)), name) as unknown as Record<
      "livenessProbe" | "readinessProbe",
      { httpGet: { path: string }; periodSeconds: number; failureThreshold: number }
    >;
    const shown = ({ httpGet: { path }, periodSeconds, failureThreshold }: typeof found.livenessProbe) => ({
      ...{ path, periodSeconds, failureThreshold },
    });
    return { live: shown(found.livenessProbe), ready: shown(found.readinessProbe) };
  };

  test("our server's pod takes callers once the server had its agents; one in Go cannot tell", () => {
    const live = { path: "/healthz", periodSeconds: 60, failureThreshold: 3 };
    expect(probes({}, "konnectivity-server")).toEqual({
      live,
      ready: { path: "/readyz/first-agent", periodSeconds: 2, failureThreshold: 3 },
    });
    expect(probes({ image: { kind: "upstream" } }, "konnectivity-server")).toEqual({
      live,
      ready: { path: "/healthz", periodSeconds: 10, failureThreshold: 3 },
    });
  });

  const ofKind = (kind: string) => ({
    image: { kind, server: "r.example/a:1", agent: "r.example/a:1", sidecar: "r.example/b:1" },
  });
  interface SidecarLife {
    readonly restartPolicy?: string;
    readonly startupProbe?: { readonly periodSeconds: number; readonly failureThreshold: number };
    readonly lifecycle?: { readonly preStop: object };
  }
  const lifeOf = (change: object) =>
    named(renderHosted(modelOf(change)), "konnectivity-server") as unknown as SidecarLife;

  test("a kube-apiserver starts when our server beside it had an agent, 15 s later at the latest, and ends before it", () => {
    const { restartPolicy, startupProbe, lifecycle } = lifeOf({});
    expect({ restartPolicy, lifecycle }).toEqual({ restartPolicy: "Always", lifecycle: undefined });
    expect(startupProbe).toMatchObject({ httpGet: { path: "/readyz/first-agent?within=15s", port: 2041 } });
    // The kubelet would restart a server that takes longer than that.
    expect(startupProbe!.periodSeconds * startupProbe!.failureThreshold).toBe(120);
  });

  test.each(["payload", "upstream"])(
    "%s's server, which cannot tell when it had an agent, ends after the kube-apiserver",
    (kind) => {
      const { restartPolicy, startupProbe, lifecycle } = lifeOf(ofKind(kind));
      expect([restartPolicy, startupProbe, lifecycle]).toEqual(["Always", undefined, undefined]);
    },
  );

  test.each([
    ["drawbridge", { exec: { command: ["/bin/sh", "-c", "sleep 80"] } }],
    ["payload", { exec: { command: ["/bin/sh", "-c", "sleep 70"] } }],
    // Its image has no program that sleeps.
    ["upstream", undefined],
  ])("%s's server in an ordinary container pauses for its kube-apiserver by %j", (kind, preStop) => {
    const { restartPolicy, startupProbe, lifecycle } = lifeOf({ ...ofKind(kind), nativeSidecar: false });
    expect([restartPolicy, startupProbe, lifecycle?.preStop]).toEqual([undefined, undefined, preStop]);
  });

  test.each([
    [true, ["initContainers", "volumes"]],
    [false, ["containers", "volumes"]],
  ])("with nativeSidecar: %s a pod that its owner writes gets %j", (nativeSidecar, fields) => {
    const { document } = renderHosted(modelOf({ nativeSidecar })).patches[1]!;
    expect(Object.keys(document)).toEqual(fields);
  });

  test("our agents are ready soon, and stay it for ten minutes without one of the servers", () => {
    const live = { path: "/healthz", periodSeconds: 30, failureThreshold: 6 };
    expect(probes({}, "konnectivity-agent")).toEqual({
      live,
      ready: { path: "/readyz", periodSeconds: 5, failureThreshold: 120 },
    });
    expect(probes({ image: { kind: "upstream" } }, "konnectivity-agent")).toEqual({
      live,
      ready: { path: "/readyz", periodSeconds: 30, failureThreshold: 1 },
    });
  });

  const containers = (rendering: Rendering) =>
    [find(rendering, "DaemonSet", "konnectivity-agent", "hosted"), rendering.patches[0]!.document].flatMap((object) => [
      ...(podOf(object).initContainers ?? []),
      ...podOf(object).containers,
    ]) as unknown as { name: string; image: string; command: string[]; args: string[]; resources: object }[];
  const named = (rendering: Rendering, name: string) =>
    containers(rendering).find((container) => container.name === name)!;

  test("ours gets the memory that Node was measured with", () => {
    const rendering = renderHosted(modelOf());
    expect(named(rendering, "konnectivity-agent")).toMatchObject({
      image: "localhost/drawbridge:1.2.3",
      command: ["/usr/bin/proxy-agent"],
      resources: { requests: { cpu: "40m", memory: "96Mi" }, limits: { memory: "640Mi" } },
    });
  });

  test("programs in Go get only flags that they have, and are restarted for new certificates", async () => {
    const images = { server: "quay.example/anp:1", agent: "quay.example/anp:1", sidecar: "quay.example/cpo:1" };
    for (const [kind, bin] of [
      ["payload", "/usr/bin"],
      ["upstream", ""],
    ] as const) {
      const model = modelOf({ image: kind === "payload" ? { kind, ...images } : { kind } });
      const [first, second] = [await certificatesOf(model), await certificatesOf(model)];
      const rendering = renderHosted(model, first);
      const server = named(rendering, "konnectivity-server");
      expect(server).toMatchObject({ command: [`${bin}/proxy-server`], resources: { requests: { memory: "50Mi" } } });
      expect(server.args.filter((flag) => /claims|graceful|readiness|wait-for/.test(flag))).toEqual([]);
      const agent = named(rendering, "konnectivity-agent").args;
      expect(agent.filter((flag) => /drain|ready-with/.test(flag))).toEqual([]);
      expect(agent).toEqual(expect.arrayContaining(["--sync-interval=5s", "--sync-interval-cap=30s"]));
      const hashOf = (certificates: Certificates) => {
        const template = (
          find(renderHosted(model, certificates), "DaemonSet", "konnectivity-agent", "hosted").spec as {
            template: { metadata: { annotations: Record<string, string> } };
          }
        ).template;
        return template.metadata.annotations["component.hypershift.openshift.io/config-hash"];
      };
      expect(hashOf(first)).toMatch(/^[0-9a-f]{16}$/);
      expect(hashOf(first)).not.toBe(hashOf(second));
    }
    const { objects, patches } = renderHosted(modelOf(), await certificatesOf(modelOf()));
    const others = patches.filter(({ file }) => file !== "patches/kube-apiserver.yaml");
    expect(JSON.stringify([objects, others])).not.toContain("config-hash");
  });

  test("a kube-apiserver reads its certificate and whom to trust when it starts, so it is rolled out for new ones", async () => {
    const hashOf = (model: HostedModel, certificates: Certificates) => {
      const patch = renderHosted(model, certificates).patches.find(
        ({ file }) => file === "patches/kube-apiserver.yaml",
      );
      const { spec } = patch!.document as { spec: { template: { metadata: { annotations: Record<string, string> } } } };
      return spec.template.metadata.annotations["component.hypershift.openshift.io/config-hash"];
    };
    const model = modelOf();
    const [first, second] = [await certificatesOf(model), await certificatesOf(model)];
    const changed = (part: "leaves" | "bundles", name: string): Certificates => ({
      ...first,
      [part]: new Map<string, unknown>(first[part]).set(name, second[part].get(name)),
    });
    const before = hashOf(model, first);
    expect(before).toMatch(/^[0-9a-f]{16}$/);
    expect(hashOf(model, changed("leaves", "konnectivity-client"))).not.toBe(before);
    expect(hashOf(model, changed("bundles", "konnectivity-ca-bundle"))).not.toBe(before);
    // These are the server's, which takes up new ones while it runs.
    expect(hashOf(model, changed("leaves", "konnectivity-server"))).toBe(before);
    expect(hashOf(model, changed("bundles", "konnectivity-client-ca-bundle"))).toBe(before);
    // By a socket it needs none.
    const bySocket = modelOf({ profile: "generic" });
    expect(hashOf(bySocket, await certificatesOf(bySocket))).toBeUndefined();
  });
});

describe("sidecars", () => {
  const sidecarsOf = (component: string, change: object = {}) => {
    const patch = renderHosted(modelOf(change)).patches.find(({ file }) => file === `patches/${component}.yaml`)!;
    return podOf(patch.document).containers;
  };
  const variables = (component: string, change: object = {}) => {
    const { env = [] } = sidecarsOf(component, change).find(({ name }) => name === component) ?? {};
    return Object.fromEntries(env.map(({ name, value }) => [name, value]));
  };

  test.each<[string, [string, string[]][]]>([
    ["openshift-apiserver", [["konnectivity-proxy-https", []]]],
    ["openshift-oauth-apiserver", [["konnectivity-proxy-socks5", ["--resolve-from-guest-cluster-dns=true"]]]],
    [
      "oauth-openshift",
      [
        ["konnectivity-proxy-https", ["--serving-port=8092", "--connect-directly-to-cloud-apis=true"]],
        [
          "konnectivity-proxy-socks5",
          ["--resolve-from-guest-cluster-dns=true", "--resolve-from-management-cluster-dns=true"],
        ],
      ],
    ],
    ["ingress-operator", [["konnectivity-proxy-https", ["--connect-directly-to-cloud-apis=true"]]]],
    ["cluster-network-operator", [["konnectivity-proxy-socks5", ["--disable-resolver=true"]]]],
    ["olm-operator", [["konnectivity-proxy-socks5", []]]],
    ["catalog-operator", [["konnectivity-proxy-socks5", []]]],
    ["packageserver", [["konnectivity-proxy-socks5", []]]],
    ["ovnkube-control-plane", [["socks-proxy", []]]],
  ])("the sidecars of %s are as HyperShift has them", (component, expected) => {
    const found = sidecarsOf(component).filter(({ name }) => name !== component);
    const theirs = (args: readonly string[]) => args.filter((flag) => !flag.startsWith("--drain-timeout="));
    expect(found.map(({ name, args }) => [name, theirs(args)])).toEqual(
      expected.map(([name, args]) => [name, ["run", ...args]]),
    );
  });

  test.each([
    ["drawbridge", "openshift-apiserver", 20],
    ["drawbridge", "oauth-openshift", 20],
    ["payload", "openshift-apiserver", undefined],
    // It ends at once, and its successor waits for its pod to be gone.
    ["drawbridge", "ingress-operator", undefined],
  ])("%s's sidecars of %s go on for %s seconds while that ends", (kind, component, seconds) => {
    const image = { kind, server: "r.example/a:1", agent: "r.example/a:1", sidecar: "r.example/b:1" };
    const found = sidecarsOf(component, { image }).filter(({ name }) => name !== component) as unknown as {
      args: string[];
      lifecycle?: { preStop: { exec: { command: string[] } } };
    }[];
    for (const { args, lifecycle } of found) {
      expect(lifecycle?.preStop.exec.command).toEqual(seconds && ["/bin/sh", "-c", `sleep ${seconds}`]);
      // Together within the 30 s that a pod has unless its owner gave it more.
      expect(args.filter((flag) => flag.startsWith("--drain"))).toEqual(seconds ? ["--drain-timeout=8s"] : []);
    }
  });

  test("sidecars' addresses are in their component's environment", () => {
    expect(variables("oauth-openshift")).toEqual({
      HTTP_PROXY: "http://127.0.0.1:8092",
      HTTPS_PROXY: "http://127.0.0.1:8092",
      ALL_PROXY: "socks5://127.0.0.1:8090",
      NO_PROXY: `kube-apiserver,audit-webhook,${OAUTH}`,
    });
    expect(variables("olm-operator")).toEqual({
      GRPC_PROXY: "socks5://127.0.0.1:8090",
      NO_PROXY: "kube-apiserver,certified-operators,community-operators,redhat-operators",
    });
    expect(variables("cluster-network-operator")).toEqual({});
  });

  const OAUTH = "oauth-openshift.clusters-demo.svc.cluster.local";
  test.each([
    [
      "oauth-openshift",
      { platform: { type: "IBMCloud" } },
      `kube-apiserver,audit-webhook,${OAUTH},iam.cloud.ibm.com,iam.test.cloud.ibm.com`,
    ],
    ["packageserver", { olmCatalogPlacement: "guest" }, "kube-apiserver"],
    ["openshift-apiserver", {}, "kube-apiserver,etcd-client,audit-webhook"],
    ["openshift-apiserver", { etcdEndpoint: "https://etcd.example:2379" }, "kube-apiserver,etcd.example,audit-webhook"],
  ])("%s with %j reaches without a proxy what HyperShift lets it", (component, change, expected) => {
    expect(variables(component, change).NO_PROXY).toBe(expected);
  });

  test("HTTPS proxies trust the customer's authorities, those of its proxy and others", () => {
    const change = { additionalTrustBundle: "user-ca", proxy: { http: "http://p.test:1", trustedCA: "proxy-ca" } };
    const patch = renderHosted(modelOf(change)).patches.find(
      ({ file }) => file === "patches/openshift-apiserver.yaml",
    )!;
    const { containers, volumes } = podOf(patch.document) as unknown as {
      containers: { volumeMounts: { mountPath: string }[] }[];
      volumes: { projected?: { sources: { configMap: { name: string } }[] } }[];
    };
    expect(containers.at(-1)!.volumeMounts.map(({ mountPath }) => mountPath)).toEqual(
      expect.arrayContaining(
        ["additional-ca-bundle.pem", "proxy-trusted-ca.pem"].map((file) => `/etc/pki/tls/certs/${file}`),
      ),
    );
    const names = volumes.at(-1)!.projected!.sources.map(({ configMap }) => configMap.name);
    expect(names).toEqual(["user-ca", "proxy-ca"]);
  });

  test("chain to the customer's proxy, but not for the cluster's own networks", () => {
    const networks = { machine: ["0.0.0.0/0", "10.0.0.0/16"], service: ["172.31.0.0/16"], cluster: ["10.132.0.0/14"] };
    const proxy = {
      http: "http://proxy.test:3128",
      https: "http://proxy.test:3128",
      noProxy: [".corp.test", "10.0.0.0/16"],
    };
    const { args } = sidecarsOf("openshift-apiserver", { networks, proxy }).at(-1)!;
    expect(args).toEqual([
      "run",
      ...["--http-proxy", "http://proxy.test:3128", "--https-proxy", "http://proxy.test:3128", "--no-proxy"],
      ".cluster.local,.corp.test,.hypershift.local,.svc,10.0.0.0/16,10.132.0.0/14,127.0.0.1,172.31.0.0/16,localhost",
      ...["--prefer-ipv4=true", "--drain-timeout=8s"],
    ]);
    const dual = sidecarsOf("openshift-apiserver", { networks: { service: ["172.31.0.0/16", "fd01::/112"] } }).at(-1)!;
    expect(dual.args).toEqual(["run", "--drain-timeout=8s"]);
    const socks = sidecarsOf("olm-operator", { proxy }).at(-1)!;
    expect(socks.args).toEqual(["run"]);
  });
});

test("only sidecars that go past the tunnel get the management cluster's proxy", () => {
  const managementProxy = { https: "http://mgmt.test:3128", noProxy: [".svc"] };
  const { patches } = renderHosted(modelOf({ managementProxy }));
  const variables = (component: string, sidecar: string) => {
    const { document } = patches.find(({ file }) => file === `patches/${component}.yaml`)!;
    const { env = [] } = podOf(document).containers.find(({ name }) => name === sidecar)!;
    return Object.fromEntries(env.map(({ name, value }) => [name, value]));
  };
  expect(variables("oauth-openshift", "konnectivity-proxy-https")).toEqual({
    KUBECONFIG: "/etc/kubernetes/secrets/kubeconfig/kubeconfig",
    HTTP_PROXY: "",
    HTTPS_PROXY: "http://mgmt.test:3128",
    NO_PROXY: ".svc,kube-apiserver",
  });
  expect(Object.keys(variables("oauth-openshift", "konnectivity-proxy-socks5"))).toEqual(["KUBECONFIG"]);
});

test("addresses of any kind become the identifiers they are, and prefixes have their strategy", () => {
  const rendering = renderHosted(
    modelOf({ aggregatedApis: ["172.30.1.1", "fd00::5", "api.corp.test", "10.9.0.0/24"] }),
  );
  expect(podOf(find(rendering, "Deployment", "konnectivity-agent")).containers[0]!.args).toContain(
    "--agent-identifiers=ipv4=172.30.1.1&ipv6=fd00%3A%3A5&host=api.corp.test&cidr=10.9.0.0%2F24",
  );
});

test.each([
  [[], "destHost,defaultRoute", "any"],
  [["172.30.1.1"], "destHost,defaultRoute", "all"],
  [["172.30.1.1", "10.9.0.0/24"], "destHost,destCIDR,defaultRoute", "all"],
  // With destHost it would never have an agent of each.
  [["10.9.0.0/24"], "destCIDR,defaultRoute", "all"],
])(
  "a server for the aggregated APIs %j asks %s, and is ready with agents of %s",
  (aggregatedApis, asked, readiness) => {
    const server = podOf(renderHosted(modelOf({ aggregatedApis })).patches[0]!.document).initContainers![0]!;
    expect(server.args).toEqual(expect.arrayContaining([`--proxy-strategies=${asked}`, `--readiness=${readiness}`]));
  },
);

test("without aggregated APIs no agents run in the control plane", () => {
  expect(listOf(renderHosted(modelOf()), "control-plane")).not.toContain("Deployment konnectivity-agent");
});

test.each([
  [{}, true, "Default"],
  [{ agentHostNetwork: false }, undefined, "Default"],
  [{ platform: { type: "IBMCloud" } }, undefined, "Default"],
  [{ platform: { type: "IBMCloud", providerType: "VPC" } }, undefined, "Default"],
  [{ platform: { type: "IBMCloud", providerType: "UPI" } }, undefined, "ClusterFirst"],
])("agents with %j are in their nodes' network: %s, and have the DNS policy %s", (change, hostNetwork, dnsPolicy) => {
  const agent = podOf(find(renderHosted(modelOf(change)), "DaemonSet", "konnectivity-agent", "hosted"));
  expect(agent).toMatchObject({ dnsPolicy });
  expect((agent as { hostNetwork?: boolean }).hostNetwork).toBe(hostNetwork);
});

test("control-plane agents are kept apart where there is room, and rolled out where there is none", () => {
  const rendering = renderHosted(modelOf({ aggregatedApis: ["172.30.10.11"] }));
  const { affinity } = podOf(find(rendering, "Deployment", "konnectivity-agent")) as unknown as {
    affinity: { podAntiAffinity: object };
  };
  expect(Object.keys(affinity.podAntiAffinity)).toEqual(["preferredDuringSchedulingIgnoredDuringExecution"]);
});

function egressOf(rendering: Rendering): object {
  const { data } = find(rendering, "ConfigMap", "kas-egress-selector-config") as unknown as {
    data: Record<string, string>;
  };
  const { egressSelections } = parse(data["config.yaml"]!) as {
    egressSelections: { name: string; connection: object }[];
  };
  return egressSelections.find(({ name }) => name === "cluster")!.connection;
}

test("a kube-apiserver uses our server in its own pod, by a name in that one's certificate, and Go's by their Service", async () => {
  const rendering = renderHosted(modelOf());
  expect(egressOf(rendering)).toMatchObject({ transport: { tcp: { url: "https://127.0.0.1:8090" } } });
  for (const signers of ["separate", "shared"]) {
    const { leaves } = hostedProfile(pkiOptions(modelOf({ signers })));
    const { ipAddresses } = leaves.find(({ name }) => name === "konnectivity-server")!;
    expect(ipAddresses).toContain("127.0.0.1");
  }
  expect(egressOf(renderHosted(modelOf({ image: { kind: "upstream" } })))).toMatchObject({
    transport: { tcp: { url: "https://konnectivity-server-local:8090" } },
  });
});

describe("other profiles", () => {
  const balanced = { publishing: { type: "LoadBalancer", address: "192.0.2.7" } };
  const socket = "/etc/kubernetes/konnectivity-server/konnectivity-server.socket";

  test("generic: gRPC at a socket that the kube-apiserver shares with the server beside it", () => {
    const rendering = renderHosted(modelOf({ profile: "generic", ...balanced }));
    const [patch] = rendering.patches;
    const pod = podOf(patch!.document) as unknown as {
      initContainers: { args: string[]; volumeMounts: object[] }[];
      containers: { volumeMounts?: object[] }[];
      volumes: { name: string }[];
    };
    const [server] = pod.initContainers;
    expect(server!.args).toEqual(
      expect.arrayContaining([`--uds-name=${socket}`, "--server-port=0", "--mode=grpc", "--agent-port=8132"]),
    );
    expect(server!.args.filter((flag) => flag.startsWith("--server-c"))).toEqual(["--server-count=3"]);
    const shared = { name: "konnectivity-uds", mountPath: "/etc/kubernetes/konnectivity-server" };
    for (const each of [server, pod.containers[0]]) expect(each!.volumeMounts).toContainEqual(shared);
    expect(pod.volumes).toContainEqual({ name: "konnectivity-uds", emptyDir: {} });
    expect(egressOf(rendering)).toEqual({ proxyProtocol: "GRPC", transport: { uds: { udsName: socket } } });
    expect(listOf(rendering, "control-plane")).not.toContain("Service konnectivity-server-local");
    // OpenShift's components are not there.
    expect(rendering.patches.map(({ component }) => component)).toEqual(["kube-apiserver", "kube-apiserver"]);
    const agent = podOf(find(rendering, "DaemonSet", "konnectivity-agent", "hosted")).containers[0]!;
    expect(agent.args).toEqual(expect.arrayContaining(["--proxy-server-port=8132", "--health-server-port=8134"]));
  });

  test("generic by TCP: HTTP CONNECT with certificates, on upstream's ports", () => {
    const rendering = renderHosted(modelOf({ profile: "generic", frontend: "tcp", ...balanced }));
    expect(egressOf(rendering)).toMatchObject({
      proxyProtocol: "HTTPConnect",
      transport: { tcp: { url: "https://127.0.0.1:8131" } },
    });
    expect(find(rendering, "Service", "konnectivity-server-local").spec).toMatchObject({ ports: [{ port: 8131 }] });
    expect(find(rendering, "Service", "konnectivity-server").spec).toMatchObject({ ports: [{ port: 8132 }] });
  });

  test("kamaji: its operator makes the objects, and is told which programs, and which again", () => {
    const { objects, patches } = renderHosted(modelOf({ profile: "kamaji", publishing: undefined }));
    expect(objects).toEqual([]);
    const konnectivity = (document: object) =>
      (document as { spec: { addons: { konnectivity: object } } }).spec.addons.konnectivity;
    const ours = { image: "localhost/drawbridge", version: "1.2.3" };
    expect(patches.map(({ file }) => file)).toEqual([
      "patches/tenantcontrolplane.yaml",
      "patches/tenantcontrolplane-back.yaml",
    ]);
    expect(konnectivity(patches[0]!.document)).toEqual({
      server: ours,
      agent: { ...ours, extraArgs: ["--drain-timeout=20s"] },
    });
    const nothing = { image: null, version: null, extraArgs: null };
    expect(konnectivity(patches[1]!.document)).toEqual({ server: nothing, agent: nothing });
  });

  test.each([
    [{ profile: "kamaji", image: { server: "r.example/x@sha256:00" } }, "Kamaji takes images with a tag"],
    [{ frontend: "uds" }, "frontend is not one of tcp"],
  ])("%j is refused", (change, complaint) => {
    expect(() => modelOf(change)).toThrow(complaint);
  });
});
