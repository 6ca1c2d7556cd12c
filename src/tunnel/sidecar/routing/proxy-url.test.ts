import { describe, expect, test } from "vitest";
import { parseProxyUrl } from "./proxies.js";

const basic = (login: string): string => `Basic ${Buffer.from(login).toString("base64")}`;

describe("the URL of a proxy", () => {
  test.each([
    ["http://proxy.example:3128", "proxy.example", 3128, false, undefined],
    ["http://proxy.example", "proxy.example", 80, false, undefined],
    ["https://proxy.example", "proxy.example", 443, true, undefined],
    ["https://proxy.example:443/", "proxy.example", 443, true, undefined],
    ["proxy.example:3128", "proxy.example", 3128, false, undefined],
    ["proxy.example", "proxy.example", 80, false, undefined],
    ["10.0.0.1:3128", "10.0.0.1", 3128, false, undefined],
    ["http://[fd00::1]:3128", "fd00::1", 3128, false, undefined],
    ["http://user:pass@proxy.example", "proxy.example", 80, false, basic("user:pass")],
    ["http://us%40er:p%3Aa%2Fs%25s%20%C3%BC@proxy.example", "proxy.example", 80, false, basic("us@er:p:a/s%s ü")],
    ["http://user@proxy.example", "proxy.example", 80, false, basic("user:")],
    ["http://user:100%@proxy.example", "proxy.example", 80, false, basic("user:100%")],
  ])("%s", (text, host, port, secure, authorization) => {
    expect(parseProxyUrl(text, "it")).toEqual({ from: "it", host, port, secure, authorization });
  });

  test("may be missing", () => {
    expect(parseProxyUrl("", "it")).toBeUndefined();
  });

  test.each(["socks5://user:secret@proxy.example:1080", "http://", "http://:secret@", "http://a b", "ftp://secret/x"])(
    "is refused, without being repeated, when it is %s",
    (text) => {
      const read = (): unknown => parseProxyUrl(text, "the proxy");
      expect(read).toThrow(/the proxy is not the URL of an HTTP proxy/);
      expect(read).not.toThrow(/secret/);
    },
  );
});
