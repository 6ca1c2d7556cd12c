import { describe, expect, test } from "vitest";
import { LoopGuard } from "./loop-guard.js";

const NEVER = new AbortController().signal;

function guard(own: string[], frontends: string[] = []) {
  const at = (text: string) => {
    const cut = text.lastIndexOf(":");
    return { host: text.slice(0, cut), port: Number(text.slice(cut + 1)) };
  };
  const looked: string[] = [];
  const it = new LoopGuard({
    own: own.map(at),
    frontends: [
      { mode: "http-connect", uds: "/run/x.sock" },
      ...frontends.map((frontend) => ({ mode: "http-connect" as const, ...at(frontend), tls: {} })),
    ],
    localAddresses: () => ["127.0.0.1", "::1", "192.0.2.7", "fd00::7"],
    lookup: async (name) => {
      looked.push(name);
      return name === "server.example" ? ["10.9.9.9"] : Promise.reject(new Error("no such name"));
    },
  });
  return { looked, check: (target: string) => it.check(at(target), NEVER) };
}

describe("loops", () => {
  test.each([
    ["127.0.0.1:8090", "127.0.0.1:8090"],
    ["127.0.0.1:8090", "localhost:8090"],
    ["127.0.0.1:8090", "LOCALHOST.:8090"],
    ["127.0.0.1:8090", "::ffff:127.0.0.1:8090"],
    ["127.0.0.1:8090", "0.0.0.0:8090"],
    ["0.0.0.0:8090", "127.0.0.5:8090"],
    ["0.0.0.0:8090", "192.0.2.7:8090"],
    [":::8090", "fd00:0::7:8090"],
    [":8090", "192.0.2.7:8090"],
    ["sidecar.example:8090", "Sidecar.Example:8090"],
  ])("a listener at %s is not dialled as %s", async (own, target) => {
    const checking = guard([own]).check(target);
    await expect(checking).rejects.toMatchObject({ kind: "forbidden", code: "DB_SIDECAR_LOOP" });
  });

  test.each([
    ["127.0.0.1:8090", "127.0.0.1:8091"],
    ["127.0.0.1:8090", "127.0.0.2:8090"],
    ["192.0.2.7:8090", "127.0.0.1:8090"],
    ["0.0.0.0:8090", "192.0.2.8:8090"],
    ["0.0.0.0:8090", "example.com:8090"],
  ])("a listener at %s does not forbid %s", async (own, target) => {
    await expect(guard([own]).check(target)).resolves.toBeUndefined();
  });

  test.each(["server.example:8090", "SERVER.example.:8090", "10.9.9.9:8090"])(
    "the proxy-server is not dialled through itself as %s",
    async (target) => {
      const checking = guard([], ["server.example:8090"]).check(target);
      await expect(checking).rejects.toMatchObject({ kind: "forbidden", code: "DB_SIDECAR_LOOP" });
    },
  );

  test("asks for the proxy-server's addresses only when the port is its own", async () => {
    const it = guard([], ["server.example:8090"]);
    await it.check("10.9.9.9:443");
    await it.check("10.9.9.8:8090");
    expect(it.looked).toEqual(["server.example"]);
  });

  test("allows the target when the proxy-server has no address here", async () => {
    await expect(guard([], ["gone.example:8090"]).check("10.9.9.9:8090")).resolves.toBeUndefined();
  });
});
