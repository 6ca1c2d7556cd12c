/**
 * The forged requests of the other test against an approver that goes by Workers, as it usually does: each rule broken once,
 * machines whose address changed, and a machine that was installed again while its old requests were pending.
 */
import { writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { namedPath, typed } from "../../src/cluster/kube/paths.js";
import type { KubeObject } from "../../src/cluster/kube/port.js";
import { outcomeOf } from "../../src/cluster/nodes/csr/signing-request.js";
import type { WorkerObject, WorkerObjectStatus, WorkerSpec } from "../../src/cluster/nodes/workers/resource.js";
import { WorkerStore } from "../../src/cluster/nodes/workers/store.js";
import { equipped } from "../support/lab/equipment.js";
import { startOnLoopback } from "../support/lab/loopback.js";
import { LabProcess } from "../support/lab/process.js";
import { Scope } from "../support/lab/scope.js";
import { until } from "../support/lab/wait.js";
import { ours } from "../support/processes/executables.js";
import { Filer } from "./csr-filing.js";
import { accessObjects, Lab, startSigner } from "./csr-lab.js";
import { APPROVER, NAMESPACE } from "./csr-roles.js";
import { CONTROL_PLANE, clientRows, inventoryDocuments, minutesFromNow, POOL, servingRows } from "./csr-rows.js";

const SOON = 60_000;

interface InventoryDocument {
  readonly pool: string;
  readonly workers?: readonly (Partial<WorkerSpec> & { readonly name: string; readonly notBefore: string })[];
}

/** What the inventory's files would say: Workers, and the rest in a ConfigMap. */
function asObjects(documents: readonly InventoryDocument[]): KubeObject[] {
  const map = mapOf(
    "claims",
    documents.map(({ workers: _, ...rest }) => rest),
  );
  const workers = documents.flatMap(({ pool, workers = [] }) =>
    workers.map(({ name, notBefore, ...spec }) => {
      const deadline = new Date(Date.parse(notBefore) + 2 * 3_600_000).toISOString();
      return workerOf(name, { pool, notBefore, deadline, ...spec });
    }),
  );
  return [map, ...workers];
}

function mapOf(name: string, documents: readonly object[]): KubeObject {
  const labels = { "drawbridge/inventory": "true" };
  const data = Object.fromEntries(documents.map((one, index) => [`document-${index}`, JSON.stringify(one)]));
  return typed("ConfigMap", { metadata: { name, namespace: NAMESPACE, labels }, data });
}

function workerOf(name: string, spec: WorkerSpec): WorkerObject {
  return typed("Worker", { metadata: { name, namespace: NAMESPACE }, spec });
}

/** Of the node of the control plane, and no Worker lists it. */
const SECOND_IP = "192.0.2.2";

/** Nodes that have certificates already. */
const movers = [
  { name: "mover", ip: "192.0.2.160" },
  ...["worker", "certificate", "control-plane", "service"].map((of, index) => ({
    name: `grabber-${of}`,
    ip: `192.0.2.${165 + index}`,
  })),
];

const ready = await equipped({ controlPlane: true, controllers: true });

describe.skipIf(!ready)("certificate requests of machines that are Workers", () => {
  let scope: Scope;
  let lab: Lab;
  let filer: Filer;

  beforeAll(async () => {
    scope = new Scope("csr-workers");
    lab = new Lab(scope, await startOnLoopback(scope));
    await Promise.all([startSigner(scope, lab.plane), lab.plane.admin.apply(...accessObjects)]);
    const logFile = scope.file("decisions.jsonl");
    writeFileSync(logFile, "", { mode: 0o600 });
    filer = new Filer(lab, await lab.asBootstrapper(), logFile);
    const objects = asObjects(inventoryDocuments() as InventoryDocument[]);
    await until("the Workers", SOON, () => lab.plane.admin.apply(...objects).then(() => true));
    const rows = [...clientRows, ...servingRows];
    await Promise.all(rows.map(({ node, nodeIps }) => nodeIps && lab.putNode(node, ...nodeIps)));
    await lab.putNode("full");
    await lab.putNode(CONTROL_PLANE.name, CONTROL_PLANE.ip, SECOND_IP);
    await lab.label(CONTROL_PLANE.name, "node-role.kubernetes.io/control-plane");
    await Promise.all(
      movers.map(async ({ ip, name }) => {
        await putWorker(name, { pool: POOL, networks: ["192.0.2.0/24"] }, hadCertificates(name, ip));
        await lab.putNode(name, ip);
      }),
    );
    const spec = { pool: POOL, notBefore: minutesFromNow(-1), deadline: minutesFromNow(60) };
    await putWorker("again", spec, hadCertificates("again", "192.0.2.180"));
    const approver = LabProcess.start(scope, {
      name: "approver",
      command: [
        ...([ours("drawbridge"), "csr", "approver"] as const),
        `--kubeconfig=${lab.plane.kubeconfig(APPROVER)}`,
        ...[`--namespace=${NAMESPACE}`, "--require-claim", "--node-cidr=192.0.2.0/24", "--foreign-cidr=10.96.0.0/16"],
        ...[`--decision-log=${logFile}`, "--interval=1s"],
      ],
    });
    await approver.ready("it decides", SOON, () => approver.log().includes("this replica decides"));
  });
  afterAll(() => scope?.close());

  const pathOf = (name: string) => namedPath("Worker", { namespace: NAMESPACE, name });

  /** As an approver left it ten minutes ago. */
  function hadCertificates(name: string, ip: string): WorkerObjectStatus {
    const [at, names] = [minutesFromNow(-10), [`DNS:${name}`, `IP:${ip}`]];
    return {
      client: { request: `csr-${name}-first`, at },
      joinedAt: at,
      serving: { request: `csr-${name}-before`, at, names },
      held: [{ names, until: minutesFromNow(600) }],
    };
  }

  async function putWorker(name: string, spec: WorkerSpec, status: WorkerObjectStatus): Promise<void> {
    await lab.plane.admin.apply(workerOf(name, spec));
    const made = await lab.admin.get<WorkerObject>(pathOf(name));
    await lab.admin.update<WorkerObject>(`${pathOf(name)}/status`, { ...made, status });
  }

  /** By hand. */
  async function edit(name: string, change: Partial<WorkerSpec>): Promise<void> {
    const before = await lab.admin.get<WorkerObject>(pathOf(name));
    await lab.admin.update<WorkerObject>(pathOf(name), { ...before, spec: { ...before.spec!, ...change } });
  }

  test.each(clientRows)("a first request, $what: $rule", async (row) =>
    filer.expectOutcome(await filer.row(row, "client"), row),
  );

  test.each(servingRows)("a serving request, $what: $rule", async (row) =>
    filer.expectOutcome(await filer.row(row, "serving"), row),
  );

  describe("a serving certificate for another address than before", () => {
    test("waits until the Worker lists it, and the old address stays its own until the old certificate ends", async () => {
      await lab.report("mover", "192.0.2.161");
      await filer.serving("csr-mover", "mover", "DNS:mover,IP:192.0.2.161");
      expect(await filer.decision("csr-mover")).toMatchObject({
        action: "leave",
        rule: "serving-same",
        explanation: expect.stringMatching(
          /; if it should: drawbridge workers create --namespace lab --pool workers --names mover --ips mover=192\.0\.2\.161$/,
        ),
      });
      await edit("mover", { ips: ["192.0.2.161"] });
      await lab.issued("csr-mover");
      await putWorker("heir", { pool: POOL, joined: true, ips: ["192.0.2.160"] }, {});
      await lab.putNode("heir", "192.0.2.160");
      await filer.serving("csr-heir", "heir", "DNS:heir,IP:192.0.2.160");
      expect((await filer.decision("csr-heir")).explanation).toMatch(
        /^192\.0\.2\.160 belongs to mover, by its certificate until /,
      );
    });

    test.each([
      ["worker", "192.0.2.113", "serving-owner", "192.0.2.113 belongs to s-dns, by the inventory"],
      [
        "certificate",
        "192.0.2.160",
        "serving-owner",
        /^192\.0\.2\.160 belongs to (mover, by its certificate|heir, by)/,
      ],
      ["control-plane", SECOND_IP, "serving-owner", `${SECOND_IP} belongs to ${CONTROL_PLANE.name} of`],
      ["service", "10.96.0.2", "serving-ip-foreign", "10.96.0.2 can be no node's own"],
    ])("is refused when a Worker was given by hand what belongs to another: %s", async (of, ip, rule, why) => {
      const name = `grabber-${of}`;
      await edit(name, { ips: [ip] });
      await lab.report(name, ip);
      await filer.serving(`csr-${name}`, name, `DNS:${name},IP:${ip}`);
      const explanation = typeof why === "string" ? expect.stringContaining(why) : expect.stringMatching(why);
      expect(await filer.decision(`csr-${name}`)).toMatchObject({ action: "leave", rule, explanation });
      expect(outcomeOf(await lab.find(`csr-${name}`))).toBe("pending");
    });
  });

  test("requests of the old machine do not get the first certificate of one that is installed again", async () => {
    for (const name of ["csr-again-old-1", "csr-again-old-2"]) await filer.client(name, "again");
    for (const name of ["csr-again-old-1", "csr-again-old-2"]) {
      expect(await filer.decision(name)).toMatchObject({ action: "leave", rule: "not-joined" });
    }
    const store = new WorkerStore({ api: lab.admin, namespace: NAMESPACE, directory: scope.file("state") });
    const reinstalled = await store.installationTime();
    await edit("again", { reinstalled, notBefore: reinstalled });
    for (const name of ["csr-again-old-1", "csr-again-old-2"]) await filer.decision(name, "window");
    await filer.client("csr-again-new", "again");
    await lab.plane.admin.apply(
      mapOf("claims-again", [{ pool: POOL, claims: [{ worker: "again", at: minutesFromNow(0) }] }]),
    );
    await lab.issued("csr-again-new");
    for (const name of ["csr-again-old-1", "csr-again-old-2"]) {
      expect(outcomeOf(await lab.find(name))).toBe("pending");
    }
  });
});
