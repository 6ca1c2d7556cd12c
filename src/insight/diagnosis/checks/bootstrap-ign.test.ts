import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bootstrapIgnition, file, ignitionText } from "../../../../test/support/ignition-fixtures/ignition.js";
import { injectable, needsImage, shapes } from "../../../../test/support/ignition-fixtures/releases.js";
import { hasTools } from "../../../../test/support/ignition-fixtures/tools.js";
import { parseIgnition, textOf } from "../../../cluster/bootstrap/inject/ignition-config.js";
import { inject } from "../../../cluster/bootstrap/inject/inject.js";
import { checkBootstrapIgn } from "./bootstrap-ign.js";

const injected = (name: keyof typeof shapes) =>
  inject(bootstrapIgnition(shapes[name]), needsImage.includes(name) ? { image: "a/b:1" } : {}).text;
const failures = async (text: string) =>
  (await checkBootstrapIgn(parseIgnition(text))).findings
    .filter(({ state }) => state === "failed")
    .map(({ check, message }) => `${check}: ${message}`);

test.each(injectable)("an injected %s passes every check", async (name) => {
  expect(await failures(injected(name))).toEqual([]);
});

test("the installer's own integration passes too", async () => {
  expect(await failures(bootstrapIgnition(shapes["4.23 on"]))).toEqual([]);
});

test("a file injected with other options passes every check", async () => {
  const text = bootstrapIgnition(shapes["4.18"]);
  const options = { protocol: "HTTPConnect", agentNetwork: "host", image: "a/b:1", bootstrapIp: "10.0.0.9" } as const;
  expect(await failures(inject(text, options).text)).toEqual([]);
});

test("bootstrap in place is not applicable, and that is no failure", async () => {
  const report = await checkBootstrapIgn(parseIgnition(bootstrapIgnition(shapes["bootstrap in place"])));
  expect(report).toEqual({ state: "bootstrap-in-place", applicable: false, findings: [] });
});

test("a file without a bridge, or with one that is switched off, fails", async () => {
  expect((await failures(bootstrapIgnition(shapes["4.14"]))).length).toBeGreaterThan(10);
  expect((await failures(bootstrapIgnition(shapes["4.23 off"]))).map((line) => line.split(":")[0])).toEqual([
    ...["image", "server-pod", "agent-daemonset", "override-flag", "egress-copy", "address", "namespace"],
  ]);
});

