import { expect, test } from "vitest";
import type { Worker } from "../workers/worker.js";
import { firewallRule } from "./gcloud.js";
import { machineSteps } from "./index.js";
import { shellText } from "./run.js";
import { NO_SHAPE } from "./settings.js";
import { plainWorker } from "./testing/worker.js";

const worker: Worker = {
  ...{ ...plainWorker, provider: "gcloud", zone: "europe-a" },
  shape: {
    ...{ ...NO_SHAPE, machineType: "n2-standard-4", diskGb: "120", subnet: "nodes", image: "rhcos-418" },
    ...{ imageProject: "rhcos-cloud", project: "mine" },
  },
};

const commandOf = (verb: "create" | "delete", one: Worker, userData: string) =>
  machineSteps(verb, one, userData).map(({ command }) => command);

test("gcloud is given the tool's own arguments, and user data as a file", () => {
  expect(commandOf("create", worker, "/s/w-0.ign")).toEqual([
    [
      ...["gcloud", "compute", "instances", "create", "w-0", "--zone=europe-a", "--project=mine"],
      ...["--machine-type=n2-standard-4", "--subnet=nodes", "--image=rhcos-418", "--image-project=rhcos-cloud"],
      ...["--boot-disk-size=120GB", "--metadata-from-file=user-data=/s/w-0.ign", "--quiet"],
    ],
  ]);
  expect(commandOf("delete", worker, "").map(shellText)).toEqual([
    "gcloud compute instances delete w-0 --zone=europe-a --project=mine --quiet",
  ]);
});

test("gcloud is given network, tags, labels, disk, service account and arguments of the user's own", () => {
  const shape = {
    ...{ ...NO_SHAPE, network: "vpc", tags: "a,b", labels: "team=x,env=y", diskGb: "50", diskType: "pd-ssd" },
    ...{ serviceAccount: "nodes@mine", scopes: "compute-ro,storage-ro" },
  };
  const own: Worker = { ...worker, shape, createArguments: ["--preemptible", "--min-cpu-platform=Intel Ice Lake"] };
  expect(commandOf("create", own, "f")).toEqual([
    [
      ...["gcloud", "compute", "instances", "create", "w-0", "--zone=europe-a", "--network=vpc", "--tags=a,b"],
      ...["--labels=team=x,env=y", "--service-account=nodes@mine", "--scopes=compute-ro,storage-ro"],
      ...["--boot-disk-size=50GB", "--boot-disk-type=pd-ssd", "--preemptible", "--min-cpu-platform=Intel Ice Lake"],
      ...["--metadata-from-file=user-data=f", "--quiet"],
    ],
  ]);
});

test("arguments that another host has are asked for, and are not left out", () => {
  expect(() => commandOf("create", { ...worker, hasCreateArguments: true }, "f")).toThrow("with which --create-arg");
  expect(commandOf("create", { ...worker, hasCreateArguments: true, createArguments: [] }, "f")).toHaveLength(1);
});

test.each([
  ["their tags", { ...NO_SHAPE, tags: "nodes", network: "vpc", project: "mine" }, [], "--source-tags=nodes"],
  ["their networks", { ...NO_SHAPE, network: "vpc", project: "mine" }, ["10.0.0.0/16"], "--source-ranges=10.0.0.0/16"],
])("the firewall rule for the Ignition port knows machines by %s", (_, shape, networks, source) => {
  expect(firewallRule({ pool: "demo", port: 30080, networks, shape })?.command).toEqual([
    ...["gcloud", "compute", "firewall-rules", "create", "drawbridge-ignition-demo", "--project=mine", "--network=vpc"],
    ...["--direction=INGRESS", "--allow=tcp:30080", source, "--quiet"],
  ]);
});

test("there is no firewall rule for machines that nothing tells from others", () => {
  expect(firewallRule({ pool: "demo", port: 443, networks: [], shape: NO_SHAPE })).toBeUndefined();
});

test("gcloud gets no settings that are empty, and requires a zone", () => {
  expect(commandOf("create", { ...worker, shape: NO_SHAPE }, "f")).toEqual([
    [
      ...["gcloud", "compute", "instances", "create", "w-0", "--zone=europe-a"],
      ...["--metadata-from-file=user-data=f", "--quiet"],
    ],
  ]);
  expect(() => commandOf("create", { ...worker, zone: "" }, "f")).toThrow("give --zones");
});

test.each([
  ["create", "already exists", "was not found"],
  ["delete", "was not found", "already exists"],
] as const)("gcloud that should %s a machine has done so when it says that it %s", (verb, done, other) => {
  const [step] = machineSteps(verb, worker, "f");
  const saying = (words: string, resource = "zones/z/instances/w-0") =>
    step?.doneBefore?.test(` - The resource 'projects/mine/${resource}' ${words}`);
  expect([saying(done), saying(other)]).toEqual([true, false]);
  // Another project, another machine, or a disk that an earlier machine left.
  const others = ["global/networks/n", "zones/z", "zones/z/disks/w-0", "zones/z/instances/w-01"];
  expect(others.filter((one) => saying(done, one))).toEqual([]);
});
