/** Remedies name flags; whoever follows one must not be told that the flag is unknown. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import agentCommand from "../tunnel/agent.js";
import serverCommand from "../tunnel/server.js";
import sidecarCommand from "../tunnel/sidecar.js";
import doctorCommand from "./doctor.js";

const flagsOf = (command: { parse(argv: string[], env: object, program: string): { help?: string | undefined } }) =>
  new Set(
    [...(command.parse(["--help"], {}, "x").help ?? "").matchAll(/--([a-z][a-z0-9-]*)/g)].map(([, name]) => name!),
  );

const doctor = flagsOf(doctorCommand);

/** Flags of doctor's own place, in sentences that ask whoever runs doctor to give them. */
const asked = /(?:Give|give|Name|name)[^."`]*? (?:with |in )?--([a-z][a-z0-9-]*)/g;

const sources = [
  "checks/networks.ts",
  "checks/host.ts",
  "checks/certificates.ts",
  "checks/programs.ts",
  "sources/host.ts",
];

describe("remedies of doctor", () => {
  test.each(sources)("%s asks only for flags that doctor or the program concerned has", (file) => {
    const text = readFileSync(new URL(`../../insight/diagnosis/${file}`, import.meta.url), "utf8");
    const programs = [serverCommand, agentCommand, sidecarCommand].map(flagsOf);
    const known = [doctor, ...programs];
    // Of bootstrap verify, which shares these checks, of kubeadm and of kube-apiserver.
    const others = new Set(["uds", "health", "egress-selector-config-file"]);
    const named = [...text.matchAll(asked)].map(([, flag]) => flag!);
    expect(named.filter((flag) => !others.has(flag) && !known.some((flags) => flags.has(flag)))).toEqual([]);
  });

  test("there are remedies that ask for a flag of doctor, and doctor has --address and --pid", () => {
    const texts = sources
      .map((file) => readFileSync(new URL(`../../insight/diagnosis/${file}`, import.meta.url), "utf8"))
      .join("\n");
    const named = new Set([...texts.matchAll(asked)].map(([, flag]) => flag!));
    for (const flag of ["address", "pid", "kubeconfig", "pod-network"]) {
      expect([...named]).toContain(flag);
      expect(doctor.has(flag)).toBe(true);
    }
  });

  test.each(["checks/admin.ts", "checks/dials.ts"])("%s, which status and pages show, names no check", (file) => {
    const text = readFileSync(new URL(`../../insight/diagnosis/${file}`, import.meta.url), "utf8");
    expect(text.match(/^.*["`].*\bthe checks? [a-z-]+.*["`].*$/gim)).toBeNull();
  });
});
