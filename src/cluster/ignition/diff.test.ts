import { beforeAll, expect, test } from "vitest";
import { compare, showChanges } from "./diff.js";
import { requireConfig } from "./parse.js";
import { makePayload, type Payload, SECRETS } from "./testing/payload.js";

let payload: Payload;
beforeAll(async () => {
  payload = await makePayload(new Date("2026-01-01T00:00:00Z"));
});

const parsed = (text: string) => requireConfig(text, "x");

test("diff compares texts line by line", () => {
  const changes = compare(parsed(payload.text()), parsed(payload.text({ motd: "hello\nmoon\n" })));
  expect(showChanges(changes)).toBe(
    "~ /etc/motd\n    contents:\n       hello\n      -world\n      +moon\n       \n\n0 added, 0 removed, 1 changed.\n",
  );
});

test("diff compares secrets but never shows them", () => {
  const changes = compare(parsed(payload.text()), parsed(payload.text({ secret: "NEW" })));
  expect(changes.map(({ subject, aspects }) => [subject, aspects.map(({ name, hidden }) => [name, hidden])])).toEqual([
    ["/etc/kubernetes/kubeconfig", [["contents", "kubeconfig"]]],
    ["/var/lib/kubelet/config.json", [["contents", "pull secret"]]],
    ["merged config https://[hidden]@ign.example/ignition?...", [["header Authorization", "header"]]],
    ["unit kubelet.service", [["contents", undefined]]],
    ["user core", [["passwordHash", "secret"]]],
  ]);
  for (const secret of [...SECRETS, "NEW", payload.keyLine]) {
    expect(JSON.stringify(changes)).not.toContain(secret);
    expect(showChanges(changes)).not.toContain(secret);
  }
});

test("diff names what is added, removed, of another kind or set differently", () => {
  const config = (storage: object, version = "3.2.0") => parsed(JSON.stringify({ ignition: { version }, storage }));
  const before = config({ files: [{ path: "/a", mode: 420 }, { path: "/b" }], directories: [{ path: "/c" }] });
  const after = config(
    {
      files: [{ path: "/a", mode: 384, user: { name: "core" } }],
      links: [
        { path: "/c", target: "/a" },
        { path: "/d", target: "/a" },
      ],
    },
    "3.4.0",
  );
  expect(showChanges(compare(before, after))).toBe(
    `~ /a
    mode: 0644 -> 0600
    user: core
- /b
~ /c
    kind: directory -> link
    target: /a
+ /d
    kind: link
    target: /a

1 added, 1 removed, 2 changed.
`,
  );
});

test("diff names the device of a volume, which is known by its name", () => {
  const volume = (device: string) =>
    parsed(JSON.stringify({ ignition: { version: "3.2.0" }, storage: { luks: [{ name: "data", device }] } }));
  expect(showChanges(compare(volume("/dev/a"), volume("/dev/b")))).toContain(
    "~ volume data\n    device: /dev/a -> /dev/b\n",
  );
});

test("diff finds no difference in another spelling of the same config", () => {
  const text = payload.text();
  const other = JSON.stringify(
    { ...JSON.parse(text), ignition: { ...JSON.parse(text).ignition, version: "3.4.0" } },
    undefined,
    2,
  );
  expect(compare(parsed(text), parsed(other))).toEqual([]);
  expect(showChanges([])).toBe("The payloads do the same.\n");
});
