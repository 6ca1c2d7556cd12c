/** Tokens of machines that fetch their configuration: a pool in a directory, its Ignition server, and simulated machines. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { waitUntil } from "../support/processes/deadline.js";
import { ours } from "../support/processes/executables.js";
import { playAll } from "./framework/play.js";
import type { Mistake, Scene } from "./framework/row.js";
import { PORT, type Stage } from "./framework/stage.js";

const NAMESPACE = "drawbridge";
const API = `https://127.0.0.1:${PORT.closed}`;

function objects(stage: Stage): object[] {
  const authority = readFileSync(stage.pki.ca.cert, "utf8");
  const kubeconfig = {
    ...{ apiVersion: "v1", kind: "Config", "current-context": "hosted" },
    clusters: [
      {
        name: "hosted",
        cluster: { server: API, "certificate-authority-data": Buffer.from(authority).toString("base64") },
      },
    ],
    users: [{ name: "machine", user: { token: "not-used" } }],
    contexts: [{ name: "hosted", context: { cluster: "hosted", user: "machine" } }],
  };
  const named = (kind: string, name: string, labels?: object) => ({
    ...{ apiVersion: "v1", kind },
    metadata: { name, namespace: NAMESPACE, ...(labels && { labels }) },
  });
  const cluster = { apiServer: API, apiServerCA: authority, ignitionEndpoint: `127.0.0.1:${PORT.ignition}` };
  return [
    { ...named("ConfigMap", "demo", { "drawbridge/cluster": "true" }), data: { ...cluster, version: "4.18.0" } },
    { ...named("Secret", "bootstrap-kubeconfig"), stringData: { kubeconfig: stringify(kubeconfig) } },
    {
      ...{ ...named("NodePool", "workers"), apiVersion: "hypershift.openshift.io/v1beta1" },
      spec: {
        ...{ clusterName: "demo", release: { image: "registry.example/release:4.18.0" } },
        ...{ platform: { type: "None" }, management: { upgradeType: "InPlace" } },
      },
    },
  ];
}

let machines = 0;

/** A pool with one worker, whose user data or token is then changed by `spoil`. */
async function pool(stage: Stage, spoil: (paths: { objects: string; userData: string }) => void): Promise<Scene> {
  const [directory, state] = [stage.file("objects"), stage.file("workers")];
  for (const old of [directory, state]) rmSync(old, { recursive: true, force: true });
  mkdirSync(directory);
  writeFileSync(
    join(directory, "objects.yaml"),
    objects(stage)
      .map((each) => stringify(each))
      .join("---\n"),
  );
  const payload = stage.write("payload.yaml", "profile: kubelet\nkubelet: {clusterDns: [10.96.0.10]}\n");
  const from = [`--directory=${directory}`, `--namespace=${NAMESPACE}`];
  const drawbridge = ours("drawbridge");
  const healthPort = `--health-port=${PORT.serverHealth}`;
  stage.start("controller", [drawbridge, "nodepool", "controller", "--issue-certificate", healthPort, ...from]);
  const server = stage.start("ignition", [
    ...[drawbridge, "ignition", "serve", ...from, `--payload=${payload}`],
    ...["--cert-secret=drawbridge-ignition-serving-cert", `--addr=127.0.0.1:${PORT.ignition}`],
    `--metrics-addr=127.0.0.1:${PORT.ignitionMetrics}`,
  ]);
  const workers = ["--pool=workers", `--state=${state}`, ...from];
  const userData = join(state, "workers-0.ign");
  await waitUntil("the worker to have user data", async () => {
    if (!existsSync(userData)) await stage.drawbridge("workers", "create", "--count=1", ...workers);
    return existsSync(userData);
  });
  const boot = () =>
    stage.drawbridge("simulate-node", userData, "--timeout=1s", "--root", stage.file(`machine-${++machines}`));
  await waitUntil("the payload to be made", async () => (await boot()).code === 0, { withinMs: 30_000 });
  const before = server.log.text.length;
  spoil({ objects: directory, userData });
  return {
    places: {
      machine: async () => (await boot()).text,
      "ignition log": () => server.log.text.slice(before),
      "workers doctor": async () => (await stage.drawbridge("workers", "doctor", ...workers)).text,
    },
    works: async () => (await boot()).code === 0,
  };
}

const machine = { cause: /511[^\n]*the token is unknown/, remedy: /drawbridge workers doctor/ };
const log = { cause: /fetch refused[^\n]*Token not found/, remedy: /drawbridge workers doctor/ };

const rows: readonly Mistake[] = [
  {
    id: "tokens-ignition-wrong",
    group: "tokens",
    title: "the token in a machine's user data is not the one of its worker",
    tells: {
      ...{ machine, "ignition log": log },
      "workers doctor": { cause: /workers-0: its own token is not listed/, remedy: /drawbridge workers userdata/ },
    },
    play: (stage, isWrong) =>
      pool(stage, ({ userData }) => {
        if (!isWrong) return;
        const other = `Bearer ${Buffer.from("another-token-of-somebody").toString("base64")}`;
        writeFileSync(userData, readFileSync(userData, "utf8").replace(/Bearer [A-Za-z0-9+/=]+/, other));
      }),
  },
  {
    id: "tokens-ignition-ended",
    group: "tokens",
    title: "the worker's token was taken off the list before the machine booted",
    tells: {
      ...{ machine, "ignition log": log },
      "workers doctor": { cause: /workers-0: its own token is not listed/, remedy: /drawbridge workers userdata/ },
    },
    play: (stage, isWrong) =>
      pool(stage, ({ objects: directory }) => {
        if (!isWrong) return;
        for (const name of readdirSync(directory).filter((each) => each.includes("worker-tokens"))) {
          rmSync(join(directory, name));
        }
      }),
  },
];

playAll(rows);
