import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { flagsOf, renderedConfig } from "../../../../test/support/ignition-fixtures/apiserver-config.js";
import {
  bootstrapConfig,
  bootstrapIgnition,
  file,
  ignitionText,
  type Spelling,
} from "../../../../test/support/ignition-fixtures/ignition.js";
import { filling } from "../../../../test/support/ignition-fixtures/manifests.js";
import { injectable, needsImage, type ShapeName, shapes } from "../../../../test/support/ignition-fixtures/releases.js";
import { carriedContent, parseIgnition, textOf } from "./ignition-config.js";
import { bashError, type Injection, inject, removeBridge } from "./inject.js";

const IMAGE = "registry.example.com/tunnel:1";
const BOOTKUBE = "/usr/local/bin/bootkube.sh";
const optionsFor = (name: ShapeName) => (needsImage.includes(name) ? { image: IMAGE } : {});
const remove = (text: string) => removeBridge(parseIgnition(text));

interface Entry {
  path: string;
  mode: number;
  contents?: { source: string; verification?: { hash: string } };
}
const entries = (text: string): Entry[] => JSON.parse(text).storage.files;

describe.each(injectable)("G1: injected into %s", (name) => {
  const text = bootstrapIgnition(shapes[name]);
  const injected = inject(text, optionsFor(name));
  const config = parseIgnition(injected.text);

  test("every path is unique, every script passes bash -n, every mode is the installer's", () => {
    expect(injected.changed).toBe(true);
    const paths = entries(injected.text).map(({ path }) => path);
    expect(new Set(paths).size).toBe(paths.length);
    for (const { path, mode } of entries(injected.text).filter((entry) => entry.path.endsWith(".sh"))) {
      expect([path, bashError(textOf(config, path)!)]).toEqual([path, undefined]);
      expect([path, mode]).toEqual([path, 0o555]);
    }
    for (const name of ["egress-selector-config", "konnectivity-server-pod", "konnectivity-agent-daemonset"])
      expect(config.files.get(`/opt/openshift/${name}.yaml`)?.mode).toBe(0o600);
  });

  test("a second injection is byte-identical, with the same words and with none", () => {
    expect(inject(injected.text, optionsFor(name))).toMatchObject({
      state: "ours",
      changed: false,
      text: injected.text,
    });
    expect(inject(injected.text, {})).toMatchObject({ state: "ours", changed: false, text: injected.text });
  });

  test("--remove gives back the file byte for byte, and knows that it did", () => {
    expect(remove(injected.text)).toEqual({ text, exact: true, warnings: [] });
  });

  test("all else stays where it was", () => {
    const before = entries(text).filter(
      ({ path }) => path !== BOOTKUBE && !path.includes("konnectivity") && !path.includes("egress-"),
    );
    const after = new Map(entries(injected.text).map((entry) => [entry.path, entry]));
    for (const entry of before) expect(after.get(entry.path)).toEqual(entry);
    const { storage, ...rest } = JSON.parse(injected.text);
    const { storage: old, ...before2 } = JSON.parse(text);
    expect(rest).toEqual(before2);
    const common = text.indexOf(BOOTKUBE);
    expect(injected.text.startsWith(text.slice(0, common))).toBe(true);
    expect(injected.text.endsWith(text.slice(text.lastIndexOf("]},")))).toBe(true);
  });
});

describe("G2: bootstrap in place", () => {
  test("is left untouched, and named", () => {
    const text = bootstrapIgnition(shapes["bootstrap in place"]);
    expect(inject(text, { image: IMAGE })).toMatchObject({ state: "bootstrap-in-place", changed: false, text });
  });
});

test("the installer's own integration, switched on, is left untouched and named", () => {
  const text = bootstrapIgnition(shapes["4.23 on"]);
  expect(inject(text, { image: IMAGE })).toMatchObject({ state: "upstream-on", changed: false, text });
});

describe("G4: the kube-apiserver's rendered configuration", () => {
  test.each(injectable)("of %s has the flag exactly once, and keeps what it had", (name) => {
    const config = parseIgnition(inject(bootstrapIgnition(shapes[name]), optionsFor(name)).text);
    const script = textOf(config, BOOTKUBE)!;
    const named = [...script.matchAll(/--config-override-files=\/assets\/(\S+)/g)].map(
      ([, file]) => `/opt/openshift/${file}`,
    );
    const flags = flagsOf(renderedConfig(...named.map((path) => textOf(config, path)!)));
    expect(flags.filter((flag) => flag.startsWith("--egress-selector-config-file"))).toEqual([
      "--egress-selector-config-file=/etc/kubernetes/config/egress-selector-config.yaml",
    ]);
    expect(flags).toEqual(
      expect.arrayContaining([
        "--enable-aggregator-routing=true",
        "--advertise-address=10.0.0.1",
        "--audit-log-format=legacy",
      ]),
    );
  });
});

