import { expect, test } from "vitest";
import type { Worker } from "../workers/worker.js";
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
  const saying = (words: string) => step?.doneBefore?.test(` - The resource 'w-0' ${words}`);
  expect([saying(done), saying(other)]).toEqual([true, false]);
});
