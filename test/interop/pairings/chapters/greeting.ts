import { expect, test } from "vitest";
import { payload, readExactly } from "../../../support/callers/bytes.js";
import type { Dialled, Tunnel } from "../../../support/processes/tunnel.js";
import { startBanner, startEcho } from "../../../support/targets/echo.js";
import { ForeignCaller, freshRandom } from "../foreign/caller.js";
import type { Pairing, PairingFixture } from "../pairing.js";

const ESTABLISHED = "HTTP/1.1 200 Connection Established\r\n\r\n";
const BANNERS = 20;

export function greeting({ pairing, tunnel }: PairingFixture): void {
  test("dials an endpoint and carries bytes both ways", async () => {
    const echo = await startEcho();
    try {
      const dialled = await tunnel().dial(echo.address);
      if (!dialled.ok) throw new Error(dialled.text);
      if (pairing.frontend !== "grpc-uds") expect(dialled.head).toBe(ESTABLISHED);
      expect(dialled.bytesBehindHead).toBe(0);
      for (const size of [1, 5, 4096, 70_000]) {
        const message = payload(`message of ${size}`, size);
        dialled.socket.write(message);
        expect((await readExactly(dialled.socket, size)).equals(message)).toBe(true);
      }
      dialled.socket.destroy();
    } finally {
      await echo.close();
    }
  });

  test.each(["[::FFFF:127.0.0.1]", "[0:0:0:0:0:ffff:7f00:1]", "0.0.0.0", "LOCALHOST"])(
    "reaches an endpoint that the caller spells %s",
    async (host) => {
      const echo = await startEcho();
      try {
        const socket = await tunnel().open(`${host}:${echo.port}`);
        socket.write("hello");
        expect(String(await readExactly(socket, 5))).toBe("hello");
        socket.destroy();
      } finally {
        await echo.close();
      }
    },
  );

  test("keeps every byte of an endpoint that speaks first", async () => {
    const banner = payload("banner", 600);
    const target = await startBanner(banner);
    try {
      for (let i = 0; i < BANNERS; i++) {
        if (pairing.frontend === "grpc-uds") await hearByGrpc(tunnel(), target.address, banner);
        else await hearByConnect(pairing, tunnel(), target.address, banner);
      }
      expect(target.accepted).toBe(BANNERS);
    } finally {
      await target.close();
    }
  });
}

async function hearByConnect(pairing: Pairing, tunnel: Tunnel, target: string, banner: Buffer): Promise<void> {
  const dialled = await tunnel.dial(target);
  if (pairing.server === "theirs" && spokeBeforeThe200(dialled, banner)) return;
  if (!dialled.ok) throw new Error(`${dialled.head ?? ""}${dialled.text}`);
  expect(dialled.head).toBe(ESTABLISHED);
  expect((await readExactly(dialled.socket, banner.length)).equals(banner)).toBe(true);
  dialled.socket.write("and back");
  expect(String(await readExactly(dialled.socket, 8))).toBe("and back");
  dialled.socket.destroy();
}

/**
 * Not through upstream's client library: it registers a connection only some time after the DIAL_RSP came, and ends the
 * tunnel when DATA arrives in between.
 */
async function hearByGrpc(tunnel: Tunnel, address: string, banner: Buffer): Promise<void> {
  const caller = new ForeignCaller(tunnel.place.udsPath);
  try {
    const stream = caller.open();
    const random = freshRandom();
    stream.send({ type: "DIAL_REQ", protocol: "tcp", address, random });
    const { connectID, error } = await stream.next("DIAL_RSP");
    expect(error).toBe("");
    const heard: Buffer[] = [];
    for (let size = 0; size < banner.length; size += heard.at(-1)!.length) heard.push((await stream.next("DATA")).data);
    expect(Buffer.concat(heard).equals(banner)).toBe(true);
    stream.send({ type: "DATA", connectID, data: Buffer.from("and back") });
    expect(await stream.next("DATA")).toEqual({ type: "DATA", connectID, data: Buffer.from("and back") });
  } finally {
    caller.close();
  }
}

/** Upstream's server lets two writers race for the socket here; the bytes are all there, in the wrong order. */
function spokeBeforeThe200(dialled: Dialled, banner: Buffer): boolean {
  return !dialled.ok && dialled.head === banner.toString("latin1") + ESTABLISHED;
}
