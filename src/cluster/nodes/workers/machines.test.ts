import { describe, expect, test } from "vitest";
import { gcloudCommand, renderCommand, runMachineCommand, shellText, splitCommand } from "./machines.js";
import type { Worker } from "./worker.js";

const worker: Worker = {
  ...{ name: "w-0", zone: "europe-a", pool: "c/p", provider: "gcloud", hash: "h", ips: [], made: false },
  ...{ ownToken: false, createCommand: [], deleteCommand: [], notBefore: "", deadline: "" },
  shape: {
    ...{ machineType: "n2-standard-4", diskGb: "120", subnet: "nodes", image: "rhcos-418" },
    ...{ imageProject: "rhcos-cloud", project: "mine" },
  },
};

describe("a command of the provider command", () => {
  test.each([
    ["virt make {name}", ["virt", "make", "{name}"]],
    [`a 'b c' "d \\"e" f'g'h`, ["a", "b c", 'd "e', "fgh"]],
    [`a "" b`, ["a", "", "b"]],
    ["  a   b ", ["a", "b"]],
  ])("takes %s apart", (text, words) => expect(splitCommand(text)).toEqual(words));

  test.each([
    ["a 'b", "a quote is not closed"],
    ["  ", "the command is empty"],
    ["a {user}", "{user} is not known"],
  ])("refuses %s", (text, sentence) => expect(() => splitCommand(text)).toThrow(sentence));

  test("keeps each value in one word, whatever characters it has", () => {
    const odd = { ...worker, zone: "a; rm -rf /" };
    expect(renderCommand(["x", "--z={zone}", "{name}", "{userdata}"], odd, "/s/w 0.ign")).toEqual([
      "x",
      "--z=a; rm -rf /",
      "w-0",
      "/s/w 0.ign",
    ]);
  });

  test("is shown as a person could type it", () => {
    expect(shellText(["a", "--b=c", "d e", "f'g", ""])).toBe(`a --b=c 'd e' 'f'\\''g' ''`);
  });

  test("that fails is reported with its program, the worker and the last line of its error output", async () => {
    const own: Worker = { ...worker, provider: "command" };
    await expect(runMachineCommand("create", own, ["true"])).resolves.toBeUndefined();
    const failing = ["node", "-e", "console.error('first\\nno quota'); process.exit(3)"];
    await expect(runMachineCommand("create", own, failing)).rejects.toThrow("node failed for w-0: no quota");
    const missing = runMachineCommand("create", own, ["drawbridge-no-such-program"]);
    await expect(missing).rejects.toMatchObject({ code: "DB_WORKERS" });
  });
});

describe("gcloud", () => {
  test("is given the tool's own arguments, and user data as a file", () => {
    expect(gcloudCommand("create", worker, "/s/w-0.ign")).toEqual([
      ...["gcloud", "compute", "instances", "create", "w-0", "--zone=europe-a", "--project=mine"],
      ...["--machine-type=n2-standard-4", "--subnet=nodes", "--image=rhcos-418", "--image-project=rhcos-cloud"],
      ...["--boot-disk-size=120GB", "--metadata-from-file=user-data=/s/w-0.ign", "--quiet"],
    ]);
    expect(shellText(gcloudCommand("delete", worker, ""))).toBe(
      "gcloud compute instances delete w-0 --zone=europe-a --project=mine --quiet",
    );
  });

  test("leaves out settings that are empty, and requires a zone", () => {
    const shape = { machineType: "", diskGb: "", subnet: "", image: "", imageProject: "", project: "" };
    expect(gcloudCommand("create", { ...worker, shape }, "f")).toEqual([
      ...["gcloud", "compute", "instances", "create", "w-0", "--zone=europe-a"],
      ...["--metadata-from-file=user-data=f", "--quiet"],
    ]);
    expect(() => gcloudCommand("create", { ...worker, zone: "" }, "f")).toThrow("give --zones");
  });

  test("counts a machine that exists already as made, and one that is gone already as removed", async () => {
    const saying = (words: string) => ["sh", "-c", 'echo "$0" >&2; exit 1', ` - The resource 'w-0' ${words}`];
    await runMachineCommand("create", worker, saying("already exists"));
    await runMachineCommand("delete", worker, saying("was not found"));
    await expect(runMachineCommand("delete", worker, saying("already exists"))).rejects.toThrow("sh failed for w-0");
    // What other programs mean by their words nobody knows.
    const other: Worker = { ...worker, provider: "command" };
    await expect(runMachineCommand("create", other, saying("already exists"))).rejects.toThrow("sh failed for w-0");
  });
});
