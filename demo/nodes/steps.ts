/** The steps of the nodes' story, each with its proof. */
import { X509Certificate } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createKubeApi } from "../../src/cluster/kube/client.js";
import { collectionPath } from "../../src/cluster/kube/paths.js";
import type { KubeObject } from "../../src/cluster/kube/port.js";
import type { PoolStatus } from "../../src/cluster/nodes/controller/status.js";
import type { DecisionEntry } from "../../src/cluster/nodes/csr/decide.js";
import { CLIENT_SIGNER, REQUESTS_PATH, type SigningRequest } from "../../src/cluster/nodes/csr/signing-request.js";
import { makeSigningRequest } from "../../src/tunnel/pki/issue.js";
import { waitUntil, within } from "../../test/support/processes/deadline.js";
import type { Processes, Running } from "../processes/processes.js";
import { ready } from "../processes/ready.js";
import type { Show } from "../report/show.js";
import type { Cluster } from "./cluster.js";
import type { NodesFixture } from "./fixture.js";
import { POOL, poolObjects } from "./pool.js";

const MACHINES = ["workers-0", "workers-1"] as const;

export async function startCluster(start: () => Promise<Cluster>, show: Show): Promise<Cluster> {
  const cluster = await start();
  show.result(cluster.description);
  return cluster;
}

export async function makePool(fixture: NodesFixture, show: Show): Promise<void> {
  const { cluster, ignitionPort } = fixture;
  const text = poolObjects(cluster, `127.0.0.1:${ignitionPort}`);
  writeFileSync(fixture.file("pool.yaml"), text, { mode: 0o600 });
  await fixture.drawbridge("nodepool", "apply", "-f", fixture.file("pool.yaml"));
  fixture.lookAfterPools();
  const pool = await waitUntil("the pool has user data", async () => {
    const all = JSON.parse(await fixture.drawbridge("nodepool", "status", "--output=json"));
    return (all as { pools: PoolStatus[] }).pools.find(({ ready }) => ready);
  });
  show.result(
    `pool ${pool.name} is at version ${pool.version}, configuration ${pool.hash}, with a token for its machines`,
  );
}

export async function makeWorkers(fixture: NodesFixture, show: Show): Promise<void> {
  const state = `--state=${fixture.file("state")}`;
  await fixture.drawbridge("workers", "create", `--pool=${POOL}`, "--count=2", "--own-token", state);
  for (const machine of MACHINES)
    if (!existsSync(fixture.file(`state/${machine}.ign`))) throw new Error(`no ${machine}.ign`);
  fixture.approve();
  show.result(`${MACHINES.join(" and ")} have user data with a token of their own; the approver expects them`);
}

/** Nobody serves yet: a machine must wait and not give up. */
export async function bootTooEarly(fixture: NodesFixture, show: Show): Promise<Running> {
  const machine = fixture.bootInTheBackground(MACHINES[0], "early");
  await ready(machine, "asks again", 10_000, () => attemptsOf(machine).length >= 2);
  show.result("simulate-node gets no answer and goes on asking, longer and longer apart, as a machine does");
  return machine;
}

export async function serve(fixture: NodesFixture, early: Running, show: Show): Promise<void> {
  fixture.serveIgnition();
  const token = await waitUntil("the payload is made", async () => {
    const text = await fixture.drawbridge("nodepool", "status", POOL, "--output=json");
    return (JSON.parse(text) as PoolStatus).tokens.find(({ payload }) => payload === "AsExpected");
  });
  show.note(`payload made for ${token.secret}`);
  const code = await within(15_000, "the early machine to be served", early.exited);
  const attempts = attemptsOf(early);
  if (code !== 0 || !attempts.at(-1)?.includes(" 200, ")) throw new Error(`it ended with ${code}:\n${early.tail(4)}`);
  show.result(
    `the machine that was too early is served at attempt ${attempts.length}, over TLS with the pool's authority`,
  );
}

function attemptsOf(machine: Running): string[] {
  return machine
    .tail(100)
    .split("\n")
    .filter((line) => line.startsWith("GET "));
}

