import { describe, expect, test } from "vitest";
import { requireConfig } from "../../ignition/parse.js";
import { pointerConfig, workerUserData } from "./user-data.js";

const pool = (ignitionEndpoint = "ignition.example:22624") =>
  pointerConfig({
    pool: { namespace: "c", name: "p" },
    hash: "0123abcd",
    token: "11111111-1111-4111-8111-111111111111",
    ignitionEndpoint,
    ignitionCaPem: "-----BEGIN CERTIFICATE-----\n",
  });
const plain = { name: "w-0", setHostname: false, ignitionAddress: "" };
const sourceOf = (text: string) => JSON.parse(text).ignition.config.merge[0].source as string;

describe("a worker's user data", () => {
  test("is the pool's when nothing is asked of it", () => {
    expect(workerUserData(pool(), plain)).toBe(pool());
  });

  test("names the machine, in a config that Ignition takes", () => {
    const text = workerUserData(pool(), { ...plain, setHostname: true });
    expect(requireConfig(text, "it").storage?.files).toMatchObject([
      { path: "/etc/hostname", mode: 420, contents: { source: "data:,w-0%0A" } },
    ]);
    expect(JSON.parse(text).ignition).toEqual(JSON.parse(pool()).ignition);
  });

  test("keeps the files that the pool's user data has, but for another name", () => {
    const file = (path: string, text: string) => ({ path, contents: { source: `data:,${text}` } });
    const storage = { files: [file("/etc/hostname", "pool"), file("/etc/motd", "hello")] };
    const text = workerUserData(JSON.stringify({ ...JSON.parse(pool()), storage }), { ...plain, setHostname: true });
    const files = requireConfig(text, "it").storage?.files ?? [];
    expect(files.map(({ contents, path }) => [path, contents?.source])).toEqual([
      ["/etc/motd", "data:,hello"],
      ["/etc/hostname", "data:,w-0%0A"],
    ]);
  });

  test("never leaves the pool's token beside the worker's own, however the header is written", () => {
    const token = "22222222-2222-4222-8222-222222222222";
    const text = workerUserData(pool().replace('"Authorization"', '"authorization"'), plain, token);
    const headers = JSON.parse(text).ignition.config.merge[0].httpHeaders as { name: string; value: string }[];
    expect(headers.filter(({ name }) => /^authorization$/i.test(name)).map(({ value }) => value)).toEqual([
      `Bearer ${Buffer.from(token).toString("base64")}`,
    ]);
  });

  test.each([
    ["10.0.0.1", "https://10.0.0.1:22624/ignition"],
    ["10.0.0.1:443", "https://10.0.0.1/ignition"],
    ["10.0.0.1:8443", "https://10.0.0.1:8443/ignition"],
    ["fd00::1", "https://[fd00::1]:22624/ignition"],
    ["[fd00::1]:8443", "https://[fd00::1]:8443/ignition"],
  ])("reaches the server at %s where names cannot be resolved", (ignitionAddress, source) => {
    expect(sourceOf(workerUserData(pool(), { ...plain, ignitionAddress }))).toBe(source);
  });

  test.each(["example", "10.0.0.1/x", "10.0.0.1:x", "fd00::1:x:"])("refuses %s for an address", (ignitionAddress) => {
    expect(() => workerUserData(pool(), { ...plain, ignitionAddress })).toThrow("is no address");
  });

  test("opens the configuration with the worker's own token", () => {
    const token = "22222222-2222-4222-8222-222222222222";
    const text = workerUserData(pool(), plain, token);
    const headers = JSON.parse(text).ignition.config.merge[0].httpHeaders;
    expect(headers[0]).toEqual({ name: "Authorization", value: `Bearer ${Buffer.from(token).toString("base64")}` });
    expect(headers.slice(1)).toEqual(JSON.parse(pool()).ignition.config.merge[0].httpHeaders.slice(1));
    expect(() => workerUserData(pool(), plain, "")).toThrow("an empty token");
  });

  test("passes nothing on that a machine would refuse", () => {
    expect(() => workerUserData("{}", plain)).toThrow("the pool's user data");
  });
});
