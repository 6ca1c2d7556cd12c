import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { KubeApi } from "../../kube/port.js";
import { createDirectoryApi } from "../controller/directory.js";
import { pullSecretHash, trustBundleHash } from "../hash/pool-hash.js";
import { encoded } from "../objects.js";
import { bootstrapKubeconfig, caPem, pullSecret } from "../payload/testing/inputs.js";
import { readTokenSecret } from "../token/token-secret.js";
import { payloadSource } from "./payload.js";

let dir: string;
let api: KubeApi;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "drawbridge-ingredients-"));
  api = createDirectoryApi({ directory: dir });
  await put("Secret", "bootstrap-kubeconfig", { kubeconfig: encoded(bootstrapKubeconfig) });
  await put("Secret", "mine", { ".dockerconfigjson": encoded(pullSecret) });
  await put("ConfigMap", "anchors", { "ca-bundle.crt": caPem });
});
afterEach(() => rmSync(dir, { recursive: true }));

const put = (kind: "Secret" | "ConfigMap", name: string, data: object) =>
  api.create(`/api/v1/namespaces/ns/${kind.toLowerCase()}s`, {
    apiVersion: "v1",
    kind,
    metadata: { name },
    data,
  } as object);

/** The payload for a token Secret with these hashes, by a description with these further lines. */
async function made(hashes: { pull?: string; trust?: string }, lines = ""): Promise<string> {
  const recipe = join(dir, "payload.txt");
  writeFileSync(recipe, `profile: kubelet\n${lines}`);
  const data = {
    "pull-secret-hash": encoded(hashes.pull ?? ""),
    "additional-trust-bundle-hash": encoded(hashes.trust ?? ""),
  };
  return (await payloadSource(api, "ns", recipe)(readTokenSecret({ data }))).text;
}

const right = { pull: pullSecretHash(Buffer.from(pullSecret)), trust: trustBundleHash(caPem) };
const names = "pullSecret: mine\ntrustBundle: anchors\n";

test("the objects that the recipe names are in the payload", async () => {
  const text = await made(right, names);
  for (const content of [pullSecret, caPem, bootstrapKubeconfig]) expect(text).toContain(encoded(content));
});

test("a cluster that has neither pull secret nor trust bundle needs none", async () => {
  const none = { pull: pullSecretHash(new Uint8Array()), trust: trustBundleHash("") };
  expect(await made(none)).not.toContain("/var/lib/kubelet/config.json");
});

test.each([
  ["is missing", right, "", "the Secret ns/pull-secret does not exist yet"],
  ["has another key", right, "pullSecret: bootstrap-kubeconfig\n", "has no key .dockerconfigjson"],
  ["is another pull secret", { ...right, pull: "00000000" }, names, "the pull secret ns/mine is not the one"],
  ["is another trust bundle", { ...right, trust: "00000000" }, names, "the trust bundle ns/anchors is not the one"],
  ["cannot be a name", right, "pullSecret: ../x\n", "pullSecret is missing or is not what it should be"],
])("a payload is refused when something %s", async (_, hashes, lines, sentence) => {
  await expect(made(hashes, lines)).rejects.toMatchObject({
    code: "DB_PAYLOAD",
    message: expect.stringContaining(sentence),
  });
});
