import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { listenOnSocketFile, type OpenSocketFile } from "./listen.js";

let dir: string;
let path: string;
const servers: Server[] = [];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "socket-file-"));
  path = join(dir, "frontend.sock");
});

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
  rmSync(dir, { recursive: true, force: true });
});

function serverSaying(word: string): Server {
  // Whoever only asks whether it is served hangs up at once.
  const server = createServer((socket) => socket.on("error", () => {}).end(word));
  servers.push(server);
  return server;
}

function open(server: Server, { replace = true, fileMode = 0o660 } = {}): Promise<OpenSocketFile> {
  return listenOnSocketFile(server, "test", { path, fileMode, replace }, {});
}

async function heardAt(socket: Socket): Promise<string> {
  let heard = "";
  socket.on("data", (chunk) => {
    heard += String(chunk);
  });
  await once(socket, "close");
  return heard;
}

describe("a Unix socket", () => {
  test("has its mode, and is all that is left in its folder", async () => {
    await open(serverSaying("hello"), { fileMode: 0o617 });
    expect(lstatSync(path).isSocket()).toBe(true);
    expect((lstatSync(path).mode & 0o777).toString(8)).toBe("617");
    expect(readdirSync(dir)).toEqual(["frontend.sock"]);
    expect(await heardAt(connect(path))).toBe("hello");
  });

  test("of a process that ends stays when it is that of the next process already", async () => {
    const old = serverSaying("old");
    const { remove: removeOld } = await open(old);
    const { remove: removeNew } = await open(serverSaying("new"));
    removeOld();
    old.close();
    await once(old, "close");
    expect(await heardAt(connect(path))).toBe("new");
    removeOld();
    expect(await heardAt(connect(path))).toBe("new");
    removeNew();
    expect(existsSync(path)).toBe(false);
  });

  test("that another process serves is told from one that nobody serves any more", async () => {
    const [first, second] = [serverSaying("first"), serverSaying("second")];
    expect((await open(first)).wasServed).toBe(false);
    expect((await open(second)).wasServed).toBe(true);
    second.close();
    await once(second, "close");
    expect(lstatSync(path).isSocket()).toBe(true);
    expect((await open(serverSaying("third"))).wasServed).toBe(false);
  });

  test.each([true, false])(
    "never takes the place of a file, whether old sockets are removed or not: %s",
    async (replace) => {
      writeFileSync(path, "somebody's");
      await expect(open(serverSaying("hello"), { replace })).rejects.toMatchObject({ code: "DB_UDS_NOT_SOCKET" });
    },
  );

  test("is opened without changing what a link in its place points to", async () => {
    const other = join(dir, "somebody's");
    writeFileSync(other, "");
    chmodSync(other, 0o600);
    const server = serverSaying("hello");
    // Whoever may write to the folder could do this as soon as the socket is there.
    server.once("listening", () => {
      expect(String(server.address())).toMatch(new RegExp(`^${dir}/`));
      rmSync(path, { force: true });
      symlinkSync(other, path);
    });
    await open(server, { fileMode: 0o777 });
    expect((lstatSync(other).mode & 0o777).toString(8)).toBe("600");
    expect(lstatSync(path).isSocket()).toBe(true);
  });

  test("does not replace another one unless told to", async () => {
    await open(serverSaying("first"));
    await expect(open(serverSaying("second"), { replace: false })).rejects.toMatchObject({ code: "DB_LISTEN_IN_USE" });
    expect(await heardAt(connect(path))).toBe("first");
    expect(readdirSync(dir)).toEqual(["frontend.sock"]);
  });

  test.each(["file", "link"])("does not replace a %s", async (what) => {
    if (what === "file") writeFileSync(path, "mine");
    else symlinkSync("/nowhere", path);
    await expect(open(serverSaying("hello"))).rejects.toMatchObject({ code: "DB_UDS_NOT_SOCKET" });
    expect(readdirSync(dir)).toEqual(["frontend.sock"]);
  });

  test.each([
    [() => join(dir, "x".repeat(107)), "DB_UDS_PATH_TOO_LONG"],
    [() => join(dir, "missing", "a.sock"), "DB_LISTEN"],
  ])("says why it cannot be opened", async (place, code) => {
    path = place();
    await expect(open(serverSaying("hello"))).rejects.toMatchObject({ code });
  });

  test("has a path of up to 107 bytes", async () => {
    path = join(dir, "x".repeat(107 - dir.length - 1));
    await open(serverSaying("hello"));
    expect(await heardAt(connect(path))).toBe("hello");
  });
});
