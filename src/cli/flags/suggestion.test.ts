import { expect, test } from "vitest";
import { suggestion } from "./suggestion.js";

test.each([
  ["--kubeconfg", ["--context", "--kubeconfig"], "--kubeconfig"],
  ["--ouptut", ["--out", "--output"], "--output"],
  ["serevr", ["server", "sidecar"], "server"],
  ["boot", ["bootstrap", "top"], "bootstrap"],
  ["pkii", ["pki"], "pki"],
  ["tpo", ["top", "page"], "top"],
])("%s of %j means %s", (word, names, meant) => {
  expect(suggestion(word, names)).toBe(`; did you mean ${meant}?`);
});

test.each([
  ["--x", ["--v"]],
  ["bridge", ["server", "page"]],
  ["--server", ["--version"]],
  ["", ["top"]],
])("%j is near to none of %j", (word, names) => {
  expect(suggestion(word, names)).toBe("");
});
