import { expect, test } from "vitest";
import { drawbridge } from "../commands.js";
import serverCommand from "../tunnel/server.js";
import { type AskTargets, complete } from "./candidates.js";

const nobody: AskTargets = async () => [];

async function offers(typed: string, ask = nobody): Promise<string[]> {
  const { candidates, files } = await complete("drawbridge", drawbridge, typed.split(" "), {}, ask);
  return [...candidates.map(([text]) => text), ...(files ? [":files"] : [])];
}

test.each([
  ["pk", ["pki"]],
  ["help pki i", ["init", "inspect", "issue"]],
  ["pki i", ["init", "inspect", "issue"]],
  ["--v", ["--version"]],
  ["pki init --prof", ["--profile"]],
  ["doctor --output ", ["json", "text"]],
  ["doctor --output j", ["json"]],
  ["doctor -o ", ["json", "text"]],
  ["doctor --output=", ["--output=json", "--output=text"]],
  ["doctor --role server --for-platform k", ["kubeadm"]],
  ["server --mode ", ["grpc", "http-connect"]],
  ["server --enable-profiling=", ["--enable-profiling=false", "--enable-profiling=true"]],
  ["server --enable-profiling --cluster-cert ", [":files"]],
  ["server --cluster-cert=x", [":files"]],
  ["simulate-node ", [":files"]],
  ["completion ", ["bash", "fish", "zsh"]],
  ["nonsense ", []],
  ["pki nonsense --", []],
  ["server --nonsense=", []],
  ["server --server-port ", []],
])("%s could go on as %j", async (typed, expected) => {
  expect(await offers(typed)).toEqual(expected);
});

test("the first level has every command and help", async () => {
  const names = await offers("");
  expect(names).toEqual(expect.arrayContaining(["agent", "server", "pki", "workers", "help", "completion"]));
  expect(names.filter((name) => name.startsWith("-"))).toEqual([]);
});

test("hidden and outdated flags are not offered", async () => {
  const names = await offers("agent --");
  expect(names).toContain("--lease-label-selector");
  expect(names).not.toContain("--lease-label");
  expect(names).not.toContain("--version");
});

test("targets come from a running server, which is asked with what was typed", async () => {
  let asked: readonly string[] = [];
  const ask: AskTargets = async (_, typed) => {
    asked = typed;
    return [
      ["10.0.0.5:10250", ""],
      ["api:443", ""],
    ];
  };
  expect(await offers("explain --token-file t 10", ask)).toEqual(["10.0.0.5:10250"]);
  expect(asked).toEqual(["--token-file", "t"]);
});

test("of a command that takes an agent, the agents of a running server are offered", async () => {
  const asked: (string | undefined)[] = [];
  const ask: AskTargets = async ({ words }) => {
    asked.push(words);
    return [
      ["node-1", "connected from 10.0.0.7:40000"],
      ["other", ""],
    ];
  };
  expect(await offers("drain no", ask)).toEqual(["node-1"]);
  expect(asked).toEqual(["AGENT"]);
});

test("a program of its own has only flags", async () => {
  const { candidates } = await complete("proxy-server", serverCommand, ["--vers"], {}, nobody);
  expect(candidates).toEqual([["--version", expect.stringContaining("Print version")]]);
});
