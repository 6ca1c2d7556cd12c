/**
 * Machines of a pool become nodes of a hosted cluster, without HyperShift and by real programs at every step: two
 * kube-apiservers, the signer, ignition, kubelets, and drawbridge's parts with the rights that `nodepool install` gives them. Then
 * everything happens to them that happens to nodes. The tests are one story: they run in order and build on each other.
 */
import { X509Certificate } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { requirePeer } from "../../peers/index.js";
import type { DecisionEntry } from "../../src/cluster/nodes/csr/decide.js";
import { SERVING_SIGNER } from "../../src/cluster/nodes/csr/signing-request.js";
import { annotation } from "../../src/cluster/nodes/objects.js";
import { equipped } from "../support/lab/equipment.js";
import { agedNodeCertificate } from "../support/lab/node/aged-certificate.js";
import { POD_IMAGE } from "../support/lab/node/image.js";
import { KUBELET_PORT } from "../support/lab/node/node.js";
import type { LabProcess } from "../support/lab/process.js";
import { until } from "../support/lab/wait.js";
import { NodesLab, SOON } from "./nodes-lab.js";
import { MARK, NAMESPACE, POOL } from "./nodes-objects.js";

const CLIENT_CERTIFICATE = "/var/lib/kubelet/pki/kubelet-client-current.pem";
/** How long the APIs are away. */
const OUTAGE_MS = 30_000;
/** Everybody asks again after pauses that grow to half a minute, as the clients of Kubernetes do. */
const BACK_WITHIN_MS = 60_000;

const ignition = requirePeer("ignition");
const ready = (await equipped({ controlPlane: true, namespaces: true, node: true, scheduler: true })) && ignition;

