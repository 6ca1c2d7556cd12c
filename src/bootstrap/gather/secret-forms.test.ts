import { expect, test } from "vitest";
import { redactFile } from "./redaction.js";

const SECRET = "s3cr3tvalue0123456789";

test.each([
  `Authorization: Basic ${SECRET}`,
  `> Cookie: session=${SECRET}; other=1`,
  `GET /x?token=${SECRET}&a=1`,
  `git clone https://${SECRET}@example.com/x`,
  `run --password ${SECRET} --verbose`,
  `logged in with sha256~${SECRET}${SECRET}`,
])("nothing of it leaves the host: %s", (line) => {
  const redacted = redactFile("some.log", Buffer.from(`before\n${line}\nafter\n`));
  expect(redacted).toMatchObject({ state: "kept", changed: true });
  const text = redacted.state === "kept" ? redacted.content.toString("utf8") : "";
  expect(text).not.toContain(SECRET);
  expect(text).toMatch(/^before\n[\s\S]*\nafter\n$/);
});

test("a token that machines join by is taken out; a file that holds one is only named", () => {
  const redacted = redactFile(
    "some.log",
    Buffer.from("kubeadm join --token abcdef.0123456789abcdef --token-file /etc/t\n"),
  );
  const text = redacted.state === "kept" ? redacted.content.toString("utf8") : "";
  expect(text).not.toContain("abcdef.0123456789abcdef");
  expect(text).toContain("--token-file /etc/t");
});
