import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { type Finding, failed, ok, skipped, warning } from "../../base/finding.js";
import { findingsJson, findingsJunit, findingsText } from "./report.js";

const findings: Finding[] = [
  { check: "server", about: "The server runs", ...ok("the server runs", "pid 7"), durationMs: 20 },
  { check: "clock", about: "Clocks agree", ...skipped("there is no API server", "Give --kubeconfig.") },
  { check: "port", about: "The port is free", ...warning("the port is used", "Stop it.", "ss: 8091") },
  { check: "a", about: "A", ...failed("perhaps this", "Do a."), likelihood: "possible" },
  {
    ...{ check: "b", about: "B", ...failed("csr-1 waits <long>", "Do b.", "since: 5 s") },
    ...{ subject: "node-1", code: "DB_NODE_CSR_PENDING", likelihood: "certain" },
    fix: { what: "approve csr-1", apply: async () => "" },
  },
];

test("text lists failed findings first, the most likely cause first, and shows evidence of what is not in order", () => {
  expect(findingsText(findings)).toBe(
    [
      "FAILED   b node-1 (DB_NODE_CSR_PENDING): csr-1 waits <long>. (certain)",
      "           since: 5 s",
      "         Do: Do b.",
      "FAILED   a: Perhaps this. (possible)",
      "         Do: Do a.",
      "warning  port: The port is used.",
      "           ss: 8091",
      "         Do: Stop it.",
      "ok       server: The server runs.",
      "skipped  clock: There is no API server.",
      "         Do: Give --kubeconfig.",
      "",
      "2 failed, 1 warning, 1 ok, 1 skipped.",
      "",
    ].join("\n"),
  );
});

test("text tells a long explanation once, and names that check where it would be repeated", () => {
  const why = "the agent's own certificate (/etc/konnectivity/agent.crt) expired 15 d 13 h ago: it is refused";
  const renew = "Renew the certificate in the file that the message names; it is read again by itself.";
  const code = "DB_TLS_OWN_EXPIRED" as const;
  const text = findingsText([
    {
      check: "health",
      about: "",
      ...failed(
        "it is not ready",
        "Read on.",
        `/readyz answered 500: ${why.replace("/etc/konnectivity/", "").replace("13 h", "14 h")} (${code}). ${renew}`,
      ),
    },
    { check: "server-reachable", about: "", ...failed(`10.0.0.5:8091: ${why}`, renew), code },
    { check: "servers-connected", about: "", ...failed(`the agent has no server: ${why}`, renew), code },
  ]);
  expect(text.split("\n").slice(0, 7)).toEqual([
    "FAILED   health: It is not ready.",
    "           /readyz answered 500: see server-reachable",
    "         Do: Read on.",
    `FAILED   server-reachable (DB_TLS_OWN_EXPIRED): 10.0.0.5:8091: ${why}.`,
    `         Do: ${renew}`,
    "FAILED   servers-connected (DB_TLS_OWN_EXPIRED): The agent has no server: see server-reachable.",
    "         Do: As for server-reachable.",
  ]);
});

test("JSON has counts, keeps the order of the checks and shows a fix by what it would do", () => {
  const report = findingsJson({ role: "server" }, findings);
  expect(report).toMatchObject({ role: "server", ok: false, counts: { failed: 2, warning: 1, ok: 1, skipped: 1 } });
  expect(report.findings.map(({ check }) => check)).toEqual(["server", "clock", "port", "a", "b"]);
  expect(report.findings[4]?.fix).toBe("approve csr-1");
});

test("JUnit counts failures and skips, and escapes what XML would take for markup", () => {
  const xml = findingsJunit("drawbridge doctor", findings);
  expect(xml).toContain(
    '<testsuite name="drawbridge doctor" tests="5" failures="2" errors="0" skipped="1" time="0.020">',
  );
  expect(xml).toContain('<testcase classname="b" name="B: node-1" time="0.000">');
  expect(xml).toContain('<failure message="csr-1 waits &lt;long&gt;">Do b.\nsince: 5 s</failure>');
  expect(xml).toContain('<skipped message="there is no API server. Give --kubeconfig."/>');
});

/** A reader of XML that is not ours; not every machine has it. */
const noPython = spawnSync("python3", ["--version"]).status !== 0;

test.skipIf(noPython)("JUnit is well-formed for another program's reader, whatever it holds", () => {
  const hostile = `<script>"&'</script>]]>`;
  const common = { evidence: [], remedy: "", durationMs: 1234 };
  const findings: Finding[] = [
    { ...common, check: "a", about: "A", state: "ok", message: "seen" },
    { ...common, check: "b", about: hostile, state: "failed", message: hostile, remedy: `Do "this" & <that>.` },
    { ...common, check: "c", about: "A", state: "skipped", message: "not here", remedy: "Go there." },
  ];
  const script = `
import sys, json, xml.etree.ElementTree as tree
suite = tree.fromstring(sys.stdin.buffer.read())[0]
print(json.dumps([suite.attrib, [[case.get("classname"), case.get("name"), case[0].tag, case[0].get("message") or case[0].text] for case in suite]]))`;
  const { stdout, stderr } = spawnSync("python3", ["-c", script], {
    ...{ input: findingsJunit("suite", findings), encoding: "utf8" },
  });
  expect(stderr).toBe("");
  const [suite, cases] = JSON.parse(stdout);
  expect(suite).toMatchObject({ tests: "3", failures: "1", skipped: "1", errors: "0", time: "3.702" });
  expect(cases).toEqual([
    ["a", "A", "system-out", "seen"],
    ["b", hostile, "failure", hostile],
    ["c", "A", "skipped", "not here. Go there."],
  ]);
});
