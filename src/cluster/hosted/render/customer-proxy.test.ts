/** Where a proxy's password may be seen: nowhere, unless somebody says so. */
import { expect, test } from "vitest";
import { checkConfig } from "../config/config.js";
import { hostedModel } from "../model/model.js";
import { renderHosted } from "./render.js";

interface Container {
  readonly name: string;
  readonly args?: string[];
  readonly env?: { readonly name: string; readonly valueFrom?: object; readonly value?: string }[];
  readonly volumeMounts?: { readonly name: string; readonly mountPath: string }[];
}
interface Workload {
  readonly spec: { readonly template: { readonly spec: { containers: Container[]; volumes: { name: string }[] } } };
}

const base = { name: "demo", publishing: { type: "Route", hostname: "k.example.test" } };
const images = { server: "r.example/anp:1", agent: "r.example/anp:1", sidecar: "r.example/cpo:1" };
const secret = "customer-proxy";
const withPassword = { https: "http://me:hunter2@proxy.test:3128" };

function rendered(change: object) {
  const rendering = renderHosted(hostedModel(checkConfig({ ...base, ...change }, "the test"), { version: "1" }));
  const pod = (component: string) => {
    const patch = rendering.patches.find(({ file }) => file === `patches/${component}.yaml`)!;
    return (patch.document as Workload).spec.template.spec;
  };
  const agents = rendering.objects.find(({ manifest }) => manifest.kind === "DaemonSet")!.manifest as unknown;
  return { text: JSON.stringify(rendering), pod, agent: (agents as Workload).spec.template.spec.containers[0]! };
}

const reference = (key: string) => ({ valueFrom: { secretKeyRef: { name: secret, key } } });

test("our sidecars read the URLs from the Secret's files", () => {
  const { containers, volumes } = rendered({ proxy: { secret } }).pod("openshift-apiserver");
  const { args, volumeMounts } = containers.at(-1)!;
  const folder = "/etc/konnectivity/customer-proxy";
  expect(args!.slice(0, 6)).toEqual([
    "run",
    ...["--http-proxy", `file:${folder}/httpProxy`, "--https-proxy", `file:${folder}/httpsProxy`, "--no-proxy"],
  ]);
  const name = "konnectivity-customer-proxy";
  expect(volumeMounts).toContainEqual({ name, mountPath: folder, readOnly: true });
  expect(volumes).toContainEqual({ name, secret: { secretName: secret, defaultMode: 0o640 } });
});

test("HyperShift's sidecars get the URLs from the Secret by the kubelet's expansion", () => {
  const { pod } = rendered({ proxy: { secret }, image: { kind: "payload", ...images } });
  const { args, env } = pod("openshift-apiserver").containers.at(-1)!;
  expect(args!.slice(1, 5)).toEqual([
    ...["--http-proxy", "$(CUSTOMER_HTTP_PROXY)", "--https-proxy", "$(CUSTOMER_HTTPS_PROXY)"],
  ]);
  expect(env).toContainEqual({ name: "CUSTOMER_HTTP_PROXY", ...reference("httpProxy") });
  expect(env).toContainEqual({ name: "CUSTOMER_HTTPS_PROXY", ...reference("httpsProxy") });
});

test("a proxy that does not chain is given no Secret", () => {
  const { containers, volumes } = rendered({ proxy: { secret } }).pod("olm-operator");
  expect(JSON.stringify([containers, volumes])).not.toContain(secret);
});

test("agents of the hosted cluster, and sidecars that go past the tunnel, have the URLs in their environment", () => {
  const { agent, pod } = rendered({ proxy: { secret }, managementProxy: { secret } });
  const variables = [
    { name: "HTTP_PROXY", ...reference("httpProxy") },
    { name: "HTTPS_PROXY", ...reference("httpsProxy") },
  ];
  expect(agent.env).toEqual(expect.arrayContaining(variables));
  const sidecar = pod("ingress-operator").containers.at(-1)!;
  expect(sidecar.env).toEqual(expect.arrayContaining(variables));
});

test.each(["proxy", "managementProxy"])("a password in %s is refused, unless it is allowed by name", (group) => {
  const change = { [group]: withPassword };
  expect(() => rendered(change)).toThrow(
    `${group}.https has a password, which everybody who sees pods would see (put the URLs into a Secret`,
  );
  expect(() => rendered(change)).not.toThrow("hunter2");
  expect(rendered({ ...change, allowProxyPasswordInArguments: true }).text).toContain("hunter2");
});

test.each<[object, string]>([
  [{ secret, http: "http://proxy.test" }, "proxy has both URLs and a Secret with them"],
  [{ secret: "A b" }, 'proxy.secret "A b" is no Secret\'s name'],
])("a proxy with %j is refused", (proxy, complaint) => {
  expect(() => rendered({ proxy })).toThrow(complaint);
});
