import { describe, expect, test } from "vitest";
import { requireTools, runSteps, shellText } from "./run.js";

test("a command is shown as a person could type it", () => {
  expect(shellText(["a", "--b=c", "d e", "f'g", ""])).toBe(`a --b=c 'd e' 'f'\\''g' ''`);
});

describe("a step", () => {
  const saying = (words: string) => ["sh", "-c", 'echo "$0" >&2; exit 1', words];

  test("that fails is reported with its program, the worker and the last line of its error output", async () => {
    await expect(runSteps("w-0", [{ command: ["true"] }])).resolves.toBeUndefined();
    const command = ["node", "-e", "console.error('first\\nno quota'); process.exit(3)"];
    await expect(runSteps("w-0", [{ command }])).rejects.toThrow("node failed for w-0: no quota");
    const missing = runSteps("w-0", [{ command: ["drawbridge-no-such-program"] }]);
    await expect(missing).rejects.toMatchObject({ code: "DB_WORKERS" });
  });

  test("that complains at length is reported with the beginning: the API server takes no endless message", async () => {
    const command = ["node", "-e", "process.stderr.write('x'.repeat(3e6)); process.exitCode = 1"];
    const reason = await runSteps("w-0", [{ command }]).catch((error: unknown) => error);
    expect((reason as Error).message.length).toBeLessThan(1000);
  });

  test("that says which line is the error is reported with that one", async () => {
    const failing = saying("WARNING x\nERROR    no such pool\nsorry\nplease restart your installation.");
    await expect(runSteps("w-0", [{ command: failing }])).rejects.toThrow(/: ERROR {4}no such pool sorry$/);
    const done = saying("ERROR: (gcloud) Could not fetch resource:\n - The resource 'w-0' already exists");
    await runSteps("w-0", [{ command: done, doneBefore: /already exists/ }]);
  });

  test("gives its output to those after it, unless that could be taken for more than one value", async () => {
    const printing = (text: string) => ({ command: ["echo", text], result: "{path}" });
    const next = { command: ["test", "a=/pool/w 0", "=", "a={path}"] };
    await expect(runSteps("w-0", [printing("/pool/w-0"), next])).rejects.toThrow("test failed for w-0");
    await runSteps("w-0", [printing("/pool/w-0"), { command: ["test", "a=/pool/w-0", "=", "a={path}"] }]);
    await expect(runSteps("w-0", [printing("/a,b=c")])).rejects.toThrow('the path "/a,b=c" cannot be used');
  });

  test("that was done before is not done again, and the next one follows", async () => {
    const done = { command: saying("w-0 already exists"), doneBefore: /already exists/ };
    await runSteps("w-0", [done, { command: ["true"] }]);
    await expect(runSteps("w-0", [done, { command: ["false"] }])).rejects.toThrow("false failed for w-0");
    const other = { command: saying("w-0 already exists") };
    await expect(runSteps("w-0", [other])).rejects.toThrow("sh failed for w-0: w-0 already exists");
  });
});

test("a program that is not on this host is named before anything is run", async () => {
  const step = (program: string) => ({ command: [program, "a"] });
  await expect(requireTools([step("sh"), step("/bin/sh")])).resolves.toBeUndefined();
  const missing = requireTools([step("sh"), step("drawbridge-no-such-program")]);
  await expect(missing).rejects.toThrow("the program drawbridge-no-such-program is not on this host");
  await expect(requireTools([step("/no/such/program")])).rejects.toMatchObject({ code: "DB_WORKERS" });
});
