import { describe, expect, test } from "vitest";
import {
  bootstrapConfig,
  bootstrapIgnition,
  ignitionText,
} from "../../../../test/support/ignition-fixtures/ignition.js";
import { type ShapeName, shapes } from "../../../../test/support/ignition-fixtures/releases.js";
import { classify } from "./classify.js";
import { releaseOf } from "./cluster-facts.js";
import { parseIgnition } from "./ignition-config.js";
import { inject } from "./inject.js";

const state = (text: string) => classify(parseIgnition(text)).state;

describe("G3: what a bootstrap.ign is", () => {
  test.each([
    ["4.6", "absent", "4.6"],
    ["4.8", "absent", "4.8"],
    ["4.11", "absent", "4.11"],
    ["4.12", "absent", "4.12"],
    ["4.13", "absent", "4.13"],
    ["4.14", "absent", "4.14"],
    ["4.18", "absent", "4.18"],
    ["4.23 off", "upstream-off", "4.23"],
    ["4.23 on", "upstream-on", "4.23"],
    ["bootstrap in place", "bootstrap-in-place", "4.14"],
  ] as const satisfies [ShapeName, string, string][])("%s: %s", (name, expected, release) => {
    const config = parseIgnition(bootstrapIgnition(shapes[name]));
    expect(classify(config)).toMatchObject({ state: expected });
    expect(classify(config).refusal).toBeUndefined();
    expect(releaseOf(config).name).toBe(release);
  });

  test.each(["4.14", "4.23 off"] as const)("%s with our bridge in it is ours", (name) => {
    expect(state(inject(bootstrapIgnition(shapes[name]), {}).text)).toBe("ours");
  });

  test("YAML files alone prove nothing: they are shipped switched off too", () => {
    const { integration, ...rest } = shapes["4.23 off"];
    const stripped = { ...rest, integration: "none" as const };
    const shipped = bootstrapConfig(shapes["4.23 off"]).storage.files.filter((file) =>
      (file as { path: string }).path.includes("konnectivity-"),
    );
    expect(shipped.length).toBeGreaterThan(4);
    expect(state(bootstrapIgnition(stripped, { extraFiles: shipped }))).toBe("absent");
  });

  test.each([
    ["the variable", { script: (s: string) => s.replace("BOOTSTRAP_INPLACE=false", "  BOOTSTRAP_INPLACE=true") }],
    ["the script that writes the disk", { extraFiles: [{ path: "/usr/local/bin/install-to-disk.sh" }] }],
  ])("bootstrap in place is known by %s", (_, options) => {
    expect(state(bootstrapIgnition(shapes["4.14"], options))).toBe("bootstrap-in-place");
  });
});

describe("a bootstrap.ign of an unknown kind is refused", () => {
  const half = (change: (script: string) => string) => bootstrapIgnition(shapes["4.23 off"], { script: change });
  const on = bootstrapIgnition(shapes["4.23 on"], { script: (s) => s.replace(/^\t*--config-override.*\n/m, "") });
  test.each([
    ["a hook is missing", half((s) => s.replace("konnectivity_manifests\n", "")), /neither switched on nor off/],
    ["functions that do something without the flag", on, /neither switched on nor off/],
    [
      "an anchor is gone",
      half((s) => s.replace("cp kube-apiserver-bootstrap/config", "cp -p kube-apiserver-bootstrap/config")),
      /copy is missing/,
    ],
  ])("%s", (_, text, reason) => {
    expect(state(text)).toBe("unknown");
    expect(() => inject(text, {})).toThrow(reason);
    expect(() => inject(text, {})).toThrow(expect.objectContaining({ code: "DB_IGNITION_ANCHORS" }));
  });

  test.each(["replace", "merge"])("a shim that names the real config (%s)", (how) => {
    const text = ignitionText({
      ignition: { version: "3.2.0", config: { [how]: { source: "https://example.com/b.ign" } } },
    });
    expect(state(text)).toBe("shim");
    expect(() => inject(text, {})).toThrow(expect.objectContaining({ code: "DB_IGNITION_SHIM" }));
  });

  test("the config of another machine", () => {
    const text = ignitionText({ ignition: { version: "3.2.0" }, storage: { files: [] } });
    expect(() => inject(text, {})).toThrow(/no \/usr\/local\/bin\/bootkube.sh among its 0 files/);
  });
});

describe("the release of a bootstrap.ign", () => {
  const { version, ...unnamed } = shapes["4.11"];
  const release = (text: string) => releaseOf(parseIgnition(text));

  test("is told by the installer's own version first", () => {
    expect(release(bootstrapIgnition(shapes["4.12"], { releaseImage: "quay.io/o/r:4.9.1" }))).toEqual({
      name: "4.12",
      from: "the installer's version",
      hasImage: true,
    });
  });

  test.each([
    ["4.10.3-x86_64", "4.10", false],
    ["4.11.0", "4.11", true],
    ["5.0.0-ec.1", "5.0", true],
  ])("else by the release image's tag (%s)", (tag, name, hasImage) => {
    const text = bootstrapIgnition(unnamed, { releaseImage: `registry.example.com:5000/o/r:${tag}` });
    expect(release(text)).toEqual({ name, from: "the release image's tag", hasImage });
  });

  test.each([
    ["4.6", "before 4.8", false],
    ["4.8", "4.8 to 4.11", false],
    ["4.11", "4.8 to 4.11", false],
    ["4.12", "4.12 or later", true],
  ] as const)("else by the scripts of %s", (shape, name, hasImage) => {
    const text = bootstrapIgnition({ ...shapes[shape], version: "unreleased-main-1234" });
    expect(release(text)).toEqual({ name, from: "the scripts in it", hasImage });
  });
});
