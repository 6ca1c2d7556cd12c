import { describe, expect, test } from "vitest";
import type { Worker } from "../workers/worker.js";
import { splitCommand } from "./command.js";
import { machineSteps } from "./index.js";
import { plainWorker } from "./testing/worker.js";

const worker: Worker = { ...plainWorker, provider: "command" };

describe("a command of the provider command", () => {
  test.each([
    ["make machine {name}", ["make", "machine", "{name}"]],
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
    const createCommand = ["x", "--z={zone}", "{name}", "{userdata}"];
    const odd: Worker = { ...worker, zone: "a; rm -rf /", createCommand };
    expect(machineSteps("create", odd, "/s/w 0.ign")).toEqual([
      { command: ["x", "--z=a; rm -rf /", "w-0", "/s/w 0.ign"] },
    ]);
  });

  test("that is not on this host is asked for, unless nothing ever removed the machine", () => {
    expect(() => machineSteps("create", worker, "")).toThrow("which command makes w-0?");
    expect(() => machineSteps("delete", { ...worker, removedByCommand: true }, "")).toThrow("give --delete-command");
    expect(machineSteps("delete", worker, "")).toEqual([]);
  });
});
