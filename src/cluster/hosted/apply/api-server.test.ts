import { expect, test } from "vitest";
import type { KubeApi } from "../../kube/port.js";
import { checkConfig } from "../config/config.js";
import { preStopSeconds } from "../model/arguments.js";
import { hostedModel } from "../model/model.js";
import { renderHosted } from "../render/render.js";
import { readApiServer } from "./api-server.js";

const description = { name: "demo", publishing: { type: "Route", hostname: "konnectivity.example.test" } };

async function modelWith(containers: readonly object[], change: object = {}, minor = "36") {
  const config = checkConfig({ ...description, ...change }, "the test");
  const api = {
    get: async () => ({ metadata: {}, spec: { template: { spec: { containers } } } }),
    text: async () => JSON.stringify({ major: "1", minor }),
  } as unknown as KubeApi;
  const { facts } = await readApiServer(api, config, true);
  return hostedModel(config, { version: "1", facts });
}

const tcp = (port: number) => ({ protocol: "TCP", port });

test.each<[string, readonly object[], object, readonly object[]]>([
  [
    "as its flag has it",
    [{ name: "kube-apiserver", command: ["kube-apiserver", "--secure-port=8443"] }],
    {},
    [tcp(8443)],
  ],
  ["as its flag's value follows it", [{ name: "kube-apiserver", args: ["--secure-port", "8443"] }], {}, [tcp(8443)]],
  [
    "as pods declare theirs, but not ours",
    [
      { name: "kube-apiserver", ports: [{ containerPort: 7443 }] },
      { name: "dns", ports: [{ containerPort: 53, protocol: "UDP" }] },
      { name: "konnectivity-server", ports: [{ containerPort: 8090 }] },
    ],
    {},
    [tcp(7443), { protocol: "UDP", port: 53 }],
  ],
  [
    "as the description has it",
    [{ name: "kube-apiserver", args: ["--secure-port=1"] }],
    { apiServerPort: 9443 },
    [tcp(9443)],
  ],
  ["6443 when nobody says", [{ name: "kube-apiserver" }], {}, [tcp(6443)]],
])("the kube-apiserver's port stays open: %s", async (_, containers, change, ports) => {
  const { objects } = renderHosted(await modelWith(containers, change));
  const policy = objects.find(
    ({ manifest }) => manifest.metadata.name === "konnectivity-server" && manifest.kind === "NetworkPolicy",
  );
  expect((policy!.manifest.spec as { ingress: object[] }).ingress).toContainEqual({ ports });
});

test.each([
  ["drawbridge", undefined, "29", "exec"],
  ["drawbridge", "exec", "36", "exec"],
  ["drawbridge", "sleep", "36", "theirs"],
  ["upstream", undefined, "30+", "sleep"],
  ["upstream", undefined, "29", "none"],
  ["upstream", "sleep", "36", "theirs"],
])("%s' server beside a preStop.%s on Kubernetes 1.%s pauses by %s", async (kind, handler, minor, expected) => {
  const lifecycle = handler && { preStop: { [handler]: {} } };
  const containers = [{ name: "konnectivity-server", ...(lifecycle && { lifecycle }) }];
  expect((await modelWith(containers, { image: { kind } }, minor)).preStop).toBe(expected);
});

test.each([
  ["--shutdown-delay-duration=5s", 15],
  ["--shutdown-delay-duration=1m5s", 75],
  ["--shutdown-delay-duration=1m", 70],
  ["--shutdown-delay-duration=0s", 10],
  // The pod's time to end is not enough for more.
  ["--shutdown-delay-duration=1h", 80],
  ["--shutdown-delay-duration=10m", 80],
  ["--shutdown-delay-duration=", 80],
  ["--secure-port=6443", 80],
])("beside a kube-apiserver with %s the server goes on for %i s", async (flag, seconds) => {
  expect(preStopSeconds(await modelWith([{ name: "kube-apiserver", args: [flag] }]))).toBe(seconds);
});