describe.skipIf(!ready)("nodes of a hosted cluster", () => {
  let lab: NodesLab;

  beforeAll(async () => {
    lab = await NodesLab.start(ignition!);
  });
  afterAll(() => lab?.stop());

  const approvalsOf = (worker: string) =>
    lab.decisions.filter(({ action, node }) => action === "approve" && node === worker).map(kindOf);
  const certificateOf = async (name: string) =>
    new X509Certificate(await lab.machines.of(name).read(CLIENT_CERTIFICATE));
  const nodeUids = async () => {
    const { items } = await lab.hosted.admin.json<{ items: { metadata: { name: string; uid: string } }[] }>([
      "get",
      "nodes",
    ]);
    return items.map(({ metadata }) => `${metadata.name} ${metadata.uid}`).sort();
  };

  test("the parts run with what install gave them, and a pool gets its payload", async () => {
    await lab.install();
    await lab.startParts();
    await lab.applyPool();
    await lab.servedHash();
  });

  test("two administrators who create the same workers at once make each machine once, and both become Ready", async () => {
    const create = (host: string) => lab.workers(host, "create", "--count=2", ...lab.workerFlags);
    await Promise.all([create("first"), create("second")]);
    expect([...lab.machines.journal].sort()).toEqual(["make workers-0", "make workers-1"]);
    await lab.allReady("workers-0", "workers-1");
    for (const name of ["workers-0", "workers-1"]) {
      expect(lab.machines.bootOf(name).text("etc/hostname")).toBe(`${name}\n`);
      expect((await certificateOf(name)).subject).toBe(`O=system:nodes\nCN=system:node:${name}`);
      await until(`${name}'s certificates`, SOON, () => approvalsOf(name).length === 2);
      expect(approvalsOf(name)).toEqual(["first", "serving"]);
    }
  });

  test("kubectl logs works, and a kubelet's certificate is one that clients can verify", async () => {
    const { admin, ca } = lab.hosted;
    await admin.apply(talker, ...web);
    const log = await until("the pod's words", SOON, async () => (await admin.run(["logs", "talker"])) || undefined);
    expect(log).toBe("a pod on a machine that joined\n");
    await admin.run(["delete", "pod", "talker"]);
    const { address } = lab.machines.placeOf("workers-0");
    const healthz = ["curl", "-sS", "--max-time", "5", "-o", "/dev/null", "-w", "%{http_code}", "--cacert", ca.cert];
    // Without a client certificate it is 401: what counts is that curl verified the other side's.
    const answer = await lab.fromHosted([...healthz, `https://${address}:${KUBELET_PORT}/healthz`]);
    expect(answer).toMatchObject({ code: 0, stdout: "401" });
  });

  test("a worker's own token opens nothing any more once its node is Ready", async () => {
    for (const name of ["workers-0", "workers-1"]) {
      await until(`the refusal of ${name}`, SOON, async () => (await lab.machines.fetchStatus(name)) === 511);
    }
  });

  test("a certificate near its end is renewed by the node itself", async () => {
    const machine = lab.machines.of("workers-0");
    const folder = lab.scope.file("aged");
    const old = agedNodeCertificate(folder, lab.hosted.ca, "workers-0", await machine.read(CLIENT_CERTIFICATE));
    await machine.write(CLIENT_CERTIFICATE, old);
    await machine.endKubelet();
    await until("the new certificate", SOON, async () => {
      return (await certificateOf("workers-0")).serialNumber !== new X509Certificate(old).serialNumber;
    });
    expect(approvalsOf("workers-0")).toEqual(["first", "serving", "renewal"]);
  });

  describe("while two machines boot", () => {
    beforeAll(async () => {
      lab.machines.hold("workers-2", "fetch");
      lab.machines.hold("workers-3", "join");
      await lab.workers("first", "create", "--count=4", ...lab.workerFlags);
      await Promise.all([lab.machines.held("workers-2"), lab.machines.held("workers-3")]);
    });

    describe("a machine with the credential of every payload stays out", () => {
      const impostors = [
        { node: "workers-7", why: "expected", what: "with a name that nobody expects" },
        { node: "workers-2", why: "claim", what: "with the name of a worker that has fetched nothing" },
        { node: "workers-0", why: "node-absent", what: "with the name of a node" },
      ];
      let started: LabProcess[] = [];
      beforeAll(async () => {
        started = await Promise.all(impostors.map(({ node }) => lab.startImpostor(node, "workers-0")));
      });
      afterAll(async () => {
        await Promise.all(started.map((impostor) => impostor.kill()));
        const left = lab.decisions.filter(({ action }) => action === "leave").map(({ request }) => request);
        await lab.hosted.admin.run(["delete", "csr", "--ignore-not-found", ...new Set(left)]);
      });

      test.each(impostors)("$what", async ({ node, why }) => {
        const { request } = await lab.decision(
          `${node}'s request`,
          (one) => one.node === node && one.action === "leave",
        );
        const { code, stdout } = await lab.csr("explain", request, "--output=json");
        const { findings } = JSON.parse(stdout) as { findings: { rule: string; objection?: string }[] };
        const broken = findings.flatMap(({ objection, rule }) => (objection === undefined ? [] : [rule]));
        expect([code, broken]).toEqual([1, expect.arrayContaining([why])]);
        expect((await lab.hosted.admin.json<{ status: object }>(["get", "csr", request])).status).toEqual({});
        expect(Object.keys(await lab.nodes())).toEqual(["workers-0", "workers-1"]);
      });
    });

    test("the pool changes: whoever has not fetched gets the new payload, and only those who have are behind", async () => {
      const before = await lab.poolHash();
      await lab.changePool("second");
      const after = await lab.servedHash(before);
      for (const name of ["workers-2", "workers-3"]) lab.machines.release(name);
      await lab.allReady("workers-0", "workers-1", "workers-2", "workers-3");
      const mark = (name: string) => lab.machines.bootOf(name).text(MARK);
      expect([mark("workers-2"), mark("workers-3")]).toEqual(["second", "first"]);
      const served = async (name: string) => {
        const { spec, status } = await lab.worker(name);
        return [spec?.hash, status?.served?.hash];
      };
      expect([await served("workers-2"), await served("workers-3")]).toEqual([
        [before, after],
        [before, before],
      ]);
      const list = await lab.list();
      const seen = [...list.values()].map(({ configuration, name }) => `${name} ${configuration}`);
      expect(seen).toEqual(["workers-0 behind", "workers-1 behind", "workers-2 current", "workers-3 behind"]);
      const planned = await lab.workers("first", "replace", `--pool=${POOL}`, "--behind", "--dry-run");
      expect(planned).not.toContain("workers-2 would");
    });
  });

  test("machine controllers remove what is too much and replace what is behind, drained within the budget", async () => {
    await lab.startMachineControllers();
    await lab.allReady("workers-2", "workers-4");
    await until("the machines", SOON, () => lab.machines.names.join() === "workers-2,workers-4");
    expect(lab.machines.bootOf("workers-4").text(MARK)).toBe("second");
    expect([...(await lab.list()).values()].map(({ configuration }) => configuration)).toEqual(["current", "current"]);
    await webRuns();
  });

  test("kubectl scale makes another machine", async () => {
    await scaleTo(3);
    await lab.allReady("workers-2", "workers-4", "workers-5");
    const columns = ["get", "nodepool", POOL, "-n", NAMESPACE, "--no-headers"];
    await until("the columns", SOON, async () => /^workers +demo +3 +3 /.test(await lab.management.admin.run(columns)));
  });

  test("a kubelet that is killed and started again is the same node, and nothing is done about it", async () => {
    const before = [await nodeUids(), lab.machines.journal];
    const pid = await lab.machines.of("workers-2").read("/run/kubelet.pid");
    await lab.machines.of("workers-2").endKubelet("KILL");
    await until("another kubelet", SOON, async () => {
      return (await lab.machines.of("workers-2").read("/run/kubelet.pid")) !== pid;
    });
    await lab.allReady("workers-2", "workers-4", "workers-5");
    expect([await nodeUids(), lab.machines.journal]).toEqual(before);
  });

  test("a node whose kubelet was killed and does not come back is repaired by another machine", async () => {
    await repairAfter("5s");
    await lab.machines.breakKubelet("workers-4");
    await until("its removal", SOON, () => lab.machines.journal.includes("remove workers-4"));
    // A new machine may take longer to become Ready.
    await repairAfter("10m");
    await lab.allReady("workers-2", "workers-5", "workers-6");
    expect(lab.machines.journal.slice(-2)).toEqual(["remove workers-4", "make workers-6"]);
    expect(lab.machines.names).toEqual(["workers-2", "workers-5", "workers-6"]);
    await webRuns();
  });

  test("leaders are killed while a machine joins: the others go on, and nothing is done twice", async () => {
    lab.machines.hold("workers-7", "join");
    await scaleTo(4);
    await lab.machines.held("workers-7");
    const killed = await leaders();
    await Promise.all(killed.map((leader) => leader.kill()));
    lab.machines.release("workers-7");
    await lab.applyOtherPool("other");
    const [hash] = await Promise.all([
      lab.servedHash("", "other"),
      lab.allReady("workers-2", "workers-5", "workers-6", "workers-7"),
    ]);
    for (const leader of await leaders()) expect(killed).not.toContain(leader);
    await until("its certificates", SOON, () => approvalsOf("workers-7").length === 2);
    expect(approvalsOf("workers-7")).toEqual(["first", "serving"]);
    expect(await secretsOf("other")).toEqual([`token-other-${hash}`, `user-data-other-${hash}`]);
    onlyOnce();
  });

  test("one API is gone and the other silent for half a minute: nothing is removed or let in, and everything goes on afterwards", async () => {
    lab.machines.hold("workers-8", "fetch");
    await scaleTo(5);
    await lab.machines.held("workers-8");
    const before = await nodeUids();
    const journal = lab.machines.journal;
    const decided = lab.decisions.length;
    const hash = await lab.poolHash("other");
    await lab.changePool("second", "other");
    lab.hosted.apiServer.process.freeze();
    await lab.management.apiServer.stop();
    const away = sleep(OUTAGE_MS);
    // The Ignition server has the payload in its memory.
    lab.machines.hold("workers-8", "join");
    await lab.machines.held("workers-8");
    await away;
    expect([lab.machines.journal, lab.decisions.length]).toEqual([journal, decided]);
    lab.hosted.apiServer.process.thaw();
    await lab.management.apiServer.start();
    lab.machines.release("workers-8");
    const took = await lab.allReady("workers-2", "workers-5", "workers-6", "workers-7", "workers-8");
    expect(took).toBeLessThan(BACK_WITHIN_MS);
    expect((await nodeUids()).filter((node) => !node.startsWith("workers-8 "))).toEqual(before);
    await lab.servedHash(hash, "other");
    await until("its certificates", SOON, () => approvalsOf("workers-8").length === 2);
    await until("the refusal of its token", SOON, async () => (await lab.machines.fetchStatus("workers-8")) === 511);
    expect(lab.machines.journal).toEqual(journal);
    await webRuns();
    // The machine controller works, too.
    await scaleTo(4);
    await until("one machine less", SOON, () => lab.machines.names.length === 4);
    onlyOnce();
  }, 240_000);

  const leaders = () => Promise.all([lab.leader("controller"), lab.leader("approver"), lab.leader("machines")]);

  /** How long a node may be NotReady. */
  async function repairAfter(time: string): Promise<void> {
    const health = `${annotation.healthTimeout}=${time}`;
    await lab.management.admin.run(["annotate", "nodepool", POOL, "-n", NAMESPACE, "--overwrite", health]);
  }

  async function scaleTo(replicas: number): Promise<void> {
    await lab.management.admin.run(["scale", "nodepool", POOL, "-n", NAMESPACE, `--replicas=${replicas}`]);
  }

  /** Each machine was made and removed once, and each request approved once, by whichever approver. */
  function onlyOnce(): void {
    const approved = lab.decisions.flatMap(({ action, request }) => (action === "approve" ? [request] : []));
    expect(approved).toEqual([...new Set(approved)]);
    expect(lab.machines.journal).toEqual([...new Set(lab.machines.journal)]);
  }

  /** The Secrets that a pool's controller made for it. */
  async function secretsOf(pool: string): Promise<string[]> {
    const names = await lab.management.admin.run(["get", "secrets", "-n", NAMESPACE, "-oname"]);
    const own = new RegExp(`^secret/((token|user-data)-${pool}-.*)$`);
    return names.split("\n").flatMap((line) => own.exec(line)?.[1] ?? []);
  }

  /** What the cluster is there for. */
  async function webRuns(): Promise<void> {
    const readyReplicas = ["get", "replicaset", "web", "-ojsonpath={.status.readyReplicas}"];
    await until("the application", SOON, async () => (await lab.hosted.admin.run(readyReplicas)) === "2");
  }
});

