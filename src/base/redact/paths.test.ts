/** Paths of files stay, whatever the folders are called; secrets that are part of one, or look like one, do not. */
import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { redact, redactField } from "./redact.js";

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/** As mkdtemp(3) draws it. */
const drawn = (length: number) => [...randomBytes(length)].map((byte) => LETTERS[byte % LETTERS.length]).join("");

function* folders(): Iterable<string> {
  for (let count = 0; count < 3000; count++) {
    yield `/tmp/db-${drawn(6)}`;
    yield `/var/folders/${drawn(2)}/${drawn(10)}/T/drawbridge-test-${drawn(6)}`;
    yield `/somewhere/${drawn(8)}/${drawn(8)}/${drawn(4)}`;
  }
}

test("a file in a folder of any name", () => {
  for (const folder of folders()) {
    for (const name of ["server.key", "server.crt", "ca-bundle.pem", "agent.kubeconfig"]) {
      const path = `${folder}/${name}`;
      expect(redact(path)).toBe(path);
      expect(redactField("files", path)).toBe(path);
      expect(redactField("token", path)).toBe(path);
      const said = `the key in ${path} does not belong to the certificate in "${path}", --cluster-ca-cert=${path}.`;
      expect(redact(said)).toBe(said);
    }
  }
});

test("a folder, below a folder that every machine has", () => {
  for (let count = 0; count < 3000; count++) {
    const path = `/tmp/db-${drawn(6)}/${drawn(6)}/server`;
    for (const text of [path, `${path}/`, `cannot read ${path}: no such folder`, `file://${path}`])
      expect(redact(text)).toBe(text);
  }
});

test("a name in a path that is a secret by itself goes", () => {
  const secret = "Zk9qT2xLw8RbN4vYc7HsXe3J";
  for (const path of [`/tmp/${secret}/server.key`, `/tmp/${secret}.key`, `/etc/${secret}`, `/x/${secret}.crt`])
    expect(redact(`cannot read ${path}`)).not.toContain(secret);
  expect(redactField("token", `/tmp/${secret}.key`)).not.toContain(secret);
  const encoded = Buffer.from("password=hunter2").toString("base64url");
  expect(redact(`cannot read /tmp/${encoded}.key`)).not.toContain(encoded);
});

test("base64 with slashes is no path", () => {
  const secrets = [
    "/q9Tz4LwX2/Rb8N4vYc7Hs/Xe3JkP0mQ1u+Zd6Gf5=",
    "/Kx3/9sVbT2/pL7wQz/4NcR8yHj/D6mFg1",
    "q9Tz4L/X2Rb8N4/Yc7HsXe3",
  ];
  for (const secret of secrets) {
    for (const text of [secret, `got ${secret} from x`, `/tmp${secret}+x9=`, `x${secret}.key`])
      expect(redact(text)).not.toContain(secret);
  }
});
