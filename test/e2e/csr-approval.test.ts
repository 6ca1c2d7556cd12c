/**
 * Who may become a node, decided before a real kube-apiserver and a real signer: requests as kubelets make them, each rule
 * broken once. What is approved is really issued; what is not stays pending.
 */
import { X509Certificate } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { KubeApi, KubeObject } from "../../src/cluster/kube/port.js";
import { canonicalNames } from "../../src/cluster/nodes/csr/memory.js";
import { namesOf } from "../../src/cluster/nodes/csr/request-context.js";
import {
  CLIENT_SIGNER,
  outcomeOf,
  requestPath,
  requestPem,
  SERVING_SIGNER,
} from "../../src/cluster/nodes/csr/signing-request.js";
import type { ConfigMap } from "../../src/cluster/nodes/objects.js";
import { APPROVER_NAME } from "../../src/cluster/nodes/permissions.js";
import { factsOf } from "../../src/tunnel/pki/inspect/facts.js";
import { inspectRequest } from "../../src/tunnel/pki/inspect-request.js";
import { equipped } from "../support/lab/equipment.js";
import { startOnLoopback } from "../support/lab/loopback.js";
import { metric } from "../support/lab/metrics.js";
import { LabProcess } from "../support/lab/process.js";
import { run } from "../support/lab/run.js";
import { Scope } from "../support/lab/scope.js";
import { until } from "../support/lab/wait.js";
import { ours } from "../support/processes/executables.js";
import { freePort } from "../support/processes/ports.js";
import { Filer } from "./csr-filing.js";
import { forms } from "./csr-forms.js";
import { accessObjects, decisionsIn, file, Lab, startSigner, writeInventory } from "./csr-lab.js";
import {
  APPROVER,
  type Course,
  clusterPermissions,
  giveBack,
  isAbout,
  namespacePermissions,
  stoppedWithout,
  Trial,
  withdraw,
} from "./csr-permissions.js";
import { NAMESPACE } from "./csr-roles.js";
import { CLIENT, CONTROL_PLANE, clientRows, inventoryDocuments, SERVING, servingRows, subjectOf } from "./csr-rows.js";

const SOON = 60_000;

/** An address that one node after the other has. */
const HEIRLOOM = "192.0.2.150";

const ready = await equipped({ controlPlane: true, controllers: true });

