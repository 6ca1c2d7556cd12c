/** Files that commands write onto a disk that is full: exit 1 with a sentence, and nothing half-made is left. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test, vi } from "vitest";
import { ours } from "../support/processes/executables.js";

vi.setConfig({ testTimeout: 60_000 });

const folder = mkdtempSync(join(tmpdir(), "db-full-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
writeFileSync(join(folder, "hosted.yaml"), "name: demo\npublishing: { type: LoadBalancer, address: 192.0.2.1 }\n");

/** A disk of its own, in a mount namespace that ends with the command. What is on it afterwards is listed by `find`. */
function onDisk(isFull: boolean, argv: readonly string[]) {
  const fill = isFull ? "{ head -c 9000000 /dev/zero > disk/filler; } 2> /dev/null;" : "";
  const script = `mkdir -p disk && mount -t tmpfs -o size=8m none disk && { ${fill} "$@" > said; }; code=$?; find disk -type f ! -name filler; exit $code`;
  const command = ["--mount", "--propagation", "private", "bash", "-c", script, "bash", ours("drawbridge"), ...argv];
  return spawnSync("unshare", command, { cwd: folder, encoding: "utf8", timeout: 50_000 });
}

const canMount = spawnSync("unshare", ["--mount", "true"]).status === 0;
if (!canMount) process.stderr.write("skipped: a disk of its own needs root (unshare --mount)\n");

/** A directory that was made for what did not fit may stay; no file may. */
const rows = [
  ["pki init --profile bootstrap --ip 127.0.0.1 --dir disk/pki", "DB_CERT_WRITE"],
  ["hosted render --config hosted.yaml --out disk/out", "DB_RENDER_WRITE"],
  ["bootstrap render --for=kubeadm --server-address=192.0.2.1 --out disk/out", "DB_RENDER_WRITE"],
  ["support --role=workstation --out disk/support.tar.gz", "DB_SUPPORT|DB_GATHER"],
] as const;

test.skipIf(!canMount).each(rows)("%s ends with %s on a full disk, and leaves no part of a file", (line, code) => {
  const { status, stdout, stderr } = onDisk(true, line.split(" "));
  expect(stderr).toMatch(new RegExp(`^Error: [^\\n]*(ENOSPC|space)[^\\n]* \\((${code}): [^\\n]+\\)\\n$`, "m"));
  expect(status).toBe(1);
  expect(stdout).toBe("");
});

test.skipIf(!canMount).each(rows)("%s, with %s no more, writes its files where there is room", (line) => {
  const { status, stdout } = onDisk(false, line.split(" "));
  expect(status).toBe(0);
  expect(stdout).toMatch(/^disk\/\w+/);
});