type Kind = "first" | "renewal" | "serving";

function kindOf({ node, signer, user }: DecisionEntry): Kind {
  if (signer === SERVING_SIGNER) return "serving";
  return user === `system:node:${node}` ? "renewal" : "first";
}

const container = (script: string) => ({
  ...{ name: "main", image: POD_IMAGE, imagePullPolicy: "Never" },
  command: ["sh", "-c", script],
});

const talker = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "talker", namespace: "default" },
  spec: {
    ...{ nodeName: "workers-0", terminationGracePeriodSeconds: 0 },
    containers: [container("echo a pod on a machine that joined; exec sleep 600")],
  },
};

const labels = { app: "web" };

/** An application of which one of two may be missing. */
const web = [
  {
    ...{ apiVersion: "apps/v1", kind: "ReplicaSet", metadata: { name: "web", namespace: "default" } },
    spec: {
      ...{ replicas: 2, selector: { matchLabels: labels } },
      template: {
        metadata: { labels },
        spec: { terminationGracePeriodSeconds: 0, containers: [container("exec sleep 2147483647")] },
      },
    },
  },
  {
    ...{ apiVersion: "policy/v1", kind: "PodDisruptionBudget", metadata: { name: "web", namespace: "default" } },
    spec: { minAvailable: 1, selector: { matchLabels: labels } },
  },
];
