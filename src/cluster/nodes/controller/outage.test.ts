/** An API that is away for one write, at each write of a pool's life: afterwards everything is as if it had not been. */
import { expect, test } from "vitest";
import { collectionPath, namedPath } from "../../kube/paths.js";
import type { KubeApi } from "../../kube/port.js";
import { annotation, type ConfigMap, encoded, type Secret } from "../objects.js";
import type { View } from "../pool/input.js";
import type { NodePool } from "../pool/node-pool.js";
import { InterruptedApi, type Interruption } from "../testing/interrupted-api.js";
import { createMemoryApi } from "../testing/memory-api.js";
import { isTokenSecret, readTokenSecret } from "../token/token-secret.js";
import { readUserData } from "../token/user-data.js";
import type { WorkOutcome } from "../work-queue.js";
import { issuedInputs, type KeepCertificateOptions, keepCertificate } from "./certificate.js";
import { attempted, pass, Writer } from "./controller.js";
import { clusterMap, makePool, namespace, PoolFixture } from "./testing/fixture.js";

const machineConfig = (name: string) => `apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata: {name: ${name}}
spec: {config: {ignition: {version: 3.2.0}}}
`;
const config = (name: string): ConfigMap => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "extra", namespace },
  data: { config: machineConfig(name) },
});
const configPath = namedPath("ConfigMap", { namespace, name: "extra" });

async function viewOf(api: KubeApi): Promise<View> {
  const map = async <T extends NodePool | ConfigMap | Secret>(kind: "NodePool" | "ConfigMap" | "Secret") => {
    const { items } = await api.list<T>(collectionPath(kind, namespace));
    return new Map(items.map((item) => [`${namespace}/${item.metadata?.name}`, item]));
  };
  return { pools: await map<NodePool>("NodePool"), configMaps: await map("ConfigMap"), secrets: await map("Secret") };
}

/** Looks when something that concerns it has changed or the last look came to nothing, as the controller's queue does. */
class CertificateKeeper {
  #seen = "";
  #last: WorkOutcome = "retry";

  async look(options: KeepCertificateOptions): Promise<WorkOutcome> {
    const seen = issuedInputs(options.view);
    if (this.#last === "wait" && seen === this.#seen) return this.#last;
    this.#seen = seen;
    this.#last = await attempted(
      () => {},
      async () => {
        await keepCertificate(options);
        return "wait";
      },
    );
    return this.#last;
  }
}

/** Looks until nothing is left to do. What a machine could be given in between must always open something. */
async function settle(interrupted: InterruptedApi, certificate: CertificateKeeper): Promise<void> {
  const { api } = interrupted;
  const writer = new Writer(api, () => true);
  for (let round = 0; round < 20; round++) {
    const before = interrupted.changes;
    const onError = () => {};
    const given = { writer, now: Date.now, onError };
    const outcomes = [
      await certificate.look({ ...given, namespace, view: await viewOf(api) }),
      await attempted(onError, async () =>
        pass(`${namespace}/workers`, { ...given, newToken: undefined, view: await viewOf(api) }),
      ),
    ];
    for (const { opened, userData } of await handedOut(api)) {
      expect(opened.some((token) => userData.includes(`Bearer ${token}"`))).toBe(true);
    }
    // What a watch or the queue would not bring back is not looked at again.
    if (interrupted.changes === before && outcomes.every((outcome) => outcome === "wait")) return;
  }
  throw new Error("it did not come to rest");
}

/** User data, each with the tokens that are good for its hash. */
async function handedOut(api: KubeApi) {
  const { secrets } = await viewOf(api);
  return [...secrets.values()].filter(isTokenSecret).flatMap(({ data, metadata }) => {
    const userData = secrets.get(`${namespace}/${metadata?.name?.replace(/^token-/, "user-data-")}`);
    if (userData === undefined) return [];
    return [{ opened: [data?.token, data?.old_token], userData: readUserData(userData) }];
  });
}

/** All that matters, without tokens, keys and times, which are new each time. */
async function picture(api: KubeApi) {
  const { pools, secrets } = await viewOf(api);
  return {
    secrets: [...secrets.values()]
      .map((secret) => [
        secret.metadata?.name,
        isTokenSecret(secret) && readTokenSecret(secret).expiresAt !== undefined,
      ])
      .sort(),
    pools: [...pools.values()].map(({ metadata, status }) => ({
      finalizers: metadata?.finalizers,
      hash: metadata?.annotations?.[annotation.currentConfigVersion],
      version: status?.version,
      conditions: status?.conditions?.map(({ type, status: value, reason }) => `${type} ${value} ${reason}`),
    })),
  };
}

/** A pool is made, changed, its token rotated by the server, and deleted. */
async function story(at: number, how: Interruption) {
  const fixture = new PoolFixture(createMemoryApi());
  const interrupted = new InterruptedApi(fixture.api, at, how);
  const certificate = new CertificateKeeper();
  const pictures: Awaited<ReturnType<typeof picture>>[] = [];
  const chapter = async () => {
    await settle(interrupted, certificate);
    pictures.push(await picture(fixture.api));
  };
  try {
    await fixture.api.create(collectionPath("ConfigMap", namespace), config("one"));
    await fixture.addObjects(makePool("workers", { config: [{ name: "extra" }] }));
    const { ignitionCA: _, ...data } = clusterMap.data ?? {};
    await fixture.api.update(namedPath("ConfigMap", { namespace, name: "demo" }), { ...clusterMap, data });
    await chapter();
    await fixture.api.update(configPath, config("two"));
    await chapter();
    const [token] = (await fixture.secrets("token-")).filter((secret) => !readTokenSecret(secret).expiresAt);
    const rotated = { ...token?.data, old_token: token?.data?.token ?? "", token: encoded("rotated") };
    const path = namedPath("Secret", { namespace, name: token?.metadata?.name ?? "" });
    await fixture.api.update(path, { ...token, data: rotated } as Secret);
    await chapter();
    expect((await handedOut(fixture.api)).map(({ userData }) => userData)).toEqual([
      expect.stringContaining(`Bearer ${encoded("rotated")}"`),
    ]);
    await fixture.api.delete(namedPath("NodePool", { namespace, name: "workers" }));
    await chapter();
    return { pictures, writes: interrupted.writes };
  } finally {
    await fixture.close();
  }
}

test("a pool reaches the same state when any one of its writes is interrupted", async () => {
  const undisturbed = await story(0, "refused");
  const [made, changed, , gone] = undisturbed.pictures;
  expect([made?.secrets.length, changed?.secrets.length, gone?.pools]).toEqual([5, 6, []]);
  expect(undisturbed.writes).toBeGreaterThan(15);
  for (let at = 1; at <= undisturbed.writes; at++) {
    const [refused, lost] = await Promise.all([story(at, "refused"), story(at, "lost")]);
    expect(refused.pictures, `write ${at} refused`).toEqual(undisturbed.pictures);
    expect(lost.pictures, `the answer to write ${at} lost`).toEqual(undisturbed.pictures);
  }
}, 120_000);
