/**
 * In a cluster that HyperShift looks after: its resources, and the Secrets that its operator keeps for a pool, byte for byte as
 * its readers depend on them. Pools are left alone; machines are made from its user data, and let in.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { requirePeer } from "../../peers/index.js";
import type { KubeObject } from "../../src/cluster/kube/port.js";
import { CRD_PATH } from "../../src/cluster/nodes/controller/hypershift.js";
import { CLIENT_SIGNER, SERVING_SIGNER } from "../../src/cluster/nodes/csr/signing-request.js";
import { encoded } from "../../src/cluster/nodes/objects.js";
import { equipped } from "../support/lab/equipment.js";
import { startOnLoopback } from "../support/lab/loopback.js";
import { LabProcess } from "../support/lab/process.js";
import { type Outcome, run } from "../support/lab/run.js";
import { Scope } from "../support/lab/scope.js";
import { until } from "../support/lab/wait.js";
import { ours } from "../support/processes/executables.js";
import { file, Lab, startSigner } from "./csr-lab.js";
import { CLIENT, SERVING, subjectOf } from "./csr-rows.js";
import { hyperShiftObjects, hyperShiftResources, IGNITION_CA, IGNITION_ENDPOINT, TOKEN } from "./hypershift-objects.js";
import { bootstrapAccess } from "./nodes-objects.js";

const SOON = 60_000;
const DRAWBRIDGE = ours("drawbridge");

const validator = requirePeer("ignition-validate");
const ready = (await equipped({ controlPlane: true, controllers: true })) && validator !== undefined;

describe.skipIf(!ready)("beside HyperShift", () => {
  let scope: Scope;
  let lab: Lab;

  beforeAll(async () => {
    scope = new Scope("hypershift");
    lab = new Lab(scope, await startOnLoopback(scope));
    const { admin } = lab.plane;
    await admin.apply(...hyperShiftResources, ...bootstrapAccess);
    await Promise.all([
      startSigner(scope, lab.plane),
      until("the resources", SOON, () => admin.apply(...hyperShiftObjects).then(() => true)),
    ]);
  });
  afterAll(() => scope?.close());

  const asAdmin = (...args: readonly string[]): Promise<Outcome> =>
    run([DRAWBRIDGE, ...args, `--kubeconfig=${lab.plane.adminConfig}`]);
  const state = () => scope.file("workers");

  /** Everything that install would have to change. */
  async function mark(): Promise<string> {
    const { items } = await lab.admin.list<KubeObject>("/api/v1/namespaces");
    const crd = await lab.admin.get<KubeObject>(CRD_PATH);
    return [crd.metadata?.resourceVersion, ...items.map(({ metadata }) => metadata?.name)].join(" ");
  }

  test("neither install nor the controller changes HyperShift's pools", async () => {
    const before = await mark();
    const refused = { code: 1, stdout: "", stderr: expect.stringContaining("DB_NODEPOOL_HYPERSHIFT") };
    expect(await asAdmin("nodepool", "install", "--image=registry.example/drawbridge:1")).toMatchObject(refused);
    expect(await asAdmin("nodepool", "controller", "--namespace=clusters")).toMatchObject(refused);
    expect(await mark()).toBe(before);
  });

  test("workers are made from HyperShift's user data: its endpoint, its token, and the worker's own name", async () => {
    const hosted = `--hosted-kubeconfig=${lab.plane.adminConfig}`;
    const flags = ["--namespace=clusters", "--pool=workers", "--count=2", "--zones=a,b", `--state=${state()}`, hosted];
    expect(await asAdmin("workers", "create", ...flags)).toMatchObject({ code: 0, stderr: "" });
    const text = readFileSync(`${state()}/workers-0.ign`, "utf8");
    expect(JSON.parse(text)).toEqual({
      ignition: {
        config: {
          merge: [
            {
              httpHeaders: [
                { name: "Authorization", value: `Bearer ${encoded(TOKEN)}` },
                { name: "NodePool", value: "clusters/workers" },
                { name: "TargetConfigVersionHash", value: "83935368" },
              ],
              source: `https://${IGNITION_ENDPOINT}/ignition`,
            },
          ],
        },
        security: { tls: { certificateAuthorities: [{ source: `data:text/plain;base64,${encoded(IGNITION_CA)}` }] } },
        version: "3.2.0",
      },
      storage: {
        files: [{ path: "/etc/hostname", mode: 0o644, overwrite: true, contents: { source: "data:,workers-0%0A" } }],
      },
    });
    expect(await run([validator!, `${state()}/workers-0.ign`])).toMatchObject({ code: 0 });
  });

  test("the approver lets exactly these machines in, by the identity of HyperShift's payload", async () => {
    const approver = LabProcess.start(scope, {
      name: "approver",
      command: [
        ...([DRAWBRIDGE, "csr", "approver", `--kubeconfig=${lab.plane.adminConfig}`] as const),
        "--interval=1s",
      ],
    });
    await approver.ready("it decides", SOON, () => approver.log().includes("this replica decides"));
    const bootstrap = await lab.asBootstrapper();
    const client = { signerName: CLIENT_SIGNER, usages: CLIENT };
    for (const node of ["workers-0", "workers-9"]) {
      await file(bootstrap, { name: `csr-${node}`, pem: lab.request(subjectOf(node)), ...client });
    }
    const cert = scope.file("workers-0.crt");
    writeFileSync(cert, await lab.issued("csr-workers-0"));
    await until("the other's reason", SOON, () => approver.log().includes("nobody expects workers-9"));
    expect((await lab.find("csr-workers-9")).status).toEqual({});
    // In the machineNetwork of the HostedCluster, which nobody told the approver.
    await lab.putNode("workers-0", "192.0.2.20");
    await file(lab.as({ pair: { cert, key: lab.keyFile } }), {
      name: "csr-serving",
      pem: lab.request(subjectOf("workers-0"), "DNS:workers-0,IP:192.0.2.20"),
      ...{ signerName: SERVING_SIGNER, usages: SERVING },
    });
    await lab.issued("csr-serving");
  });
});
