/**
 * A machine becomes a node without HyperShift, by real programs at every step: ignition fetches what our server made of a
 * pool, the kubelet of that payload asks for its certificates, the approver knows whom it expects, and kube-controller-manager
 * signs. Machines that are not expected stay out. The tests are one story: they run in order and build on each other.
 */
import { X509Certificate } from "node:crypto";
import { mkdirSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { requirePeer } from "../../peers/index.js";
import type { DecisionEntry } from "../../src/cluster/nodes/csr/decide.js";
import { SERVING_SIGNER } from "../../src/cluster/nodes/csr/signing-request.js";
import { component, equipped, nodeExecutables } from "../support/lab/equipment.js";
import { agedNodeCertificate } from "../support/lab/node/aged-certificate.js";
import { type BootedMachine, FirstBoot, switchOn } from "../support/lab/node/first-boot.js";
import { POD_IMAGE } from "../support/lab/node/image.js";
import { KUBELET_PORT } from "../support/lab/node/node.js";
import { LabProcess } from "../support/lab/process.js";
import { run } from "../support/lab/run.js";
import { until } from "../support/lab/wait.js";
import { decisionsIn } from "./csr-lab.js";
import { NodesLab } from "./nodes-lab.js";
import { POOL } from "./nodes-objects.js";

const SOON = 60_000;
const CLIENT_CERTIFICATE = "/var/lib/kubelet/pki/kubelet-client-current.pem";

const ignition = requirePeer("ignition");
const ready = (await equipped({ controlPlane: true, namespaces: true, node: true })) && ignition !== undefined;

describe.skipIf(!ready)("a machine joins", () => {
  let lab: NodesLab;
  let boot: FirstBoot;
  let machine: BootedMachine;

  beforeAll(async () => {
    lab = await NodesLab.start();
  });
  afterAll(() => lab?.stop());

  const userData = (worker: string) => lab.scope.file(`state/${worker}.ign`);
  const bootOf = (worker: string, index: number) =>
    new FirstBoot(lab.scope, {
      ...{ name: worker, userData: userData(worker), ignition: ignition! },
      netns: lab.hosts.nodes[index]!.namespace.name,
    });
  const certificate = async () => new X509Certificate(await machine.read(CLIENT_CERTIFICATE));
  const explanation = async (request: string) => {
    const { code, stdout } = await lab.csr("explain", request, "--output=json");
    const { findings } = JSON.parse(stdout) as { findings: { rule: string; objection?: string }[] };
    return { code, broken: findings.filter(({ objection }) => objection !== undefined).map(({ rule }) => rule) };
  };

  test("a pool is declared, and has user data for two workers", async () => {
    const parts = "--components=controller,approver,ignition";
    expect(await lab.asAdmin("nodepool", "install", "--image=registry.example/drawbridge:1", parts)).toMatchObject({
      code: 0,
      stderr: "",
    });
    await lab.startParts();
    expect(await lab.applyPool()).toMatchObject({ code: 0 });
    const create = ["workers", "create", `--pool=${POOL}`, "--count=2", "--own-token"];
    await until("user data", SOON, async () => {
      return (await lab.asAdmin(...create, `--state=${lab.scope.file("state")}`)).code === 0;
    });
  });

  test("ignition fetches the payload from the machine's network and writes it", async () => {
    boot = bootOf("workers-0", 0);
    await boot.complete();
    expect(boot.text("etc/hostname")).toBe("workers-0\n");
    expect(boot.text("etc/systemd/system-preset/20-ignition.preset")).toContain("enable kubelet.service");
  });

  test("the kubelet of a new node gets both certificates and the node is Ready", async () => {
    const { namespace, podGateway, podSubnet } = lab.hosts.nodes[0]!;
    const executables = nodeExecutables();
    machine = await switchOn(lab.scope, boot, { netns: namespace.name, podGateway, podSubnet, executables });
    const readiness = ["get", "node", "workers-0", '-ojsonpath={.status.conditions[?(@.type=="Ready")].status}'];
    await machine.process.ready("Ready", 120_000, async () => {
      return (await lab.plane.admin.try(readiness)).stdout === "True";
    });
    expect((await certificate()).subject).toBe("O=system:nodes\nCN=system:node:workers-0");
    await lab.decision("its serving certificate", approved("serving"));
  });

  test("kubectl logs works, and the kubelet's certificate is one that clients can verify", async () => {
    const { admin, ca } = lab.plane;
    await admin.apply(talker);
    const log = await until("the pod's words", 60_000, async () => (await admin.run(["logs", "talker"])) || undefined);
    expect(log).toBe("a pod on a machine that joined\n");
    const { address } = lab.hosts.nodes[0]!;
    const healthz = ["curl", "-sS", "--max-time", "5", "-o", "/dev/null", "-w", "%{http_code}", "--cacert", ca.cert];
    // Without a client certificate it is 401: what counts is that curl verified the other side's.
    const answer = await run([...healthz, `https://${address}:${KUBELET_PORT}/healthz`], {
      netns: lab.hosts.bs.name,
    });
    expect(answer).toMatchObject({ code: 0, stdout: "401" });
  });

  describe("a machine with the same credential stays out", () => {
    const impostors = [
      { node: "workers-7", why: "expected", what: "whose name nobody expects" },
      { node: "workers-1", why: "claim", what: "that never fetched the worker's configuration" },
      { node: "workers-0", why: "node-absent", what: "with the name of a node that is there" },
    ];

    beforeAll(() => {
      for (const { node } of impostors) startImpostor(node);
    });

    test.each(impostors)("$what", async ({ node, why }) => {
      const { request } = await lab.decision(`${node}'s request`, (decision) => {
        return decision.node === node && decision.action === "leave";
      });
      const { code, broken } = await explanation(request);
      expect([code, broken]).toEqual([1, expect.arrayContaining([why])]);
      expect((await lab.plane.admin.json<{ status: object }>(["get", "csr", request])).status).toEqual({});
      const { items } = await lab.plane.admin.json<{ items: { metadata: { name: string } }[] }>(["get", "nodes"]);
      expect(items.map(({ metadata }) => metadata.name)).toEqual(["workers-0"]);
    });

    test("until the worker's own user data was used, which is what makes the difference", async () => {
      await bootOf("workers-1", 1).fetch();
      await lab.decision("workers-1", ({ node, action }) => node === "workers-1" && action === "approve");
    });
  });

  test("a certificate near its end is renewed by the node itself", async () => {
    const old = agedNodeCertificate(
      ...([lab.scope.file("aged"), lab.plane.ca, "workers-0", await machine.read(CLIENT_CERTIFICATE)] as const),
    );
    await machine.write(CLIENT_CERTIFICATE, old);
    await machine.restartKubelet();
    const { request } = await lab.decision("the renewal", approved("renewal"));
    await until("the new certificate", SOON, async () => {
      return (await certificate()).serialNumber !== new X509Certificate(old).serialNumber;
    });
    const { spec } = await lab.plane.admin.json<{ spec: { username: string } }>(["get", "csr", request]);
    expect(spec.username).toBe("system:node:workers-0");
    const approvals = decisionsIn(lab.decisionLog).filter(
      ({ action, node }) => action === "approve" && node === "workers-0",
    );
    expect(approvals.map(kindOf)).toEqual(["first", "serving", "renewal"]);
  });

  /** A kubelet that was given a name and the credential that is in every payload. It waits for its certificate before all else. */
  function startImpostor(name: string): LabProcess {
    const folder = lab.scope.file(`impostor-${name}`);
    mkdirSync(folder);
    return LabProcess.start(lab.scope, {
      name: `impostor-${name}`,
      netns: lab.hosts.nodes[1]!.namespace.name,
      command: [
        ...([component("kubelet"), `--bootstrap-kubeconfig=${boot.root}/etc/kubernetes/bootstrap-kubeconfig`] as const),
        ...[`--kubeconfig=${folder}/kubeconfig`, `--cert-dir=${folder}/pki`, `--root-dir=${folder}/kubelet`],
        ...[`--hostname-override=${name}`, "--fail-swap-on=false"],
      ],
    });
  }
});

type Kind = "first" | "renewal" | "serving";

function kindOf({ node, signer, user }: DecisionEntry): Kind {
  if (signer === SERVING_SIGNER) return "serving";
  return user === `system:node:${node}` ? "renewal" : "first";
}

const approved = (kind: Kind) => (decision: DecisionEntry) =>
  decision.action === "approve" && kindOf(decision) === kind;

const talker = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "talker", namespace: "default" },
  spec: {
    nodeName: "workers-0",
    terminationGracePeriodSeconds: 0,
    containers: [
      {
        name: "main",
        image: POD_IMAGE,
        imagePullPolicy: "Never",
        command: ["sh", "-c", "echo a pod on a machine that joined; exec sleep 600"],
      },
    ],
  },
};