describe.skipIf(!ready)("certificate requests of machines", () => {
  let scope: Scope;
  let lab: Lab;
  let bootstrapper: KubeApi;
  let filer: Filer;
  let approver: LabProcess;
  let logFile: string;
  let flags: string[];
  let health: string;
  let inventory: string;
  let hiddenCount = 0;

  beforeAll(async () => {
    scope = new Scope("csr");
    lab = new Lab(scope, await startOnLoopback(scope));
    await Promise.all([startSigner(scope, lab.plane), lab.plane.admin.apply(...accessObjects)]);
    bootstrapper = await lab.asBootstrapper();
    inventory = scope.file("inventory");
    mkdirSync(inventory);
    writeInventory(`${inventory}/rack.json`, inventoryDocuments());
    logFile = scope.file("decisions.jsonl");
    writeFileSync(logFile, "", { mode: 0o600 });
    filer = new Filer(lab, bootstrapper, logFile);
    flags = [
      ...[`--kubeconfig=${lab.plane.kubeconfig(APPROVER)}`, `--inventory=${inventory}`, "--require-claim"],
      ...["--node-cidr=192.0.2.0/24", "--foreign-cidr=10.96.0.0/16"],
    ];
    await Promise.all(
      [...clientRows, ...servingRows].map(({ node, nodeIps }) => nodeIps && lab.putNode(node, ...nodeIps)),
    );
    await Promise.all([lab.putNode("full"), lab.putNode("s-tenant", HEIRLOOM), lab.putNode("s-heir", "192.0.2.151")]);
    await Promise.all(forms.map(({ ips, node }) => lab.putNode(node, ...ips)));
    await lab.putNode(CONTROL_PLANE.name, CONTROL_PLANE.ip);
    await lab.label(CONTROL_PLANE.name, "node-role.kubernetes.io/control-plane");
    const port = await freePort();
    health = `http://127.0.0.1:${port}`;
    approver = startApprover("approver", `--health-port=${port}`, "--health-bind-address=127.0.0.1");
    await approver.ready("it decides", SOON, () => approver.log().includes("this replica decides"));
  });
  afterAll(() => scope?.close());

  const startApprover = (name: string, ...more: string[]) =>
    LabProcess.start(scope, {
      name,
      command: [ours("drawbridge"), "csr", "approver", ...flags, `--decision-log=${logFile}`, "--interval=1s", ...more],
    });

  const decision = (name: string) => filer.decision(name);

  const soon = (what: string, holds: () => Promise<boolean>) => until(what, SOON, holds, 30);

  /** What the approver keeps about a node. */
  async function remembered(node: string): Promise<string> {
    const path = `/api/v1/namespaces/${NAMESPACE}/configmaps/${APPROVER_NAME}`;
    return (await lab.admin.get<ConfigMap>(path)).data?.[node] ?? "";
  }

  const fileClient = (name: string, node: string) => filer.client(name, node);

  test("a machine's whole life: first certificate, node, serving certificate, renewals, and no way back", async () => {
    await fileClient("csr-life", "life");
    const first = new X509Certificate(await lab.issued("csr-life"));
    expect(first.subject).toBe("O=system:nodes\nCN=system:node:life");
    const cert = scope.file("life.crt");
    writeFileSync(cert, first.toString());
    const node = lab.as({ pair: { cert, key: lab.keyFile } });
    // From here on it is the node itself that asks, with the certificate it was given.
    const made = await node.create<KubeObject>("/api/v1/nodes", {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: "life" },
    });
    const status = { addresses: [{ type: "InternalIP", address: "192.0.2.20" }] };
    await node.update("/api/v1/nodes/life/status", { ...made, status } as KubeObject);
    const serving = (name: string, names: string) =>
      file(node, { name, pem: lab.request(subjectOf("life"), names), signerName: SERVING_SIGNER, usages: SERVING });
    await serving("csr-life-serving", "DNS:life,IP:192.0.2.20");
    const served = new X509Certificate(await lab.issued("csr-life-serving"));
    expect(served.subjectAltName).toBe("DNS:life, IP Address:192.0.2.20");
    await serving("csr-life-greedy", "DNS:life,DNS:greedy.example,IP:192.0.2.20");
    expect(await decision("csr-life-greedy")).toMatchObject({ action: "leave", rule: "serving-dns" });
    await serving("csr-life-hasty", "DNS:life,IP:192.0.2.20");
    expect(await decision("csr-life-hasty")).toMatchObject({ action: "leave", rule: "node-pace" });
    await file(node, {
      name: "csr-life-renewal",
      pem: lab.request(subjectOf("life")),
      signerName: CLIENT_SIGNER,
      usages: CLIENT,
    });
    expect(new X509Certificate(await lab.issued("csr-life-renewal")).subject).toBe(first.subject);
    expect(await decision("csr-life-renewal")).toMatchObject({ action: "approve" });
    // The shared credential is worth nothing for this name any more, not even when the node is gone.
    await lab.admin.delete("/api/v1/nodes/life");
    await fileClient("csr-life-replay", "life");
    expect(await decision("csr-life-replay")).toMatchObject({ action: "leave", rule: "not-joined" });
  });

  describe("a first request", () => {
    test.each(clientRows)("$what: $rule", async (row) => filer.expectOutcome(await filer.row(row, "client"), row));

    test("a request with a wrong signature, or that is none, is refused by the API server itself", async () => {
      const pem = lab.request(subjectOf("altered"));
      for (const text of [altered(pem), "hello", pem.replaceAll("CERTIFICATE REQUEST", "CERTIFICATE")]) {
        const filing = file(bootstrapper, { name: "csr-none", pem: text, signerName: CLIENT_SIGNER, usages: CLIENT });
        await expect(filing).rejects.toMatchObject({ status: 422 });
      }
    });

    test("a second one for the same machine stays pending while the first is young", async () => {
      await fileClient("csr-twin-1", "twin");
      await lab.issued("csr-twin-1");
      await fileClient("csr-twin-2", "twin");
      expect(await decision("csr-twin-2")).toMatchObject({ action: "leave", rule: "single-client" });
      expect(outcomeOf(await lab.find("csr-twin-2"))).toBe("pending");
    });
  });

  describe("a request behind another, which the API takes for the first", () => {
    const begin = "-----BEGIN CERTIFICATE REQUEST-----\n";
    const hidden = (name: string, hide: (pem: string) => string) => ({ name, hide });

    /** With two characters of padding, for those who split it. */
    function forged(): string {
      for (;;) {
        const pem = lab.request(subjectOf(CONTROL_PLANE.name));
        if (pem.includes("==\n")) return pem;
      }
    }

    test.each([
      hidden("by a PEM header with dashes", (pem) => pem.replace(begin, `${begin}X: -----\n\n`)),
      hidden("by padding in two lines", (pem) => pem.replace("==\n", "=\n=\n")),
      hidden("in plain sight", (pem) => pem),
    ])("hidden $name, stays pending", async ({ hide }) => {
      const pem = hide(forged()) + lab.request(subjectOf("hidden"));
      const name = `csr-hidden-${++hiddenCount}`;
      await file(bootstrapper, { name, pem, signerName: CLIENT_SIGNER, usages: CLIENT });
      expect(await decision(name)).toMatchObject({
        action: "leave",
        rule: "request-readable",
        explanation: expect.stringContaining("a second PEM block follows the first"),
      });
      expect((await lab.find(name)).status ?? {}).toEqual({});
    });
  });

  describe("a serving request", () => {
    test.each(servingRows)("$what: $rule", async (row) => filer.expectOutcome(await filer.row(row, "serving"), row));

    test.each(forms)("with $what becomes a certificate with what was judged", async ({ node, pem }) => {
      const name = `csr-${node}`;
      await file(lab.asNode(node), { name, pem, signerName: SERVING_SIGNER, usages: SERVING });
      expect(await decision(name)).toMatchObject({ action: "approve" });
      await expectAsJudged(name);
    });
  });

  /** What the signer issued is what the approver read: subject, names, addresses and nothing else. */
  async function expectAsJudged(name: string): Promise<void> {
    const issued = new X509Certificate(await lab.issued(name));
    const facts = inspectRequest(requestPem(await lab.find(name)));
    const subject = [
      ...facts.organizations.map((one) => `O=${one}`),
      ...facts.commonNames.map((one) => `CN=${one}`),
      ...facts.otherSubjectParts,
    ];
    const held = {
      names: canonicalNames(factsOf(issued).names),
      subject: issued.subject.split("\n"),
      isAuthority: issued.ca,
    };
    expect(held).toEqual({ names: namesOf(facts), subject, isAuthority: false });
  }

  test("certificates of every kind are what was judged", async () => {
    const names = ["csr-life", "csr-life-serving", "csr-life-renewal", "csr-client-good", "csr-serving-s-good"];
    for (const name of names) await expectAsJudged(name);
  });

  test("a renewal of a client certificate is for the node itself, and has no names", async () => {
    const ask = async (name: string, who: string, node: string, names = "") =>
      file(lab.asNode(who), {
        name,
        pem: lab.request(subjectOf(node), names),
        signerName: CLIENT_SIGNER,
        usages: CLIENT,
      });
    await ask("csr-renew-other", "s-good", "s-self");
    expect(await decision("csr-renew-other")).toMatchObject({ action: "deny", rule: "node-identity" });
    await ask("csr-renew-names", "s-self", "s-self", "DNS:s-self");
    expect(await decision("csr-renew-names")).toMatchObject({ action: "leave", rule: "client-names" });
    await ask("csr-renew-alien", "s-alien", "s-alien");
    expect(await decision("csr-renew-alien")).toMatchObject({ action: "leave", rule: "known-node" });
    await ask("csr-renew-good", "s-good", "s-good");
    await lab.issued("csr-renew-good");
  });

  test("other signers' requests are nobody's business here", async () => {
    const pem = lab.request(subjectOf("good"));
    await file(bootstrapper, { name: "csr-foreign", pem, signerName: "example.com/signer", usages: CLIENT });
    const pemUser = lab.request("/CN=somebody");
    await file(bootstrapper, {
      name: "csr-user",
      pem: pemUser,
      signerName: "kubernetes.io/kube-apiserver-client",
      usages: CLIENT,
    });
    await fileClient("csr-after-foreign", "after-foreign");
    await lab.issued("csr-after-foreign");
    for (const name of ["csr-foreign", "csr-user"]) {
      expect(outcomeOf(await lab.find(name))).toBe("pending");
      expect(decisionsIn(logFile).filter(({ request }) => request === name)).toEqual([]);
    }
  });

  test("in a flood of requests nothing is approved; when it is over, the valid ones are", async () => {
    const pem = lab.request(subjectOf("flood"));
    const names = Array.from({ length: 160 }, (_, index) => `csr-flood-${index}`);
    await Promise.all(
      names.map((name) => file(bootstrapper, { name, pem, signerName: CLIENT_SIGNER, usages: CLIENT })),
    );
    await fileClient("csr-in-flood", "in-flood");
    expect(await decision("csr-in-flood")).toMatchObject({ action: "leave", rule: "brake" });
    expect(outcomeOf(await lab.find("csr-in-flood"))).toBe("pending");
    const metrics = await (await fetch(`${health}/metrics`)).text();
    const [pending, limit] = ["pending", "pending_limit"].map((name) => metric(metrics, `drawbridge_csr_${name}`, {}));
    expect(pending).toBeGreaterThan(limit ?? 0);
    expect(metric(metrics, "drawbridge_csr_decisions_total", { rule: "brake" })).toBeGreaterThan(0);
    expect((await fetch(`${health}/readyz`)).status).toBe(200);
    await Promise.all(names.map((name) => lab.remove(requestPath(name))));
    await lab.issued("csr-in-flood");
  });

  test("an address is not given on while a certificate holds it, also after a restart, and is once its worker is removed", async () => {
    const ask = (name: string, node: string) =>
      file(lab.asNode(node), {
        name,
        pem: lab.request(subjectOf(node), `DNS:${node},IP:${HEIRLOOM}`),
        signerName: SERVING_SIGNER,
        usages: SERVING,
      });
    await ask("csr-tenant", "s-tenant");
    const until = new Date(new X509Certificate(await lab.issued("csr-tenant")).validTo).toISOString();
    // The address moves on, and the request is collected.
    await lab.report("s-tenant", "192.0.2.152");
    await lab.report("s-heir", HEIRLOOM);
    await soon("the certificate's end to be remembered", async () =>
      (await remembered("s-tenant")).includes(`"until":${Date.parse(until)}`),
    );
    await lab.remove(requestPath("csr-tenant"));
    await ask("csr-heir", "s-heir");
    const explanation = `${HEIRLOOM} belongs to s-tenant, by its certificate until ${until}`;
    expect(await decision("csr-heir")).toMatchObject({ action: "leave", rule: "serving-owner", explanation });
    await approver.stop();
    const before = decisionsIn(logFile).length;
    approver = startApprover("restarted");
    await soon("the same decision again", async () =>
      decisionsIn(logFile)
        .slice(before)
        .some((one) => one.request === "csr-heir" && one.explanation === explanation),
    );
    await lab.remove("/api/v1/nodes/s-tenant");
    const documents = JSON.stringify(inventoryDocuments().map(withoutWorker("s-tenant")));
    writeInventory(`${inventory}/rack.json`, JSON.parse(documents) as object[]);
    await lab.issued("csr-heir");
  });

  test("a person sees what is pending, asks why, and decides otherwise by naming the rule", async () => {
    const csr = (...words: string[]) => run([ours("drawbridge"), "csr", ...words, ...flags]);
    const list = JSON.parse((await csr("list", "--output=json")).stdout) as {
      requests: { request: string; rule: string }[];
    };
    expect(list.requests).toContainEqual(expect.objectContaining({ request: "csr-client-unknown", rule: "expected" }));
    const slow = JSON.parse((await csr("explain", "csr-client-unknown", "--pool-rate=0", "--output=json")).stdout) as {
      findings: { rule: string; objection?: string }[];
    };
    expect(slow.findings.filter(({ objection }) => objection !== undefined).map(({ rule }) => rule)).toEqual([
      "expected",
      "pool-rate",
    ]);
    expect(await csr("approve", "csr-client-unknown")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("rule expected"),
    });
    expect(await csr("approve", "csr-client-unknown", "--despite=expected")).toMatchObject({ code: 0 });
    await lab.issued("csr-client-unknown");
    expect(await csr("approve", "csr-client-unknown")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("is approved already"),
    });
  });

  test("a dry run decides the same and changes nothing", async () => {
    await approver.stop();
    await fileClient("csr-dry", "dry");
    const dryLog = scope.file("dry.jsonl");
    const dry = LabProcess.start(scope, {
      name: "dry",
      command: [ours("drawbridge"), "csr", "approver", ...flags, "--dry-run", `--decision-log=${dryLog}`],
    });
    await dry.ready("it decides", SOON, () => dry.log().includes('request="csr-dry"'));
    expect(decisionsIn(dryLog)).toContainEqual(
      expect.objectContaining({ by: "dry run", request: "csr-dry", action: "approve" }),
    );
    await dry.stop();
    expect(outcomeOf(await lab.find("csr-dry"))).toBe("pending");
  });

  test("of two replicas one decides, and the other goes on when it ends", async () => {
    const first = startApprover("first");
    await first.ready("it decides", SOON, () => first.log().includes("this replica decides"));
    const second = startApprover("second");
    await second.ready("it is up", SOON, () => second.log().includes("csr approver is up"));
    await lab.issued("csr-dry");
    await first.stop();
    await fileClient("csr-after", "after");
    await lab.issued("csr-after");
    expect(second.log()).toContain("this replica decides");
    const approved = () =>
      decisionsIn(logFile)
        .filter(({ request, action }) => action === "approve" && /^csr-(dry|after)$/.test(request))
        .map(({ request }) => request);
    await until("both decisions to be on record", SOON, () => approved().length >= 2);
    expect(approved()).toEqual(["csr-dry", "csr-after"]);
    await second.stop();
  });

  describe("with exactly the permissions it asks for", () => {
    let user: KubeApi;
    let trial: Trial;

    /** What becomes of an approval that no rule looked at. */
    async function approvalAs(signerName: string): Promise<string> {
      const name = `csr-bare-${signerName.replace(/\W/g, "-")}`;
      const usages = signerName === SERVING_SIGNER ? SERVING : CLIENT;
      const names = signerName === SERVING_SIGNER ? "DNS:bare" : "";
      await file(lab.admin, { name, pem: lab.request(subjectOf("bare"), names), signerName, usages });
      const request = await lab.find(name);
      const now = new Date().toISOString();
      const approval = { type: "Approved", status: "True", reason: "Test", message: "", lastUpdateTime: now };
      const approved = { ...request, status: { ...request.status, conditions: [approval] } };
      try {
        await user.update(`${requestPath(name)}/approval`, approved);
      } catch (reason) {
        if ((reason as { status?: number }).status === 403) return "forbidden";
        throw reason;
      }
      return "approved";
    }

    beforeAll(async () => {
      user = lab.as({ pair: { cert: scope.file(`${APPROVER}.crt`), key: scope.file(`${APPROVER}.key`) } });
      trial = new Trial(lab, user, bootstrapper);
      await lab.putNode("r-node", "192.0.2.40");
    });

    test("both kinds are approved without a complaint", async () => {
      const { approved, errors } = await trial.runUntil("both approvals", ({ approved }) => approved.length === 2);
      expect({ approved, errors }).toEqual({ approved: ["client", "serving"], errors: [] });
    });

    test("the approver may approve for the kubelets' two signers and for no other", async () => {
      const signers = [CLIENT_SIGNER, SERVING_SIGNER, "kubernetes.io/kube-apiserver-client", "example.com/signer"];
      const verdicts = await Promise.all(signers.map(approvalAs));
      expect(verdicts).toEqual(["approved", "approved", "forbidden", "forbidden"]);
    });

    test.each([...clusterPermissions, ...namespacePermissions])(
      "without $verb $resource $name it fails and says so",
      async (permission) => {
        await withdraw(lab, user, permission);
        try {
          const complains = ({ errors }: Course) => errors.some((error) => isAbout(error, permission));
          const { resource, verb } = permission;
          const { approved } = await trial.runUntil(
            "a complaint",
            complains,
            `${verb} ${resource}` === "update configmaps",
          );
          for (const kind of stoppedWithout(permission)) expect(approved).not.toContain(kind);
        } finally {
          await giveBack(lab);
        }
      },
    );
  });
});

function withoutWorker(name: string) {
  return (document: { readonly workers?: readonly object[] }): object => ({
    ...document,
    workers: document.workers?.filter((worker) => (worker as { name: string }).name !== name),
  });
}

/** The last byte belongs to the signature. */
function altered(pem: string): string {
  const der = Buffer.from(pem.replace(/-----.*-----/g, ""), "base64");
  der[der.length - 1] = (der.at(-1) ?? 0) ^ 1;
  return `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString("base64")}\n-----END CERTIFICATE REQUEST-----\n`;
}
