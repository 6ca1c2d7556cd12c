/** Secrets of every known form, through the commands as people run them: none of them is in the archive. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { findSecret, planted, spellings } from "../base/redact/testing/planted.js";
import { tarEntries } from "../base/tar.js";
import bootstrapGather from "./bootstrap/gather.js";
import supportCommand from "./insight/support.js";

let folder = "";
let printed = "";
beforeEach(() => {
  printed = "";
  folder = mkdtempSync(join(tmpdir(), "drawbridge-planted-"));
  for (const stream of [process.stdout, process.stderr])
    vi.spyOn(stream, "write").mockImplementation((text) => {
      printed += text;
      return true;
    });
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
});

async function filesOf(archive: Buffer): Promise<Map<string, Buffer>> {
  const found = new Map<string, Buffer>();
  const whole = async function* () {
    yield archive;
  };
  for await (const { path, content } of tarEntries(whole())) {
    const pieces: Buffer[] = [];
    for await (const piece of content()) pieces.push(piece);
    found.set(path.split("/").slice(1).join("/"), Buffer.concat(pieces));
  }
  return found;
}

/** Names of the forms whose secret is somewhere in these bytes. */
function outside(bytes: Buffer, all: ReturnType<typeof planted>): string[] {
  const text = bytes.toString("latin1");
  const isOut = (secret: string) => spellings(secret).some((spelling) => text.includes(spelling));
  return all.filter(({ secrets }) => secrets.some(isOut)).map(({ name }) => name);
}

test("drawbridge support", async () => {
  const all = planted();
  const flags = all.map(({ content, file }, index) => {
    const path = join(folder, `${index}-${file}`);
    writeFileSync(path, content);
    return `${file.endsWith(".log") ? "--log-file" : "--config-file"}=${path}`;
  });
  const out = join(folder, "support.tar.gz");
  expect(await supportCommand.run("drawbridge support", [`--out=${out}`, ...flags]), printed).toBe(0);
  const archive = gunzipSync(readFileSync(out));
  expect(outside(archive, all)).toEqual([]);
  expect(outside(Buffer.from(printed), all)).toEqual([]);
  const files = await filesOf(archive);
  for (const [index, { name, file, secrets }] of all.entries()) {
    const content = files.get(`${file.endsWith(".log") ? "logs" : "config"}/${index}-${file}`);
    expect(content, `${name}: what is around the secret is in the archive`).toBeDefined();
    for (const secret of secrets) expect(findSecret(content!, secret), name).toBeUndefined();
  }
}, 120_000);

test("drawbridge bootstrap gather", async () => {
  // What a log holds, one after the other; a key without an end comes last, as it does where a log was cut.
  const all = planted().filter(
    ({ content, name }) => !content.includes(0) && content[0] !== 0x1f && !/latin/.test(name),
  );
  const isCut = ({ name }: { name: string }) => /cut|without its first/.test(name);
  const log = join(folder, "given.log");
  const ordered = [...all.filter((form) => !isCut(form)), ...all.filter(isCut)];
  const texts = ordered.map(({ content }) => `I1116 15:46:07.000000 1] next one\n${content}\n`);
  writeFileSync(log, `I1116 the first line\n${texts.join("")}I1116 the last line\n`);
  const pki = join(folder, "pki");
  mkdirSync(pki);
  const json = all.find(({ name }) => name === "JSON in JSON")!;
  writeFileSync(join(pki, "pki.json"), json.content);
  const out = join(folder, "gather.tar.gz");
  const argv = [`--out=${out}`, `--log=konnectivity-server=${log}`, `--pki=${pki}`, "--kubeconfig="];
  expect(await bootstrapGather.run("drawbridge bootstrap gather", argv), printed).toBe(0);
  const archive = gunzipSync(readFileSync(out));
  expect(outside(archive, ordered)).toEqual([]);
  expect(outside(Buffer.from(printed), ordered)).toEqual([]);
  const gathered = (await filesOf(archive)).get("bootstrap/containers/konnectivity-server-given.log")!.toString();
  expect(gathered).toMatch(/^I1116 the first line\n/);
  expect(gathered).toMatch(/\nI1116 the last line\n$/);
}, 120_000);
