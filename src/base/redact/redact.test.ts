/** Nothing of a planted secret gets out, in any spelling, of whatever form; and what explains a bridge stays readable. */
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { parse as parseYaml } from "yaml";
import { redactFile } from "./file.js";
import { findSecret, planted } from "./testing/planted.js";

describe("a planted secret does not get out", () => {
  const all = planted();

  test("the corpus has at least a hundred forms, each with a secret of its own that can be found in it", () => {
    expect(all.length).toBeGreaterThanOrEqual(100);
    expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
    const unfound = all.filter(({ content, secrets }) => !secrets.some((secret) => findSecret(content, secret)));
    expect(unfound.map(({ name }) => name)).toEqual([]);
  });

  test.each(all.map((form) => [form.name, form] as const))("%s", (_, { file, content, secrets }) => {
    const redacted = redactFile(`config/${file}`, content);
    expect(redacted.state, "kept, so that the rest can be read").toBe("kept");
    if (redacted.state !== "kept") return;
    for (const secret of secrets)
      expect(findSecret(redacted.content, secret), redacted.content.toString()).toBeUndefined();
  });
});

describe("what was JSON or YAML before is so afterwards", () => {
  const reads = (read: (text: string) => unknown, text: string): boolean => {
    try {
      return read(text) !== undefined;
    } catch {
      return false;
    }
  };
  const structured = [
    ...planted().filter(({ content }) => !content.includes(0)),
    ...['{"cookie":7,"authorization":null,"sessions":3}', '{"otp":123456,"next":1}', '{"password":null,"a":[1]}'].map(
      (text) => ({ name: text, file: "x.json", content: Buffer.from(text) }),
    ),
  ].flatMap(({ name, file, content }) => {
    const text = content.toString();
    const read = reads(JSON.parse, text) ? JSON.parse : /\.ya?ml$/.test(file) ? parseYaml : undefined;
    return read === undefined ? [] : [[name, file, content, read] as const];
  });

  test.each(structured)("%s", (_, file, content, read) => {
    const redacted = redactFile(file, content);
    const text = redacted.state === "kept" ? redacted.content.toString() : "";
    expect(reads(read, text), text).toBe(true);
  });
});

describe("whatever a stranger wrote is searched in a time that grows with its length only", () => {
  const pieces = [
    ..."-,?token,a-,token, token,token=,token=a ,authorization:,https://x,--token ,eyJ,eyJ.,A,aA1,%41,%,{,[,\\,:,@".split(
      ",",
    ),
    ...["cookie: ", '"', '\\"', '{"a":', 'token "', "<password>", "x,password=", "x;sig=", "password: |", "login -p"],
    ...["-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "-----BEGIN CERTIFICATE-----", "a:b@", "://a:b@"],
    ...[
      "PuTTY-User-Key-File-3:",
      "kind: Secret",
      '{"kind":"Secret"',
      "name value",
      "password is ",
      "$6$",
      "0a",
      "Zm9v",
    ],
  ];

  test.each(pieces)("half a megabyte of %j, in one line and in many", (piece) => {
    const count = Math.floor(256_000 / piece.length);
    // The processor's time: what others do on the machine must not decide.
    const began = process.cpuUsage();
    redactFile("a.log", Buffer.from(`${piece.repeat(count)}\n`));
    redactFile("a.log", Buffer.from(`${piece}\n`.repeat(count)));
    const { user, system } = process.cpuUsage(began);
    expect((user + system) / 1000).toBeLessThan(5_000);
  });

  test("what was packed to fill the memory is not unpacked, and what lies too deep is taken out", () => {
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, "a "));
    expect(redactFile("a.log.gz", bomb)).toEqual({ state: "left-out", why: "it cannot be unpacked" });
    const inText = redactFile("a.log", Buffer.from(`x ${bomb.toString("base64")} y\n`));
    expect(inText.state === "kept" && inText.content.length).toBeLessThanOrEqual(bomb.length * 2);
    let deep = `password=${"quiet.lantern"}\n`;
    for (let layer = 0; layer < 12; layer++) deep = Buffer.from(deep).toString("base64");
    const redacted = redactFile("a.log", Buffer.from(`x ${deep} y\n`));
    expect(redacted.state === "kept" && redacted.content.toString()).not.toContain(deep);
  });
});
