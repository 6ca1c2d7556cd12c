import { execFileSync } from "node:child_process";
import { readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { tarEntries } from "../../../base/tar.js";
import { analyze } from "../analyze.js";
import { TestBundle } from "../testing/bundle.js";
import { linesOf, openBundle } from "./open-bundle.js";

let bundle: TestBundle;
beforeEach(() => {
  bundle = new TestBundle();
});
afterEach(() => bundle.remove());

async function contents(path: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for await (const entry of openBundle(path)) {
    const pieces: Buffer[] = [];
    for await (const piece of entry.content()) pieces.push(piece);
    found[entry.path] = Buffer.concat(pieces).toString();
  }
  return found;
}

/** One ustar header and its content. */
function member(name: string, content: Buffer | string, type = "0", size = Buffer.byteLength(content)): Buffer {
  const header = Buffer.alloc(512);
  header.write(name, 0, 100);
  header.write("0000644\0", 100);
  header.write(`${size.toString(8).padStart(11, "0")}\0`, 124);
  header.write("00000000000\0", 136);
  header.write(type, 156);
  header.write("ustar\x0000", 257);
  header.write("        ", 148);
  header.write(
    `${header
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, "0")}\0 `,
    148,
  );
  const body = Buffer.from(content);
  return Buffer.concat([header, body, Buffer.alloc((512 - (body.length % 512)) % 512)]);
}

const end = Buffer.alloc(1024);

describe("a bundle", () => {
  test("reads the same from a folder and from the archive that the system's tar makes of it", async () => {
    const long = `bootstrap/${"a-rather-long-folder-name/".repeat(8)}file-${"x".repeat(90)}.log`;
    bundle.put("gather.log", "hello\n").put(long, "far down").put("resources/big.json", "x".repeat(300_000));
    const packed = await contents(bundle.pack());
    expect(Object.keys(packed).sort()).toEqual(["gather.log", long, "resources/big.json"].sort());
    expect(packed).toEqual(await contents(bundle.folder));
  });

  test.each(["--format=pax", "--format=gnu", "--format=v7"])(
    "is read from tar %s, with and without compression",
    async (format) => {
      bundle.put("gather.log", "hello\n").put(`bootstrap/${"n".repeat(60)}.log`, "x");
      const file = bundle.file("plain.tar", "");
      execFileSync("tar", ["-C", bundle.folder, format, "-cf", file, "."]);
      expect(await contents(file)).toEqual(await contents(bundle.folder));
    },
  );

  test("can be listed without reading contents", async () => {
    bundle.put("gather.log", "x".repeat(5000)).put("failed-units.txt", "");
    const names: string[] = [];
    for await (const { path } of openBundle(bundle.pack())) names.push(path);
    expect(names.sort()).toEqual(["failed-units.txt", "gather.log"]);
  });

  test("that is unpacked is read without following links out of it", async () => {
    bundle.put("gather.log", "hello");
    symlinkSync("/etc", join(bundle.folder, "bootstrap"));
    expect(Object.keys(await contents(bundle.folder))).toEqual(["gather.log"]);
  });
});

describe("a bundle is refused in one sentence for", () => {
  const refused = async (content: Buffer | string, sentence: RegExp) => {
    const complaint = await analyze(bundle.file("hostile", content)).catch((reason: Error) => reason);
    expect(complaint).toMatchObject({ code: "DB_BUNDLE" });
    expect((complaint as Error).message).toMatch(sentence);
    expect((complaint as Error).message).not.toMatch(/\n/);
  };

  test("a path that leads out, an absolute one, one with control characters", async () => {
    for (const name of ["../../etc/passwd", "a/../../b", "/etc/shadow", "a\\..\\b", "a\u001b[31m"]) {
      await refused(gzipSync(Buffer.concat([member(name, "x"), end])), /holds the path .*, which no gather writes/);
    }
  });

  test("a path that leads out in a long name or a pax record", async () => {
    await refused(Buffer.concat([member("././@LongLink", "../out\0", "L"), member("x", "x"), end]), /holds the path/);
    await refused(Buffer.concat([member("pax", "15 path=../out\n", "x"), member("x", "x"), end]), /holds the path/);
  });

  test("an archive that is cut off before the end of its first file", async () => {
    await refused(member("bootstrap/x", "abc").subarray(0, 600), /it ends in the middle/);
    await refused(gzipSync(member("bootstrap/x", "abc")).subarray(0, 40), /it ends in the middle/);
  });

  test.each<[string, string | Buffer, RegExp]>([
    ["a login page saved as tar.gz", "<!DOCTYPE html>\n<html><title>Sign in</title>", /web page .*download it again/],
    ["the same, compressed by the web server", gzipSync("<html><body>404"), /web page/],
    ["an object store's refusal", '<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>', /XML answer/],
    ["an API's refusal", '{"message":"Bad credentials"}', /JSON and not an archive/],
    ["a zip archive", Buffer.concat([Buffer.from("PK\x03\x04"), Buffer.alloc(600, 7)]), /zip archive: unpack it/],
    ["an xz archive", Buffer.from("fd377a585a0000", "hex"), /packed with xz: unpack it/],
    ["a zstd archive", Buffer.from("28b52ffd0000", "hex"), /packed with zstd/],
    ["gzip with nothing in it", gzipSync(""), /it is empty/],
  ])("%s", (_, content, sentence) => refused(content, sentence));

  test("an archive that would unpack without end", async () => {
    const claim = member("bootstrap/x", "", "0", 0o77777777777);
    await refused(claim, /unpacks to more than \d+ MiB/);
  });

  test("more members or more bytes than the limits", async () => {
    async function* many(): AsyncGenerator<Buffer> {
      for (;;) yield member("bootstrap/x", "x");
    }
    const drain = async (limits: { bytes: number; members: number }) => {
      for await (const _ of tarEntries(many(), limits));
    };
    await expect(drain({ bytes: 1e9, members: 50 })).rejects.toThrow(/more than 50 members/);
    await expect(drain({ bytes: 1e6, members: 1e9 })).rejects.toThrow(/unpacks to more than 1 MiB/);
  });

  test("a huge extension header", async () => {
    await refused(member("pax", "", "x", 1024 * 1024), /absurdly long name/);
  });

  test("text, random bytes, an empty file, another archive, a missing file", async () => {
    await refused("just text", /it is not a tar archive/);
    await refused("just text ".repeat(200), /not a tar archive/);
    await refused(gzipSync("just text ".repeat(200)), /not a tar archive/);
    await refused(Buffer.concat([Buffer.from([0x1f, 0x8b, 8, 0]), Buffer.alloc(600, 7)]), /damaged|middle/);
    await refused("", /it is empty/);
    await refused(Buffer.concat([member("holiday/photo.jpg", "x"), end]), /nothing that a gather writes/);
    await expect(analyze("/nowhere/at/all")).rejects.toThrow(/it does not exist/);
  });
});

describe("a bundle that is cut off", () => {
  const failing = `E1116 00:17:49.031487   1 clientset.go:238] "cannot connect once" err="dial tcp 192.0.2.1:8091: i/o timeout"\n`;
  /** Members in this order, the last one cut in its middle. */
  const cut = (...members: [string, string][]): Buffer => {
    const whole = Buffer.concat(members.map(([path, content]) => member(`log-bundle-1/${path}`, content)));
    return whole.subarray(0, whole.length - 512);
  };
  const analyzed = async (content: Buffer) => {
    const { findings, observations } = await analyze(bundle.file("cut.tar.gz", content));
    return { ids: findings.map(({ check }) => check), findings, observations };
  };
  const long = "x".repeat(700);

  test("is judged as far as it goes, and says how far and what to do", async () => {
    const archive = cut(["control-plane/n1/containers/konnectivity-agent-1.log", failing], ["gather.log", long]);
    for (const content of [archive, gzipSync(archive), gzipSync(archive).subarray(0, -9)]) {
      const { ids, findings } = await analyzed(content);
      expect(ids).toEqual(["bundle-incomplete", "port-blocked"]);
      expect(findings[0]!.message).toBe(
        "the bundle is not whole: it ends in the middle, after 1 file (1 KiB); only what came before was judged",
      );
      expect(findings[0]!.remedy).toMatch(/Copy it again .*or gather again/);
    }
  });

  test("says nothing of what may stand in the part that is missing", async () => {
    const { ids, observations } = await analyzed(cut(["failed-units.txt", "x"], ["gather.log", long]));
    // Not that the host could not be reached, nor that there are no agents' logs.
    expect(ids).toEqual(["bundle-incomplete"]);
    expect(observations.join()).toBe("No agent's log is in the part of the bundle that could be read.");
  });

  test("passes over the log that the cut goes through: it may have said that all is well", async () => {
    const log = `${failing}${long}`;
    const { ids } = await analyzed(
      cut(["gather.log", "x"], ["control-plane/n1/containers/konnectivity-agent-1.log", log]),
    );
    expect(ids).toEqual(["bundle-incomplete"]);
  });

  test("is found wherever it is cut, by no other words than one sentence", async () => {
    for (let index = 0; index < 40; index++) {
      const noise = Array.from({ length: 3000 }, (_, at) => String.fromCharCode(33 + ((at * 7919 + index * 31) % 90)));
      bundle.put(`bootstrap/services/file-${index}.txt`, noise.join(""));
    }
    const whole = readFileSync(bundle.pack());
    for (const share of [0.3, 0.5, 0.9]) {
      const { findings } = await analyzed(whole.subarray(0, Math.floor(whole.length * share)));
      expect(findings.map(({ message }) => message).join()).toMatch(/^[^\n]*it ends in the middle, after \d+ files/);
    }
  });

  test("and one that is damaged in its middle are told apart", async () => {
    const archive = cut(["gather.log", "x"], ["failed-units.txt", long]);
    const damaged = Buffer.concat([archive.subarray(0, 1024), Buffer.alloc(1024, 7), end]);
    expect((await analyzed(damaged)).findings[0]?.message).toMatch(/not a tar archive, or a damaged one, after 1 file/);
  });
});

describe("a bundle in a bundle", () => {
  test.each(["log-bundle-20261116.tar.gz", "case/04/log-bundle-20261116.tar", "drawbridge-gather-1.tgz"])(
    "is read where it stands: %s",
    async (name) => {
      bundle.put("gather.log", "hello").put("bootstrap/services/bootkube.json", "[]");
      const inner = name.endsWith(".tar") ? execFileSync("gunzip", ["-c", bundle.pack()]) : readFileSync(bundle.pack());
      const outer = Buffer.concat([member("readme.txt", "x"), member(name, inner), end]);
      for (const content of [outer, gzipSync(outer), gzipSync(gzipSync(outer))]) {
        const found = await contents(bundle.file("outer.tar", content));
        expect(found["bootstrap/services/bootkube.json"]).toBe("[]");
      }
    },
  );

  test("and the folder of a host that has become a node are read as the bundle's own", async () => {
    const path = "log-bundle-1/log-bundle-bootstrap/bootstrap/services/bootkube.json";
    const found = await contents(bundle.file("x.tar", Buffer.concat([member(path, "[]"), end])));
    expect(Object.keys(found)).toEqual(["bootstrap/services/bootkube.json"]);
  });
});

describe("lines", () => {
  async function lines(...pieces: string[]): Promise<[number, string][]> {
    async function* stream() {
      for (const piece of pieces) yield Buffer.from(piece);
    }
    const found: [number, string][] = [];
    for await (const { number, text } of linesOf(stream())) found.push([number, text]);
    return found;
  }

  test("are numbered from one, however the chunks fall", async () => {
    expect(await lines("a\nb", "c\r\n", "\nd")).toEqual([
      [1, "a"],
      [2, "bc"],
      [3, ""],
      [4, "d"],
    ]);
  });

  test("are cut at the longest length", async () => {
    const [first, second] = await lines(...Array(50).fill("x".repeat(1000)), "\nnext\n");
    expect(first?.[1].length).toBeLessThanOrEqual(16 * 1024);
    expect(second).toEqual([2, "next"]);
  });
});
