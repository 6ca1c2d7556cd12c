import { describe, expect, test } from "vitest";
import { bootkubeScript } from "../../../../test/support/ignition-fixtures/bootkube.js";
import { injectable, shapes } from "../../../../test/support/ignition-fixtures/releases.js";
import {
  type AnchorId,
  type AnchorPlace,
  anchors,
  findAnchors,
  isPatched,
  needed,
  patchBootkube,
  unpatchBootkube,
} from "./bootkube.js";
import { bashError } from "./inject.js";

const ORIGIN = "bootkube.sh=sha256-aa bootstrap.ign=sha256-bb";
const newest = bootkubeScript(shapes["4.18"]);
const patch = (script: string) => patchBootkube(script, needed.absent, ORIGIN);

describe.each(injectable)("the script of %s", (name) => {
  const shape = shapes[name];
  const script = bootkubeScript(shape);
  const patched = patchBootkube(script, needed[shape.integration === "off" ? "upstream-off" : "absent"], ORIGIN);

  test("is valid bash with the bridge in it, and the same again without", () => {
    expect(bashError(script)).toBeUndefined();
    expect(bashError(patched)).toBeUndefined();
    expect(isPatched(script)).toBe(false);
    expect(isPatched(patched)).toBe(true);
    expect(unpatchBootkube(patched)).toMatchObject({ script, origin: ORIGIN });
  });

  test("calls the functions in order, each outside of any stage", () => {
    const lines = patched.split("\n").map((line) => line.trim());
    const at = (line: string) => {
      expect(lines.filter((other) => other === line)).toHaveLength(1);
      return lines.indexOf(line);
    };
    const order = [
      at(". /usr/local/bin/konnectivity.sh"),
      at("konnectivity_setup"),
      at("if [ ! -f kube-apiserver-bootstrap.done ]"),
      at("/usr/bin/cluster-kube-apiserver-operator render \\"),
      at("--config-override-files=/assets/konnectivity-config-override.yaml \\"),
      at("cp kube-apiserver-bootstrap/config /etc/kubernetes/bootstrap-configs/kube-apiserver-config.yaml"),
      at("cp /opt/openshift/egress-selector-config.yaml /etc/kubernetes/bootstrap-configs/egress-selector-config.yaml"),
      at("touch mco-bootstrap.done"),
      at("konnectivity_manifests"),
      at('echo "Starting cluster-bootstrap..."'),
      at("konnectivity_cleanup"),
      at("touch /opt/openshift/.bootkube.done"),
    ];
    expect(order).toEqual([...order].sort((a, b) => a - b));
    for (const call of ["konnectivity_setup", "konnectivity_manifests", "konnectivity_cleanup"]) {
      const before = lines.slice(0, lines.indexOf(call));
      const opened = before.filter((line) => line.startsWith("record_service_stage_start")).length;
      expect(before.filter((line) => line.startsWith("record_service_stage_success"))).toHaveLength(opened);
    }
  });
});

test("the flag is the first argument and keeps the indentation of its neighbours", () => {
  const lines = patch(newest).split("\n");
  const render = lines.findIndex((line) => line.includes("cluster-kube-apiserver-operator render"));
  const indent = /^\s*/.exec(lines[render + 2]!)![0];
  expect(lines[render + 1]).toBe(`${indent}--config-override-files=/assets/konnectivity-config-override.yaml \\`);
});

test("the cleanup goes above the comment that belongs to the last line", () => {
  const lines = patch(newest).split("\n");
  const end = lines.indexOf("# END drawbridge cleanup v1");
  expect(lines[end + 1]).toMatch(/^# .*runc/);
  expect(lines[end + 2]).toBe("touch /opt/openshift/.bootkube.done");
});

const candidates = anchors.flatMap(({ id, candidates }) => candidates.map(({ line }) => [id, line] as const));

test.each(candidates)("a script in which %s occurs twice (%s) is refused with the list of anchors", (id, line) => {
  const older = id === "source" || id === "manifests" ? withoutNewer(id, line) : newest;
  const at = older.split("\n").find((text) => text.trim().startsWith(line))!;
  const search = findAnchors(
    older.replace(at, () => `${at}\n${at}`),
    needed.absent,
  );
  expect(search).toMatchObject({ message: expect.stringContaining(`${id} occurs 2 times`) });
  expect(() => patch(older.replace(at, () => `${at}\n${at}`))).toThrow(line);
});

/** Where an older line stands in for a newer one, the newer ones have to go before it counts. */
function withoutNewer(id: AnchorId, line: string): string {
  const newer = anchors.find((anchor) => anchor.id === id)!.candidates.map((candidate) => candidate.line);
  const gone = newer.slice(0, newer.indexOf(line));
  return newest
    .split("\n")
    .filter((text) => !gone.some((other) => text.trim().startsWith(other)))
    .join("\n");
}

test.each(candidates)("%s is anchored to `%s` when the newer lines are not there", (id, line) => {
  const script = withoutNewer(id, line);
  const places = findAnchors(script, needed.absent) as ReadonlyMap<AnchorId, AnchorPlace>;
  const lines = script.split("\n");
  const at = lines.findIndex((text) => text.trim().startsWith(line));
  const place = places.get(id)?.line;
  const after = anchors.find((anchor) => anchor.id === id)!.place === "after";
  expect(place).toBe(after ? at + 1 : id === "cleanup" ? at - 1 : at);
});

test.each(anchors.map(({ id }) => id))("a script without %s is refused with the list of anchors", (id) => {
  const gone = anchors.find((anchor) => anchor.id === id)!.candidates.map(({ line }) => line);
  const script = newest.split("\n").filter((text) => !gone.some((line) => text.trim().startsWith(line)));
  expect(() => patch(script.join("\n"))).toThrow(
    new RegExp(`${id} is missing.*\`touch /opt/openshift/.bootkube.done\` \\dx`),
  );
});

test.each([
  [
    "in the middle of another command",
    (s: string) =>
      s.replace("\nif [ ! -f kube-apiserver-bootstrap.done ]", "\ntrue \\\nif [ ! -f kube-apiserver-bootstrap.done ]"),
    /setup is inside a longer command/,
  ],
  [
    "in another order",
    (s: string) =>
      `${s}\n`
        .replace(/^(REQUIRED_PODS="openshift.*)\n/m, "")
        .replace("set -euoE pipefail\n", 'set -euoE pipefail\nREQUIRED_PODS="openshift"\n'),
    /manifests is out of order/,
  ],
  ["with carriage returns", (s: string) => s.replaceAll("\n", "\r\n"), /source is missing/],
])("a script with an anchor %s is refused", (_, change, reason) => {
  expect(() => patch(change(newest))).toThrow(reason);
});

test.each([
  ["an end is missing", (s: string) => s.replace("# END drawbridge setup v1\n", "")],
  ["a begin is missing", (s: string) => s.replace("# BEGIN drawbridge manifests v1\n", "")],
  ["the last end is missing", (s: string) => s.replace("# END drawbridge cleanup v1\n", "")],
])("when %s nothing is taken out", (_, damage) => {
  expect(() => unpatchBootkube(damage(patch(newest)))).toThrow(/marks around drawbridge's "\w+" lines .* damaged/);
});
