/** What is meant for everybody stays byte for byte, whatever its base64 happens to look like. */
import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { certificatesFor } from "../../tunnel/pki/write-pki.js";
import { redactFile } from "./file.js";
import { redact } from "./redact.js";

/** A sequence in a sequence, as every certificate, request and list is; the rest is drawn. */
function drawnDer(length: number): Buffer {
  const sequence = (content: Buffer) =>
    Buffer.concat([Buffer.from([0x30, 0x82, content.length >> 8, content.length & 0xff]), content]);
  return sequence(sequence(randomBytes(length)));
}

function armoured(der: Buffer, label = "CERTIFICATE", width = 64): string {
  const lines = der.toString("base64").match(new RegExp(`.{1,${width}}`, "g")) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}

/** Lines that some rule takes for a secret: each is put into a certificate at the start of a line and elsewhere. */
const unlucky = [
  "EAACAgICAgICAgICAgIC",
  "dapiAbCdEfGhIjKlMnOp",
  "AKIAABCDEFGHIJKLMNOP",
  "AIzaAbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGhIj",
];
const unluckyEnds = ["/otp==", "+pw==", "/Psk=", "Token==", "/sas=="];

function withText(length: number, text: string, at: number): Buffer {
  const body = drawnDer(length).toString("base64").replace(/=+$/, "");
  return Buffer.from(body.slice(0, at) + text + body.slice(at + text.length), "base64");
}

function forms(pem: string): string[] {
  return [
    pem,
    pem.replaceAll("\n", "\r\n"),
    `ca: |\n${pem.replace(/^(?=.)/gm, "  ")}other: x\n`,
    `${JSON.stringify({ caBundle: pem }, null, 2)}\n`,
    `line {"inner":${JSON.stringify(JSON.stringify({ pem }))}} and more\n`,
    pem.replace(/^(?=.)/gm, "2026-11-16T00:00:00.000000000Z stderr F "),
    `certificate-authority-data: ${Buffer.from(pem).toString("base64")}\n`,
    Buffer.from(pem).toString("base64").replace(/.{76}/g, "$&\n"),
  ];
}

function expectKept(text: string): void {
  const result = redactFile("tls/some.crt", Buffer.from(text));
  expect(result.state === "kept" ? result.content.toString() : result.why).toBe(text);
}

describe("certificates stay byte for byte", () => {
  test("thousands that were drawn, of any length", () => {
    for (let count = 0; count < 3000; count++) expectKept(armoured(drawnDer(300 + (count % 700))));
  });

  test("in JSON, YAML, logs with prefixes and base64", () => {
    for (let count = 0; count < 150; count++)
      for (const text of forms(armoured(drawnDer(300 + count)))) expectKept(text);
  });

  test.each(unlucky)("with %s in them", (text) => {
    for (const at of [64, 128, 129, 200]) {
      for (const form of forms(armoured(withText(500, at % 64 === 0 ? text : `/${text}`, at)))) expectKept(form);
    }
  });

  test.each(unluckyEnds)("with %s at their end", (end) => {
    for (const drawn of [0, 1, 2, 3].map((more) =>
      drawnDer(500 + more)
        .toString("base64")
        .replace(/=+$/, ""),
    )) {
      const bare = end.replace(/=+$/, "");
      const padding = end.length - bare.length;
      const whole = drawn.slice(0, drawn.length - (drawn.length % 4) + (4 - padding));
      const der = Buffer.from(whole.slice(0, whole.length - bare.length) + bare, "base64");
      // Its length has to be what its first bytes say.
      der.writeUInt16BE(der.length - 4, 2);
      for (const form of forms(armoured(der))) expectKept(form);
    }
  });

  test("real ones of this program, alone, in a row and without armour", async () => {
    for (let count = 0; count < 10; count++) {
      const { leaves, signers } = await certificatesFor("bootstrap", { ipAddresses: ["192.0.2.1"] });
      const pems = [...leaves.values(), ...signers.values()].map(({ certificatePem }) => certificatePem);
      for (const pem of pems) for (const form of forms(pem)) expectKept(form);
      expectKept(pems.join(""));
      const der = pems[0]!.replace(/-----[^-]*-----|\n/g, "");
      expect(redact(`the peer showed ${der} and left`)).toBe(`the peer showed ${der} and left`);
    }
  });
});

describe("what stands beside or within goes all the same", () => {
  const pem = armoured(drawnDer(500));

  test("a password in the midst of a certificate's marks", () => {
    expect(redact("-----BEGIN CERTIFICATE-----\npassword: hunter2hunter2\n-----END CERTIFICATE-----\n")).not.toContain(
      "hunter2",
    );
    const [first, ...rest] = pem.split("\n");
    expect(redact([first, "password=hunter2hunter2", ...rest].join("\n"))).not.toContain("hunter2");
  });

  test("a password before and after, its lines", () => {
    const clean = redact(`password=hunter2\n${pem}token: abcdefghijkLMNOP0123\n`);
    expect(clean).not.toMatch(/hunter2|LMNOP/);
    expect(clean).toContain(pem);
  });

  test("all that a secret's name is for", () => {
    const body = pem.split("\n")[2]!;
    expect(redact(`password: |\n${pem.replace(/^(?=.)/gm, "  ")}other: x\n`)).not.toContain(body);
    expect(redact(JSON.stringify({ kind: "Secret", data: { "tls.crt": pem } }))).not.toContain(body);
  });

  test("a private key between two certificates", () => {
    const key = `-----BEGIN EC PRIVATE KEY-----\n${randomBytes(120).toString("base64")}\n-----END EC PRIVATE KEY-----\n`;
    const clean = redact(pem + key + pem);
    expect(clean).not.toContain(key.split("\n")[1]);
    expect(clean.startsWith(pem) && clean.endsWith(pem)).toBe(true);
  });

  test("a private key without armour, as what it looks like", () => {
    const key = Buffer.concat([Buffer.from([0x30, 0x82, 1, 0xf4, 2, 1, 0]), randomBytes(497)]).toString("base64");
    expect(redact(`it was ${key} there`)).not.toContain(key.slice(40, 80));
  });

  test("text that looks like a stand-in is text", () => {
    const odd = `\ue0000\ue001 ${pem}\ue0001\ue001 \ue000`;
    expect(redact(odd)).toBe(odd);
  });
});
