/**
 * The injected functions, executed by bash in a folder of their own: what they write, what they record (L1), and what they
 * say when something fails. The whole host around them is played in test/e2e/bridge-inject.test.ts.
 */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { bootstrapIgnition } from "../../../../test/support/ignition-fixtures/ignition.js";
import { serviceRecord } from "../../../../test/support/ignition-fixtures/libraries.js";
import { shapes } from "../../../../test/support/ignition-fixtures/releases.js";
import { hasTools } from "../../../../test/support/ignition-fixtures/tools.js";
import { readCleanupState } from "../model/cleanup.js";
import { parseIgnition, textOf } from "./ignition-config.js";
import { inject } from "./inject.js";
import { type InjectOptions, payloadPaths } from "./payload.js";

const equipped = hasTools("bash", "ip", "jq", "openssl", "shellcheck");

const networks = { service: ["172.30.0.0/16"], machine: ["192.0.2.0/24"] };
const injected = (options: InjectOptions) =>
  parseIgnition(inject(bootstrapIgnition(shapes["4.18"], { networks }), options).text);
const config = injected({ bootstrapIp: "192.0.2.10" });
const IMAGE = `quay.io/a/b@sha256:${"1".repeat(64)}`;

describe.skipIf(!equipped)("the injected functions", { timeout: 60_000 }, () => {
  let root: string;
  const at = (...parts: string[]) => join(root, ...parts);

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "drawbridge-functions-"));
    for (const folder of ["assets/auth", "kubernetes", "bin", "log"]) mkdirSync(at(folder), { recursive: true });
    for (const path of payloadPaths) {
      const text = textOf(config, path);
      if (text !== undefined)
        put(
          path.replace("/opt/openshift", "assets").replace("/usr/local/bin", "bin").replace("/etc/systemd/system/", ""),
          text,
        );
    }
    put("bin/record.sh", serviceRecord);
    put(
      "bin/oc",
      `#!/usr/bin/env bash\necho "$*" >>"${at("oc.log")}"\n\nif [[ -f "${at("api-down")}" ]]; then cat "${at("api-down")}" >&2; exit 1; fi\n`,
    );
    put(
      "bin/systemctl",
      `#!/usr/bin/env bash\necho "$*" >>"${at("systemctl.log")}"\n[[ ! -f "${at("no-systemd")}" ]]\n`,
    );
  });
  afterEach(() => rmSync(root, { recursive: true }));

  function put(name: string, text: string): void {
    writeFileSync(at(name), text);
    chmodSync(at(name), 0o755);
  }

  /** Runs a script as bootkube.sh would. */
  function run(calls: string, options: { record?: boolean; env?: Record<string, string> } = {}) {
    const lines = [
      "set -euoE pipefail",
      ...(options.record === false ? [] : [`. ${at("bin/record.sh")}`]),
      `image_for() { [[ ! -f ${at("no-image")} ]] && echo "${IMAGE}"; }`,
      `. ${at("bin/konnectivity.sh")}`,
      calls,
    ];
    return execute(["bash", "--norc", "-c", lines.join("\n")], options.env);
  }

  /** One run of the unit, as systemd would start it. */
  const unit = (env: Record<string, string> = {}) =>
    execute([at("bin/konnectivity.sh")], { KONNECTIVITY_RETRY_SECONDS: "0", ...env });

  function execute([program, ...words]: string[], env: Record<string, string> = {}) {
    const { status, stdout, stderr } = spawnSync(program as string, words, {
      cwd: at("assets"),
      encoding: "utf8",
      timeout: 60_000,
      env: {
        PATH: `${at("bin")}:${process.env.PATH}`,
        KONNECTIVITY_ASSETS: at("assets"),
        KONNECTIVITY_KUBERNETES: at("kubernetes"),
        KONNECTIVITY_CERTS: at("bin/konnectivity-certs.sh"),
        KONNECTIVITY_KEY: "ec",
        KONNECTIVITY_CLEANUP_SECONDS: "1",
        KONNECTIVITY_RECORDS: at("bin/record.sh"),
        SERVICE_RECORDS_DIR: at("log"),
        ...env,
      },
    });
    return { status, stdout, stderr };
  }

  const recorded = (service = "bootkube") => {
    const entries = JSON.parse(readFileSync(at(`log/${service}.json`), "utf8")) as Record<string, string>[];
    return entries
      .filter(({ phase }) => phase?.startsWith("stage"))
      .map(({ phase, stage, result }) => [stage, ...(phase === "stage end" ? [result] : ["start"])].join(" "));
  };
  const markers = () =>
    readdirSync(at("assets"))
      .filter((name) => name.endsWith(".done"))
      .sort();
  const manifest = (name: string) => parse(readFileSync(at("assets/manifests", `konnectivity-${name}.yaml`), "utf8"));
  const all = "konnectivity_setup; konnectivity_manifests; konnectivity_cleanup";

  test("pass shellcheck, each script as it is injected", () => {
    for (const script of ["konnectivity.sh", "konnectivity-certs.sh"]) {
      const { status, stdout } = spawnSync("shellcheck", ["--format=gcc", at("bin", script)], { encoding: "utf8" });
      expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
    }
  });

  test("change no shell options and start no records of their own", () => {
    const { status, stdout } = run(
      `. ${at("bin/record.sh")}; a=$(set +o; shopt); . ${at("bin/konnectivity.sh")}; b=$(set +o; shopt); [[ $a == "$b" ]] && echo same`,
    );
    expect({ status, stdout }).toEqual({ status: 0, stdout: "same\n" });
    expect(recorded()).toEqual([]);
  });

  test("L1: write everything, and record the four stages", () => {
    expect(run("konnectivity_setup; konnectivity_manifests")).toMatchObject({ status: 0 });
    const pod = parse(readFileSync(at("kubernetes/manifests/konnectivity-server-pod.yaml"), "utf8"));
    expect(pod.spec.containers[0].image).toBe(IMAGE);
    expect(manifest("agent-daemonset").spec.template.spec.containers[0].args).toContain(
      "--proxy-server-host=192.0.2.10",
    );
    const secret = manifest("agent-certs").data as Record<string, string>;
    const tls = (name: string) => readFileSync(at("assets/tls/konnectivity", name)).toString("base64");
    expect(secret).toEqual({ "tls.crt": tls("agent.crt"), "tls.key": tls("agent.key"), "ca.crt": tls("ca.crt") });
    expect(statSync(at("assets/manifests/konnectivity-agent-certs.yaml")).mode & 0o077).toBe(0);
    expect(existsSync(at("assets/tls/konnectivity/ca.key"))).toBe(false);
    expect(readdirSync(at("kubernetes/manifests"))).toEqual(["konnectivity-server-pod.yaml"]);
    expect(readdirSync(at("assets/manifests")).sort()).toEqual([
      ...["konnectivity-agent-certs.yaml", "konnectivity-agent-daemonset.yaml", "konnectivity-namespace.yaml"],
    ]);

    writeFileSync(at("kubernetes/bootstrap-configs/konnectivity-server.socket"), "");
    expect(run("konnectivity_cleanup")).toMatchObject({ status: 0 });
    expect(readdirSync(at("kubernetes/manifests"))).toEqual([]);
    expect(readdirSync(at("kubernetes/bootstrap-configs"))).toEqual([]);
    expect(existsSync(at("assets/tls/konnectivity"))).toBe(false);
    expect(existsSync(at("assets/manifests/konnectivity-agent-certs.yaml"))).toBe(false);
    const deletions = readFileSync(at("oc.log"), "utf8").trim().split("\n");
    expect(deletions.map((line) => line.split(" --")[0])).toEqual([
      "delete daemonset/konnectivity-agent secret/konnectivity-agent-certs",
      "delete namespace/openshift-bootstrap-konnectivity",
    ]);
    for (const line of deletions) expect(line).toMatch(/--ignore-not-found=true --wait=false --request-timeout=10s$/);
    expect(recorded()).toEqual(
      [
        "konnectivity-certs",
        "konnectivity-server-bootstrap",
        "konnectivity-agent-manifest",
        "konnectivity-cleanup",
      ].flatMap((stage) => [`${stage} start`, `${stage} success`]),
    );
  });

  test("do nothing a second time, not even after the cleanup", () => {
    run(all);
    const before = { markers: markers(), recorded: recorded(), oc: readFileSync(at("oc.log"), "utf8") };
    expect(run(all)).toMatchObject({ status: 0 });
    expect({ markers: markers(), recorded: recorded(), oc: readFileSync(at("oc.log"), "utf8") }).toEqual(before);
    expect(existsSync(at("assets/tls/konnectivity"))).toBe(false);
  });

  test("work on hosts that keep no records, and without any shell option", () => {
    expect(run(`set +euE; set +o pipefail; ${all}`, { record: false })).toMatchObject({ status: 0 });
    expect(markers()).toHaveLength(4);
  });

  describe("L1: a failure is one sentence, a failed stage, and no obstacle to the next run:", () => {
    const sentence = (stderr: string) => stderr.trim().split("\n").at(-1);

    test("a payload without the image", () => {
      writeFileSync(at("no-image"), "");
      const { status, stderr } = run(all);
      expect(status).toBe(1);
      expect(sentence(stderr)).toMatch(
        /^konnectivity: this release has no image apiserver-network-proxy; inject again with --image/,
      );
      expect(recorded().at(-1)).toBe("konnectivity-server-bootstrap failure");
      rmSync(at("no-image"));
      expect(run(all)).toMatchObject({ status: 0 });
      expect(recorded()).toContain("konnectivity-server-bootstrap success");
    });

    test("certificates that cannot be made", () => {
      const good = readFileSync(at("bin/konnectivity-certs.sh"), "utf8");
      put("bin/konnectivity-certs.sh", "#!/bin/bash\necho no entropy >&2\nexit 3\n");
      const { status, stderr } = run(all);
      expect(status).toBe(1);
      expect(sentence(stderr)).toMatch(/^konnectivity: the certificates for 192.0.2.10 could not be made/);
      expect(recorded().at(-1)).toBe("konnectivity-certs failure");
      expect(markers()).toEqual([]);
      put("bin/konnectivity-certs.sh", good);
      expect(run(all)).toMatchObject({ status: 0 });
    });

    test("a template that is not there, or has more to fill in than there is", () => {
      const template = at("assets/konnectivity-agent-daemonset.yaml");
      const good = readFileSync(template, "utf8");
      rmSync(template);
      expect(sentence(run(all).stderr)).toMatch(
        /konnectivity-agent-daemonset.yaml is missing; inject the bridge into bootstrap.ign again$/,
      );
      writeFileSync(template, `${good}# $\{SOMETHING_ELSE}\n`);
      expect(sentence(run(all).stderr)).toMatch(/has a placeholder that nothing fills/);
      expect(recorded().at(-1)).toBe("konnectivity-agent-manifest failure");
      expect(existsSync(at("assets/manifests/konnectivity-agent-daemonset.yaml"))).toBe(false);
      writeFileSync(template, good);
      expect(run(all)).toMatchObject({ status: 0 });
    });

    test("an image's name that would mean something to sed", () => {
      const { status, stderr } = run(`image_for() { echo 'a|e touch /tmp/x|b'; }; ${all}`);
      expect(status).toBe(1);
      expect(sentence(stderr)).toMatch(/the value found for KONNECTIVITY_IMAGE cannot be used/);
    });

    test("a host that came back with another address", () => {
      put("bin/konnectivity.sh", textOf(injected({}), "/usr/local/bin/konnectivity.sh")!);
      const holding = (address: string) =>
        `ip() { if [[ $* == *route* ]]; then echo '[{"prefsrc":"${address}"}]'; else echo '[{"addr_info":[{"local":"${address}"}]}]'; fi; }; ${all}`;
      rmSync(at("assets/konnectivity-agent-daemonset.yaml"));
      expect(sentence(run(holding("192.0.2.77")).stderr)).toMatch(/agent-daemonset.yaml is missing/);
      const { status, stderr } = run(holding("192.0.2.99"));
      expect(status).toBe(1);
      expect(sentence(stderr)).toMatch(
        /no longer has 192.0.2.77, .* \(it has: 192.0.2.99\); give it that address back, or remove/,
      );
      expect(recorded().at(-1)).toBe("konnectivity-certs failure");
    });

    test("an API that does not answer any more: bootkube.sh goes on, and hands the clean-up over to the unit", () => {
      const began = performance.now();
      const { status, stdout, stderr } = failToClean();
      expect({ status, stdout }).toEqual({ status: 0, stdout: "the end\n" });
      expect(performance.now() - began).toBeLessThan(30_000);
      expect(stderr).toMatch(
        /warning: the agents could not be removed within 1 s: dial tcp: lookup api-int: no such host/,
      );
      expect(sentence(stderr)).toMatch(
        /konnectivity-cleanup.service goes on with the clean-up; .*drawbridge bootstrap teardown --kubeconfig FILE, or oc delete namespace openshift-bootstrap-konnectivity$/,
      );
      expect(recorded().at(-1)).toBe("konnectivity-cleanup failure");
      expect(existsSync(at("assets/tls/konnectivity"))).toBe(false);
      expect(markers()).toContain("konnectivity-cleanup.done");
      expect(readFileSync(at("systemctl.log"), "utf8")).toBe("enable --now --no-block konnectivity-cleanup.service\n");
      expect(state()).toMatchObject({
        state: "pending",
        namespace: "openshift-bootstrap-konnectivity",
        lastError: "dial tcp: lookup api-int: no such host",
      });
      const { until, since } = state()!;
      expect((Date.parse(until) - Date.parse(since)) / 3_600_000).toBeCloseTo(24, 0);
    });

    test("files that cannot be removed are not taken for objects that are left, nor the other way round", () => {
      run("konnectivity_setup; konnectivity_manifests");
      writeFileSync(at("bin/rm"), "#!/bin/sh\necho 'rm: Read-only file system' >&2\nexit 1\n", { mode: 0o755 });
      run("konnectivity_cleanup");
      expect(state()).toMatchObject({
        state: "pending",
        left: "files",
        lastError: expect.stringContaining("files could not be removed"),
      });
      writeFileSync(at("api-down"), "dial tcp: lookup api-int: no such host\n");
      unit();
      expect(state()).toMatchObject({ left: "objects", lastError: expect.stringContaining("no such host") });
    });

    test("a clean-up that no unit can take over fails the stage, so that bootkube.sh tries again until it succeeds", () => {
      writeFileSync(at("no-systemd"), "");
      const { status, stderr } = failToClean();
      expect(status).toBe(1);
      expect(sentence(stderr)).toMatch(/konnectivity-cleanup.service could not be started .* so bootkube tries again/);
      expect(recorded().at(-1)).toBe("konnectivity-cleanup failure");
      expect(markers()).not.toContain("konnectivity-cleanup.done");
      rmSync(at("api-down"));
      rmSync(at("no-systemd"));
      expect(run("konnectivity_cleanup")).toMatchObject({ status: 0 });
      expect(recorded().at(-1)).toBe("konnectivity-cleanup success");
      expect(state()?.state).toBe("removed");
    });
  });

  const state = () => readCleanupState(readFileSync(at("assets/konnectivity-cleanup.json"), "utf8"));
  const systemctl = () => readFileSync(at("systemctl.log"), "utf8").trim().split("\n");

  function failToClean() {
    run("konnectivity_setup; konnectivity_manifests");
    writeFileSync(at("api-down"), "E1117 memcache.go] couldn't get the list\ndial tcp: lookup api-int: no such host\n");
    return run("konnectivity_cleanup; echo the end");
  }

  describe("the unit that goes on with a clean-up", () => {
    test("systemd takes it as it is, and RHEL 8's would as well: it is restarted, and no oneshot", () => {
      const text = readFileSync(at("konnectivity-cleanup.service"), "utf8");
      expect(text).toMatch(/^Type=simple$/m);
      expect(text).toMatch(/^Restart=on-failure$/m);
      if (!hasTools("systemd-analyze")) return;
      // The path of the script is the host's.
      writeFileSync(at("verified.service"), text.replace("/usr/local/bin/konnectivity.sh", at("bin/konnectivity.sh")));
      const { status, stderr } = spawnSync("systemd-analyze", ["verify", at("verified.service")], { encoding: "utf8" });
      expect({ status, complaints: stderr.split("\n").filter((line) => line.includes("verified.service")) }).toEqual({
        status: 0,
        complaints: [],
      });
    });

    test("fails, records it and is started again while the API is away; removes everything when it answers", () => {
      failToClean();
      const before = state()!;
      for (const attempt of [1, 2]) {
        const { status, stderr } = unit();
        expect(status).toBe(1);
        expect(stderr).toContain("the agents' objects cannot be removed yet: dial tcp: lookup api-int: no such host");
        expect(state()).toMatchObject({ state: "pending", since: before.since, attempts: before.attempts + attempt });
      }
      expect(recorded("konnectivity-cleanup").filter((line) => line.endsWith("failure"))).toHaveLength(2);
      rmSync(at("api-down"));
      expect(unit()).toMatchObject({ status: 0 });
      expect(state()).toMatchObject({ state: "removed", since: before.since, until: before.until });
      expect(recorded("konnectivity-cleanup").at(-1)).toBe("konnectivity-cleanup success");
      expect(systemctl().at(-1)).toBe("disable konnectivity-cleanup.service");
      expect(recorded().at(-1)).toBe("konnectivity-cleanup failure");
    });

    test("gives up, for good and aloud, when the certificates have ended and nothing answers", () => {
      failToClean();
      const file = at("assets/konnectivity-cleanup.json");
      const ended = { ...JSON.parse(readFileSync(file, "utf8")), until: "2020-01-01T00:00:00Z" };
      writeFileSync(file, JSON.stringify(ended));
      const { status, stderr } = unit();
      expect(status).toBe(3);
      expect(readFileSync(at("konnectivity-cleanup.service"), "utf8")).toMatch(/^RestartPreventExitStatus=3$/m);
      expect(stderr).toMatch(/gave up: .* drawbridge bootstrap teardown --kubeconfig FILE/);
      expect(state()?.state).toBe("given-up");
      expect(recorded("konnectivity-cleanup").at(-1)).toBe("konnectivity-cleanup failure");
      expect(systemctl().at(-1)).toBe("disable konnectivity-cleanup.service");
    });

    test("goes on although its state file is damaged", () => {
      failToClean();
      writeFileSync(at("assets/konnectivity-cleanup.json"), "{");
      expect(unit()).toMatchObject({ status: 1 });
      expect(state()).toMatchObject({ state: "pending", attempts: 1 });
    });
  });

  test("certificates that vanished before agents got them are made again; after that an interrupted cleanup goes on", () => {
    run("konnectivity_setup");
    rmSync(at("assets/tls/konnectivity"), { recursive: true });
    expect(run("konnectivity_setup; konnectivity_manifests")).toMatchObject({ status: 0 });
    expect(existsSync(at("assets/tls/konnectivity/agent.key"))).toBe(true);
    rmSync(at("assets/tls/konnectivity"), { recursive: true });
    expect(run(all)).toMatchObject({ status: 0 });
    expect(existsSync(at("assets/tls/konnectivity"))).toBe(false);
  });

  test("no secret is ever an argument", () => {
    run("konnectivity_setup");
    const { status, stderr } = run(
      `sed() { printf '%s\\n' "$@" >>${at("sed.log")}; command sed "$@"; }; set -x; konnectivity_manifests`,
    );
    expect(status).toBe(0);
    const key = readFileSync(at("assets/tls/konnectivity/agent.key")).toString("base64").slice(40, 80);
    expect(stderr).toContain(key);
    expect(readFileSync(at("sed.log"), "utf8")).not.toContain(key);
  });
});
