import { expect, test } from "vitest";
import type { AdminPort } from "../../insight/watch/admin-port.js";
import { parseFrontend } from "../tunnel/addresses.js";
import { ownFrontend } from "./trace.js";

const serverWith = (...addresses: string[]): Pick<AdminPort, "list" | "address"> => ({
  address: "127.0.0.1:8095",
  list: async <T>(route: string) =>
    (route === "listeners" ? addresses.map((address) => ({ what: "http-connect frontend", address })) : []) as T[],
});

test("a Unix socket is used as it is", async () => {
  expect(await ownFrontend(serverWith("[::]:8090", "/run/k.sock"))).toEqual({
    mode: "http-connect",
    uds: "/run/k.sock",
  });
});

test.each(["[::]:8090", ":8090", "0.0.0.0:8090", "10.0.0.7:8090"])(
  "of a frontend at %s the error names a --frontend that is accepted",
  async (address) => {
    const sentence = await ownFrontend(serverWith(address)).catch((reason: Error) => reason.message);
    const [, given = ""] = /--frontend (\S+)/.exec(String(sentence)) ?? [];
    const host = address.startsWith("10.") ? "10.0.0.7" : "SERVER";
    expect(parseFrontend(given, {})).toMatchObject({ mode: "http-connect", host, port: 8090 });
  },
);
