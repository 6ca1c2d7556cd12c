import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ManualClock } from "../../../base/testing/manual-clock.js";
import type { ExecConfig } from "./document.js";
import { execCredentials } from "./exec.js";

const apiVersion = "client.authentication.k8s.io/v1";
let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "drawbridge-exec-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** A plugin that notes each call and prints this. */
function plugin(answer: unknown, more: Partial<ExecConfig> = {}): ExecConfig & { calls(): number } {
  const command = join(dir, "plugin.sh");
  const text = typeof answer === "string" ? answer : JSON.stringify(answer);
  writeFileSync(join(dir, "answer"), text);
  writeFileSync(command, `#!/bin/sh\nprintf '%s\\n' "$KUBERNETES_EXEC_INFO" >> ${dir}/calls\ncat ${dir}/answer\n`);
  chmodSync(command, 0o700);
  return { apiVersion, command, ...more, calls: () => asked().length };
}

function asked(): string[] {
  return readFileSync(join(dir, "calls"), "utf8").trim().split("\n");
}

function credential(status: object): object {
  return { apiVersion, kind: "ExecCredential", status };
}

test("keeps an answer until it expires or the API server refuses it", async () => {
  const clock = new ManualClock();
  const expirationTimestamp = new Date(clock.date() + 60_000).toISOString();
  const exec = plugin(credential({ token: "t", expirationTimestamp }));
  const credentials = execCredentials(exec, {}, clock);
  for (let time = 0; time < 3; time++) expect(await credentials()).toEqual({ authorization: "Bearer t", tls: {} });
  expect(exec.calls()).toBe(1);
  clock.advance(60_000);
  await credentials();
  expect(exec.calls()).toBe(2);
  await credentials(true);
  expect(exec.calls()).toBe(3);
});

test("tells the plugin about the cluster when the kubeconfig says so", async () => {
  const cluster = {
    server: "https://api.test",
    extensions: [{ name: "client.authentication.k8s.io/exec", extension: { audience: "x" } }],
  };
  const exec = plugin(credential({ token: "t" }), { provideClusterInfo: true });
  await execCredentials(exec, cluster)();
  expect(JSON.parse(asked()[0]!)).toEqual({
    apiVersion,
    kind: "ExecCredential",
    spec: { interactive: false, cluster: { server: "https://api.test", config: { audience: "x" } } },
  });
});

test.each<[string, unknown, RegExp]>([
  ["no JSON", "tellnobody", /what it printed is not JSON/],
  ["something else", { kind: "Pod" }, /is not an ExecCredential/],
  ["another version", { ...credential({ token: "t" }), apiVersion: "v0" }, /answered in "v0", not in/],
  ["a certificate alone", credential({ clientCertificateData: "c" }), /a certificate or a key without the other/],
  ["nothing", credential({}), /neither a token nor a certificate/],
])("says what is wrong with a plugin that prints %s", async (_, answer, sentence) => {
  const failure = execCredentials(plugin(answer), {})();
  await expect(failure).rejects.toThrow(sentence);
  await expect(failure).rejects.not.toThrow(/tellnobody/);
});

test("says how to install a plugin that is missing, and quotes one that failed", async () => {
  const missing = { apiVersion, command: join(dir, "none"), installHint: "Install it with apt." };
  await expect(execCredentials(missing, {})()).rejects.toThrow(/none failed: .*ENOENT.* Install it with apt\./);
  const exec = plugin("");
  writeFileSync(exec.command, "#!/bin/sh\necho 'log in first' >&2\nexit 3\n");
  await expect(execCredentials(exec, {})()).rejects.toThrow(/failed: log in first\./);
});

test("does not start a plugin that has to ask a person when there is no terminal", async () => {
  const exec = { apiVersion, command: "true", interactiveMode: "Always" };
  await expect(execCredentials(exec, {})()).rejects.toThrow(/standard input is not a terminal/);
});