export async function bootMachines(fixture: NodesFixture, show: Show): Promise<void> {
  const booted = await Promise.all(
    MACHINES.map((machine, index) => fixture.boot(machine, machine, "--csr", `--address=10.0.0.${index + 10}`)),
  );
  for (const [index, machine] of MACHINES.entries()) {
    const { code, lines, result } = booted[index]!;
    if (code !== 0) throw new Error(`${machine}: ${lines.join("; ")}`);
    const certificates = (result.joined?.certificates ?? []).map(
      ({ file }) => new X509Certificate(readFileSync(`${fixture.file(machine)}${file}`)),
    );
    const names = certificates.map(({ subject }) => subject.split("\n").at(-1));
    if (names.length !== 2 || names.some((name) => name !== `CN=system:node:${machine}`)) {
      throw new Error(`${machine} got certificates for ${names.join(", ") || "nobody"}`);
    }
    const { files, units } = result;
    show.note(`${machine}: ${files.length} files and ${units} units below its root, client and serving certificate`);
  }
  // Who was refused, as a machine that came too early may be, is on record without a worker.
  const fetched = new Set(fixture.fetches().flatMap(({ worker }) => worker ?? []));
  const approved = fixture.decisions().filter(({ action }) => action === "approve");
  if (!MACHINES.every((machine) => fetched.has(machine)) || approved.length !== 4) {
    throw new Error(`${[...fetched].join(", ")} fetched, and ${approved.length} requests were approved`);
  }
  const nodes = (await fixture.cluster.api.list<KubeObject>(collectionPath("Node"))).items;
  if (nodes.length !== MACHINES.length) throw new Error(`the cluster has ${nodes.length} Nodes`);
  show.figures({ fetched: fetched.size, approved: approved.length, nodes: nodes.length });
  show.result(`both fetched with their own token; 4 requests approved by rule, signed by ${fixture.cluster.signer}`);
}

/** With the credential that every machine has: what it may file is not what it gets. */
export async function forge(fixture: NodesFixture, show: Show): Promise<void> {
  const { api, ca, token, url } = fixture.cluster;
  const credentials = { headers: { authorization: `Bearer ${token}` }, tls: { ca } };
  const thief = createKubeApi({ server: url, credentials: async () => credentials }, { qps: 0, burst: 0 });
  const masters = await file("forged-masters", "workers-0", ["system:nodes", "system:masters"]);
  const stranger = await file("forged-stranger", "intruder", ["system:nodes"]);
  thief.close();
  for (const { action, explanation, rule } of [masters, stranger]) {
    if (action === "approve") throw new Error("a forged request was approved");
    show.note(`${action === "deny" ? "denied" : "left pending"}: ${explanation} (rule ${rule})`);
  }
  const issued = (await api.list<SigningRequest>(REQUESTS_PATH)).items.filter(
    ({ metadata, status }) => metadata?.name?.startsWith("forged-") && status?.certificate,
  );
  if (issued.length > 0 || masters.action !== "deny") throw new Error("a forged request got through");
  show.result(
    "an administrator's group is denied, a machine nobody expects is left pending; neither has a certificate",
  );

  async function file(name: string, node: string, organizations: string[]): Promise<DecisionEntry> {
    const { requestPem } = await makeSigningRequest({ commonName: `system:node:${node}`, organizations });
    const usages = ["digital signature", "client auth"];
    const spec = { request: Buffer.from(requestPem).toString("base64"), signerName: CLIENT_SIGNER, usages };
    const kind = { apiVersion: "certificates.k8s.io/v1", kind: "CertificateSigningRequest", metadata: { name } };
    await thief.create<SigningRequest>(REQUESTS_PATH, { ...kind, spec });
    return waitUntil(`a decision about ${name}`, () => fixture.decisions().find(({ request }) => request === name));
  }
}

export async function tidyUp(fixture: NodesFixture, processes: Processes, show: Show): Promise<void> {
  const running = processes.all;
  for (const each of running) each.kill("SIGTERM");
  const codes = await within(8_000, "processes to end", Promise.all(running.map(({ exited }) => exited)));
  if (codes.some((code) => code !== 0)) throw new Error(`asked to end, they ended with ${codes.join(", ")}`);
  await fixture.cluster.close();
  await processes.close();
  rmSync(fixture.folder, { recursive: true, force: true });
  if (existsSync(fixture.folder)) throw new Error("the folder is still there");
  show.result(
    `${running.length} processes ended with exit code 0; the cluster and the folder with tokens and keys are gone`,
  );
}
