import { expect, test } from "vitest";
import { refusalText } from "./refusals.js";

test("a refusal is a whole answer whose length counts bytes", () => {
  const text = refusalText({ status: 502, text: "nö", proxyStatus: "dns_error" });
  expect(text).toMatch(/^HTTP\/1\.1 502 Bad Gateway\r\n/);
  expect(text).toContain("\r\nContent-Length: 4\r\n");
  expect(text).toContain("\r\nProxy-Status: drawbridge; error=dns_error\r\nConnection: close\r\n\r\nnö\n");
});