describe("the spelling of a bootstrap.ign", () => {
  const spellings: [string, Spelling][] = [
    ["percent-encoded", { encoding: "percent" }],
    ["barely percent-encoded", { encoding: "percent, as few as possible", mediaType: "text/x-shellscript;a=b" }],
    ["gzip", { gzip: true }],
    ["gzip, percent-encoded", { gzip: true, encoding: "percent" }],
    ["another media type", { mediaType: 'application/x-sh;name="a b"' }],
    ["with a sha512 hash", { hash: "sha512" }],
    ["gzip with a sha256 hash", { gzip: true, hash: "sha256" }],
  ];
  test.each(spellings)("%s: the script is read, patched in the same way, and restored to the byte", (_, spelling) => {
    const text = bootstrapIgnition(shapes["4.14"], { spelling });
    const plain = parseIgnition(inject(bootstrapIgnition(shapes["4.14"]), {}).text);
    const { text: after } = inject(text, {});
    const config = parseIgnition(after);
    const strip = (script: string) => script.replace(/sha256-\w+ bootstrap.ign=sha256-\w+/, "");
    expect(strip(textOf(config, BOOTKUBE)!)).toBe(strip(textOf(plain, BOOTKUBE)!));
    const entry = entries(after).find(({ path }) => path === BOOTKUBE)!;
    const [head] = entries(text)
      .find(({ path }) => path === BOOTKUBE)!
      .contents!.source.split(",", 1);
    expect(entry.contents!.source.startsWith(`${head},`)).toBe(true);
    const { bytes, hashNode } = carriedContent(config, BOOTKUBE)!;
    if (spelling.hash)
      expect(hashNode?.value).toBe(`${spelling.hash}-${createHash(spelling.hash).update(bytes).digest("hex")}`);
    expect(inject(after, {})).toMatchObject({ changed: false, text: after });
    expect(remove(after)).toEqual({ text, exact: true, warnings: [] });
  });

  test.each([1, 4])("a file indented by %i is restored to the byte", (indent) => {
    const text = `${bootstrapIgnition(shapes["4.23 off"], { indent })}\n`;
    expect(remove(inject(text, {}).text)).toMatchObject({ text, exact: true });
  });

  test("numbers, escapes and integer-like names keep their spelling", () => {
    const text = bootstrapIgnition(shapes["4.14"]).replace(
      '"x-unknown":{',
      '"x-unknown":{"z":1.50e+3,"\\u0041":"\\/","7":-0,',
    );
    const { text: after } = inject(text, {});
    expect(after).toContain('"x-unknown":{"z":1.50e+3,"\\u0041":"\\/","7":-0,');
    expect(remove(after).text).toBe(text);
  });

  test("what another tool re-formatted is still taken out, and said to differ", () => {
    const text = bootstrapIgnition(shapes["4.23 off"], { spelling: { gzip: true } });
    const reformatted = ignitionText(JSON.parse(inject(text, {}).text), 2);
    const { text: after, exact, warnings } = remove(reformatted);
    expect(JSON.parse(after)).toEqual(JSON.parse(text));
    expect(exact).toBe(false);
    expect(warnings[0]).toMatch(/original again, but another tool/);
  });

  test("what somebody added to bootkube.sh later stays when the bridge goes", () => {
    const spelling = { gzip: true } as const;
    const injected = inject(bootstrapIgnition(shapes["4.14"], { spelling }), {}).text;
    const config = JSON.parse(injected);
    const script = textOf(parseIgnition(injected), BOOTKUBE)!.replace(
      "set -euoE pipefail",
      "set -euoE pipefail\n# mine",
    );
    const files = config.storage.files.map((entry: Entry) =>
      entry.path === BOOTKUBE ? file(BOOTKUBE, 0o555, script) : entry,
    );
    const { text, warnings } = remove(ignitionText({ ...config, storage: { files } }));
    expect(textOf(parseIgnition(text), BOOTKUBE)).toContain("\n# mine\n");
    expect(textOf(parseIgnition(text), BOOTKUBE)).not.toContain("drawbridge");
    expect(parseIgnition(text).files.size).toBe(bootstrapConfig(shapes["4.14"]).storage.files.length);
    expect(warnings[0]).toMatch(/changed by somebody else/);
  });
});

