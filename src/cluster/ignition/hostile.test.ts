/** Configs made to keep a reader busy or to break it: each is judged in a moment, whatever the judgement. */
import { expect, test } from "vitest";
import { DrawbridgeError } from "../../base/errors/error.js";
import { requireConfig } from "./parse.js";
import { preview, showPreview } from "./preview/preview.js";

const many = <T>(count: number, entry: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => entry(at));
const config = (body: object) => JSON.stringify({ ignition: { version: "3.2.0" }, ...body });
const files = (list: object[]) => config({ storage: { files: list } });
const content = (source: string) => files([{ path: "/a", contents: { source } }]);
const unit = (contents: string, name = "a.service") =>
  config({ systemd: { units: [{ name, contents, enabled: true }] } });
const base64 = (text: string) => `data:;base64,${Buffer.from(text).toString("base64")}`;

const hostile: readonly (readonly [about: string, text: () => string])[] = [
  ["megabytes of base64", () => content(`data:;base64,${"QUJD".repeat(3_000_000)}`)],
  ["megabytes of percent escapes", () => content(`data:,${"%41".repeat(1_000_000)}`)],
  ["a host name without end", () => content(`http://${"a".repeat(3_000_000)}`)],
  ["a scheme without end", () => content("a".repeat(3_000_000))],
  ["a version without end", () => `{"ignition":{"version":"${"0".repeat(10_000_000)}3.2.0"}}`],
  ["a path without end", () => files([{ path: "/a".repeat(500_000) }])],
  [
    "many links above many deep paths",
    () => {
      const links = many(4_000, (index) => ({ path: `/l${index}`, target: "/t" }));
      return config({ storage: { links, files: many(4_000, (index) => ({ path: `/f${index}${"/a".repeat(20)}` })) } });
    },
  ],
  ["an error on every place of one line", () => files(many(30_000, () => ({ path: "x" })))],
  [
    "a member that stands a hundred thousand times",
    () => `{"ignition":{"version":"3.2.0"}${',"x":1'.repeat(100_000)}}`,
  ],
  [
    "more partitions than a disk has",
    () =>
      config({
        storage: {
          disks: [
            {
              device: "/dev/a",
              partitions: many(30_000, (index) => ({ number: index + 1, startMiB: index + 1, sizeMiB: 1 })),
            },
          ],
        },
      }),
  ],
  ["a unit of half a million lines", () => unit(`[Unit]\n${"A=b\n".repeat(500_000)}`)],
  ["a unit of carriage returns", () => unit("\r".repeat(3_000_000))],
  ["a unit name of at signs", () => unit("", `${"@".repeat(3_000_000)}.service`)],
  ["a key that begins and never ends", () => content(base64(`-----BEGIN ${"A ".repeat(500_000)}`))],
  [
    "a certificate that begins and never ends",
    () => content(base64(`-----BEGIN CERTIFICATE-----\n${"QUJD\n".repeat(200_000)}`)),
  ],
  ["a text of line breaks", () => content(base64("\n".repeat(5_000_000)))],
  ["brackets only", () => "[".repeat(1_000_000)],
  ["spaces only", () => " ".repeat(5_000_000)],
];

test.each(hostile)("%s", (_, text) => {
  const started = process.cpuUsage();
  try {
    showPreview(preview(requireConfig(text(), "x.ign")), new Date());
  } catch (error) {
    expect(error).toBeInstanceOf(DrawbridgeError);
    const { message } = error as DrawbridgeError;
    expect(message).not.toContain("\n");
    expect(message.length).toBeLessThan(300);
  }
  // Of our own time: what else the machine does is not the config's fault.
  const { system, user } = process.cpuUsage(started);
  expect((system + user) / 1000).toBeLessThan(10_000);
});
