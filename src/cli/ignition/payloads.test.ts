/** Payloads that are named by pool and hash, on a directory of objects. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { dataUrlOf } from "../../base/data-url.js";
import { createDirectoryApi } from "../../cluster/nodes/controller/directory.js";
import { encoded, type Secret } from "../../cluster/nodes/objects.js";
import { bootstrapKubeconfig } from "../../cluster/nodes/payload/testing/inputs.js";
import { makeTokenSecret, pack, withExpiry } from "../../cluster/nodes/token/token-secret.js";
import { drawbridge } from "../commands.js";

const namespace = "clusters-demo";
const motd = (text: string) =>
  JSON.stringify({
    ignition: { version: "3.2.0" },
    storage: { files: [{ path: "/etc/motd", contents: { source: dataUrlOf(text) } }] },
  });
const start = Date.parse("2031-01-01T00:00:00Z");

function tokenSecret(pool: string, hash: string, payload: string | undefined, at = start): Secret {
  const made = makeTokenSecret(
    {
      ...{ namespace, pool: { namespace: "clusters", name: pool }, hash, token: `token-of-${hash}` },
      ...{ upgradeType: payload === undefined ? "Replace" : "InPlace", releaseImage: "", releaseVersion: "4.18.0" },
      ...{ rawConfig: "", pullSecretHash: "", trustBundleHash: "", configurationHash: "", stream: "" },
    },
    at,
  );
  return payload === undefined ? made : { ...made, data: { ...made.data, payload: encoded(pack(payload)) } };
}

let dir: string;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "drawbridge-payloads-"));
  const api = createDirectoryApi({ directory: join(dir) });
  const kubeconfig: Secret = {
    ...{ apiVersion: "v1", kind: "Secret", metadata: { name: "bootstrap-kubeconfig", namespace } },
    data: { kubeconfig: encoded(bootstrapKubeconfig) },
  };
  for (const secret of [
    withExpiry(tokenSecret("workers", "11111111", motd("one\n")), start)!,
    tokenSecret("workers", "22222222", motd("two\n")),
    tokenSecret("others", "33333333", undefined),
    kubeconfig,
  ]) {
    await api.create(`/api/v1/namespaces/${namespace}/secrets`, secret);
  }
  writeFileSync(join(dir, "file.ign"), motd("two\n"));
  writeFileSync(join(dir, "recipe.txt"), "profile: kubelet\n");
});
afterAll(() => rmSync(dir, { recursive: true }));
afterEach(() => vi.restoreAllMocks());

async function call(...argv: readonly string[]) {
  const printed = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    vi.spyOn(process[name], "write").mockImplementation((text) => {
      printed[name] += String(text);
      return true;
    });
  }
  return { code: await drawbridge.run("drawbridge", ["ignition", ...argv]), ...printed };
}

const access = () => [`--directory=${dir}`, `--namespace=${namespace}`];

test("two hashes of a pool are compared, and a hash with a file", async () => {
  const changed = await call("diff", "--pool=workers", ...access(), "11111111", "22222222");
  expect(changed).toMatchObject({ code: 0, stderr: "" });
  expect(changed.stdout).toMatch(/\/etc\/motd[\s\S]*- ?one[\s\S]*\+ ?two/);
  const same = await call("diff", "--exit-code", "--pool=workers", ...access(), "current", join(dir, "file.ign"));
  expect([same.code, same.stderr]).toEqual([0, ""]);
  expect((await call("diff", "--exit-code", "--pool=workers", ...access(), "11111111", "current")).code).toBe(1);
});

test("a payload is shown by its hash; one that its Secret does not hold is made again", async () => {
  expect((await call("preview", "--pool=workers", ...access(), "22222222")).stdout).toContain("motd");
  const held = await call("preview", "--pool=others", ...access(), "current");
  expect([held.code, held.stderr]).toEqual([1, expect.stringMatching(/token-others-33333333 .* give --payload/)]);
  const made = await call("preview", "--pool=others", `--payload=${join(dir, "recipe.txt")}`, ...access(), "33333333");
  expect(made).toMatchObject({ code: 0, stderr: "" });
  expect(made.stdout).toContain("kubelet.service");
  expect(made.stdout).not.toContain(bootstrapKubeconfig);
});

test("an unknown hash or pool is refused with the known ones", async () => {
  const unknown = await call("diff", "--pool=workers", ...access(), "00000000", "current");
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining("there is: 11111111, 22222222")]);
  expect(unknown.stderr).toContain("DB_PAYLOAD_HASH");
  const nobody = await call("preview", "--pool=nobody", ...access(), "current");
  expect(nobody.stderr).toContain("there is none of it");
});

test("places of objects without a pool are misuse", async () => {
  const { code, stderr } = await call("diff", ...access(), "a", "b");
  expect([code, stderr]).toEqual([2, expect.stringContaining("--directory needs --pool")]);
});