describe("options of inject", () => {
  const text = bootstrapIgnition(shapes["4.14"]);
  const yaml = ({ text: after }: Injection, name: string) =>
    textOf(parseIgnition(after), `/opt/openshift/${name}.yaml`)!;
  const functions = ({ text: after }: Injection) => textOf(parseIgnition(after), "/usr/local/bin/konnectivity.sh")!;

  test.each(needsImage)("%s needs --image, and the refusal says why", (name) => {
    const old = bootstrapIgnition(shapes[name]);
    expect(() => inject(old, {})).toThrow(expect.objectContaining({ code: "DB_INJECT_IMAGE" }));
    expect(() => inject(old, {})).toThrow(`(${name}, by the installer's version)`);
    expect(yaml(inject(old, { image: IMAGE }), "konnectivity-server-pod")).toContain(`image: ${IMAGE}`);
  });

  test("from 4.11 on the payload's image is looked up on the host", () => {
    const injected = inject(bootstrapIgnition(shapes["4.11"]), {});
    expect(yaml(injected, "konnectivity-server-pod")).toContain('image: "${'.concat('KONNECTIVITY_IMAGE}"'));
  });

  test("a changed option brings the file up to date, and the rest of what was said holds", () => {
    const first = inject(text, { image: IMAGE, bootstrapIp: "192.168.1.10" });
    const second = inject(first.text, { image: "registry.example.com/tunnel:2" });
    expect(second).toMatchObject({ state: "ours", changed: true });
    expect(yaml(second, "konnectivity-agent-daemonset")).toContain("image: registry.example.com/tunnel:2");
    expect(functions(second)).toContain("KONNECTIVITY_BOOTSTRAP_IP='192.168.1.10'");
    expect(second.text).toBe(
      inject(text, { bootstrapIp: "192.168.1.10", image: "registry.example.com/tunnel:2" }).text,
    );
    expect(remove(second.text)).toMatchObject({ text, exact: true });
  });

  test("protocol and network of the agents are the model's to agree on", () => {
    const injected = inject(text, { protocol: "HTTPConnect", agentNetwork: "host" });
    expect(yaml(injected, "konnectivity-server-pod")).toContain("--mode=http-connect");
    expect(yaml(injected, "egress-selector-config")).toContain("proxyProtocol: HTTPConnect");
    expect(yaml(injected, "konnectivity-agent-rolebinding")).toContain("kind: RoleBinding");
    expect(remove(injected.text)).toMatchObject({ text, exact: true });
  });

  test.each([
    [{ image: "a b" }, /"a b" is not an image's pull spec/],
    [{ image: "x'; rm -rf /" }, /is not an image's pull spec/],
    [{ bootstrapIp: "api-int.example.com" }, /--bootstrap-ip "api-int.example.com" is not an IP address/],
    [{ bootstrapIp: "fe80::1%eth0" }, /--bootstrap-ip/],
    [{ validHours: 0.5 }, /--valid-hours/],
    [{ imageKind: "drawbridge" as const }, /--image-kind drawbridge needs --image/],
  ])("%j is refused", (options, reason) => {
    expect(() => inject(text, options)).toThrow(reason);
  });

  test("the script learns the cluster's networks, its family and its shared addresses", () => {
    const networks = {
      service: ["fd02::/112", "172.30.0.0/16"],
      machine: ["fd00:1:0::/64", "192.168.66.0/24", "nonsense"],
      shared: ["fd00:1:0:0::5", "192.168.66.5"],
    };
    const script = functions(inject(bootstrapIgnition(shapes["4.18"], { networks }), { validHours: 48 }));
    expect(script).toContain("\nKONNECTIVITY_FAMILY='6'\n");
    expect(script).toContain("\nKONNECTIVITY_MACHINE_NETWORKS='fd00:1::/64 192.168.66.0/24'\n");
    expect(script).toContain("\nKONNECTIVITY_PROBES='fd00:1::1 192.168.66.1'\n");
    expect(script).toContain("\nKONNECTIVITY_SHARED_IPS='fd00:1::5 192.168.66.5'\n");
    expect(script).toContain("\nexport KONNECTIVITY_HOURS=48\n");
  });

  test.each([
    ["4.13", { networks: { service: ["fd02::/112"], machine: [] } }, {}, /before 4.14 do not dial IPv6/],
    ["4.8", {}, { agentNetwork: "host", image: IMAGE }, /hostnetwork-v2/],
    ["4.14", { networks: { service: [], machine: [], fips: true } }, { imageKind: "drawbridge", image: IMAGE }, /FIPS/],
  ] as const)("%s: a warning where something will not go well", (name, fixture, options, warning) => {
    expect(inject(bootstrapIgnition(shapes[name], fixture), options).warnings).toEqual([
      expect.stringMatching(warning),
    ]);
  });
});

test("a file of real size takes well under a second", () => {
  const manifests = Array.from({ length: 200 }, (_, i) =>
    file(`/opt/openshift/manifests/filling-${i}.yaml`, 0o644, filling(7_000)),
  );
  const text = bootstrapIgnition(shapes["4.18"], { extraFiles: manifests });
  // The processor's time: what others do on the machine must not decide.
  const began = process.cpuUsage();
  const { text: after } = inject(text, {});
  const { user, system } = process.cpuUsage(began);
  const took = (user + system) / 1000;
  process.stdout.write(`inject: ${(text.length / 1e6).toFixed(1)} MB in ${took.toFixed(0)} ms (bar: 1000 ms)\n`);
  expect(took).toBeLessThan(1_000);
  expect(text.length).toBeGreaterThan(1_800_000);
  expect(remove(after).text).toBe(text);
});
