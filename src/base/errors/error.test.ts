import { describe, expect, test } from "vitest";
import { DrawbridgeError, messageOf } from "./error.js";

describe("DrawbridgeError", () => {
  test("carries its code, sentence, cause and remedy", () => {
    const cause = new Error("EADDRINUSE");
    const error = new DrawbridgeError("DB_LISTEN_IN_USE", "127.0.0.1:8090 is taken.", { cause });
    expect(error).toMatchObject({ name: "DrawbridgeError", code: "DB_LISTEN_IN_USE", cause });
    expect(error.message).toBe("127.0.0.1:8090 is taken.");
    expect(error.remedy).toContain("another port");
  });
});

describe("messageOf", () => {
  test.each([
    [new Error("plain"), "plain"],
    ["a string", "a string"],
    [undefined, "undefined"],
    [
      Object.assign(new Error("EROFS: read-only file system, open '/a/.b.0c.tmp'"), { code: "EROFS" }),
      "EROFS: read-only file system",
    ],
    [
      Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" }),
      "ENOSPC: no space left on device",
    ],
    [
      Object.assign(new Error("EACCES: permission denied, open '/a'"), { code: "EACCES" }),
      "EACCES: permission denied, open '/a'",
    ],
  ])("%s gives one sentence and no stack", (reason, text) => {
    expect(messageOf(reason)).toBe(text);
  });
});