describe("each mistake is found by its own check:", () => {
  const text = injected("4.14");
  const opt = (name: string) => `/opt/openshift/${name}.yaml`;
  const BOOTKUBE = "/usr/local/bin/bootkube.sh";
  const changed = (path: string, change: (content: string) => string, mode?: number) => {
    const config = JSON.parse(text);
    const content = textOf(parseIgnition(text), path)!;
    expect(change(content) === content && mode === undefined).toBe(false);
    config.storage.files = config.storage.files.map((entry: { path: string; mode: number }) =>
      entry.path === path ? file(path, mode ?? entry.mode, change(content)) : entry,
    );
    return ignitionText(config);
  };
  const sub = (from: string | RegExp, to: string) => (content: string) => content.replace(from, to);

  test.each([
    ["egress-config", opt("egress-selector-config"), sub("EgressSelectorConfiguration", "KubeAPIServerConfig")],
    ["egress-config", opt("egress-selector-config"), sub("v1beta1", "v1")],
    ["egress-selections", opt("egress-selector-config"), sub("name: etcd", "name: other")],
    ["image", opt("konnectivity-server-pod"), sub("KONNECTIVITY_IMAGE", "OTHER_IMAGE")],
    ["image", "/usr/local/bin/konnectivity.sh", sub("image_for apiserver-network-proxy", "image_for proxy")],
    ["server-pod", opt("konnectivity-server-pod"), sub("hostNetwork: true", "hostNetwork: false")],
    ["agent-daemonset", opt("konnectivity-agent-daemonset"), sub("kind: DaemonSet", "kind: Deployment")],
    ["override-flag", BOOTKUBE, sub(/.*--config-override-files.*\n/, "")],
    ["override-flag", BOOTKUBE, sub(/(.*--config-override-files.*\n)/, "$1$1")],
    [
      "override-file",
      opt("konnectivity-config-override"),
      sub("/etc/kubernetes/config/", "/etc/kubernetes/bootstrap-configs/"),
    ],
    ["egress-copy", BOOTKUBE, sub("cp /opt/openshift/egress-selector-config.yaml", "true")],
    ["socket", opt("egress-selector-config"), sub("/etc/kubernetes/config/", "/etc/kubernetes/bootstrap-configs/")],
    ["server-port", opt("konnectivity-server-pod"), sub("--server-port=0", "--server-port=8090")],
    ["egress-config", opt("konnectivity-server-pod"), sub("--mode=grpc", "--mode=http-connect")],
    ["agent-auth", opt("konnectivity-server-pod"), sub(/.*--cluster-ca-cert.*\n/, "")],
    ["address", opt("konnectivity-agent-daemonset"), sub(/--proxy-server-host=[^"\n]*/, "--proxy-server-host=")],
    ["namespace", opt("konnectivity-agent-certs-secret"), sub(/namespace: .*/, "namespace: kube-system")],
    ["hooks", BOOTKUBE, sub("\nkonnectivity_cleanup\n", "\n")],
    ["syntax", "/usr/local/bin/konnectivity.sh", (content: string) => `${content}\nif true\n`],
  ])("%s in %s", async (id, path, change) => {
    const found = await failures(changed(path, change));
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(new RegExp(`^${id}: .`));
  });

  test("original: changes by others, and damaged marks", async () => {
    expect(await failures(changed(BOOTKUBE, sub("set -euoE pipefail\n", "set -euoE pipefail\n# mine\n")))).toEqual([
      expect.stringMatching(/^original: bootkube.sh was changed by somebody else/),
    ]);
    expect(await failures(changed(BOOTKUBE, sub("# END drawbridge copy v1\n", "")))).toEqual([
      expect.stringMatching(/^original: the marks around drawbridge's "copy" lines/),
    ]);
  });

  test("modes: a script that cannot be executed, a file that others may write", async () => {
    expect(await failures(changed("/usr/local/bin/konnectivity-certs.sh", (same) => same, 0o600))).toEqual([
      "modes: /usr/local/bin/konnectivity-certs.sh is missing or cannot be executed",
    ]);
    expect(await failures(changed(opt("konnectivity-agent-certs-secret"), (same) => same, 0o666))).toEqual([
      `modes: ${opt("konnectivity-agent-certs-secret")} can be written by others than its owner`,
    ]);
  });
});

/** The plan's own pipelines, as a person would type them, with the values that work. */

describe.skipIf(!hasTools("bash", "jq"))("the plan's five pipelines on an injected file", () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "drawbridge-check-"));
    writeFileSync(join(folder, "bootstrap.ign"), injected("4.14"));
  });
  afterAll(() => rmSync(folder, { recursive: true }));
  const decoded = (path: string) =>
    `jq -r '.storage.files[] | select(.path == "${path}") | .contents.source' bootstrap.ign | sed 's/data:text\\/plain;charset=utf-8;base64,//' | base64 -d`;
  const pipe = (command: string) => {
    const { status, stdout, stderr } = spawnSync("bash", ["--norc", "-o", "pipefail", "-c", command], {
      cwd: folder,
      encoding: "utf8",
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    return stdout
      .trim()
      .split("\n")
      .map((line) => line.trim());
  };

  test("1: the egress selector configuration", () => {
    expect(pipe(decoded("/opt/openshift/egress-selector-config.yaml"))).toEqual(
      expect.arrayContaining([
        "kind: EgressSelectorConfiguration",
        "proxyProtocol: GRPC",
        "udsName: /etc/kubernetes/config/konnectivity-server.socket",
      ]),
    );
  });

  test("2: the image", () => {
    expect(pipe(`${decoded("/usr/local/bin/konnectivity.sh")} | grep -c 'image_for apiserver-network-proxy'`)).toEqual([
      "1",
    ]);
    for (const name of ["server-pod", "agent-daemonset"])
      expect(
        pipe(`${decoded(`/opt/openshift/konnectivity-${name}.yaml`)} | grep -c 'image: "$''{KONNECTIVITY_IMAGE}"'`),
      ).toEqual(["1"]);
  });

  test("3: the server's static pod", () => {
    expect(pipe(decoded("/opt/openshift/konnectivity-server-pod.yaml"))).toEqual(
      expect.arrayContaining([
        ...[
          "name: konnectivity-server",
          "- /usr/bin/proxy-server",
          "- --mode=grpc",
          "- --server-port=0",
          "- --agent-port=8091",
        ],
        "- --uds-name=/etc/kubernetes/bootstrap-configs/konnectivity-server.socket",
      ]),
    );
  });

  test("4: the agents' DaemonSet", () => {
    expect(pipe(decoded("/opt/openshift/konnectivity-agent-daemonset.yaml"))).toEqual(
      expect.arrayContaining([
        ...["kind: DaemonSet", "namespace: openshift-bootstrap-konnectivity", 'openshift.io/bootstrap-only: "true"'],
        ...["- /usr/bin/proxy-agent", "- --proxy-server-port=8091"],
      ]),
    );
  });

  test("5: the render's override", () => {
    expect(pipe(`${decoded("/usr/local/bin/bootkube.sh")} | grep config-override-files`)).toEqual([
      "--config-override-files=/assets/konnectivity-config-override.yaml \\",
    ]);
  });
});
