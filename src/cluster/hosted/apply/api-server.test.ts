import { expect, test } from "vitest";
import type { KubeApi } from "../../kube/port.js";
import { checkConfig } from "../config/config.js";
import { preStopSeconds } from "../model/arguments.js";
import { hostedModel } from "../model/model.js";
import { renderHosted } from "../render/render.js";
import { readApiServer } from "./api-server.js";

const description = { name: "demo", publishing: { type: "Route", hostname: "konnectivity.example.test" } };

interface Found {
  readonly minor?: string;
  readonly initContainers?: readonly object[];
  /** Who has fields of the server's ordinary container. */
  readonly owners?: readonly string[];
}

const OURS = "drawbridge-hosted";
const itemFields = { 'k:{"name":"konnectivity-server"}': { ".": {}, "f:name": {}, "f:image": {} } };
const fieldsV1 = { "f:spec": { "f:template": { "f:spec": { "f:containers": itemFields } } } };

async function modelWith(
  containers: readonly object[],
  change: object = {},
  { minor = "36", initContainers = [], owners = [] }: Found = {},
) {
  const config = checkConfig({ ...description, ...change }, "the test");
  const api = {
    get: async () => ({
      metadata: {
        managedFields: owners.map((manager) => ({
          ...{ manager, operation: manager === OURS ? "Apply" : "Update", fieldsV1 },
        })),
      },
      spec: { template: { spec: { containers, initContainers } } },
    }),
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

test("the ports of others' native sidecars stay open, too", async () => {
  const initContainers = [
    { name: "theirs", restartPolicy: "Always", ports: [{ containerPort: 9100 }] },
    { name: "konnectivity-server", restartPolicy: "Always", ports: [{ containerPort: 8091 }] },
  ];
  const { apiServerPorts } = await modelWith(
    [{ name: "kube-apiserver", args: ["--secure-port=6443"] }],
    {},
    { initContainers },
  );
  expect(apiServerPorts).toEqual([tcp(6443), tcp(9100)]);
});

test.each([
  ["drawbridge", undefined, "exec"],
  ["drawbridge", "exec", "exec"],
  ["drawbridge", "sleep", "theirs"],
  ["upstream", undefined, "none"],
  ["upstream", "sleep", "theirs"],
])("%s' server in others' container with a preStop.%s pauses by %s", async (kind, handler, expected) => {
  const lifecycle = handler && { preStop: { [handler]: {} } };
  const containers = [{ name: "konnectivity-server", ...(lifecycle && { lifecycle }) }];
  expect(await modelWith(containers, { image: { kind } })).toMatchObject({
    serverPlace: "containers",
    preStop: expected,
  });
});

const both = ["kube-apiserver", "konnectivity-server"];
test.each<[string, readonly string[], object, Found, string]>([
  ["where there is none yet", ["kube-apiserver"], {}, { minor: "32" }, "initContainers"],
  ["on a vendor's version", ["kube-apiserver"], {}, { minor: "33+" }, "initContainers"],
  // Kubelets may be three versions older, and have native sidecars since 1.29.
  ["before Kubernetes 1.32", ["kube-apiserver"], {}, { minor: "31" }, "containers"],
  ["where the description does not want it", ["kube-apiserver"], { nativeSidecar: false }, {}, "containers"],
  ["in place of one that an earlier version brought", both, {}, { owners: [OURS] }, "initContainers"],
  ["beside one of others", both, {}, { owners: ["control-plane-operator"] }, "containers"],
  ["beside one that others share", both, {}, { owners: [OURS, "kubectl-set"] }, "containers"],
  ["beside one of nobody known", both, {}, {}, "containers"],
])("the server %s, among %j with %j and %j, is put into %s", async (_, containers, change, found, place) => {
  const { serverPlace } = await modelWith(
    containers.map((name) => ({ name })),
    change,
    found,
  );
  expect(serverPlace).toBe(place);
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
