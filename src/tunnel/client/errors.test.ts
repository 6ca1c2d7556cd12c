import { expect, test } from "vitest";
import { explainConnect } from "../outgoing/explain.js";
import { directError } from "../sidecar/routing/errors.js";
import { DialRefusedError, socketUnreachable } from "./errors.js";
import { dialThrough } from "./index.js";

test.each([
  ["dial tcp: lookup db.example on 10.0.0.10:53: no such host", /record at the DNS server that the agent asks/],
  ["dial tcp: lookup db.example on 10.0.0.10:53: read: connection refused", /^Fix DNS where the agent runs/],
  ["dial tcp 10.0.0.7:443: connect: connection refused", /nothing listens at that port/],
  ["dial tcp 10.0.0.7:443: connect: no route to host", /^Fix the route/],
  ["something else", /^Try the same address from the agent's network/],
])("a dial that failed with %j has the remedy of its words", (answer, remedy) => {
  expect(new DialRefusedError("x:1", answer, 502)).toMatchObject({
    code: "DB_DIAL_FAILED",
    remedy: expect.stringMatching(remedy),
  });
});

test("other codes keep their remedy, whatever else is said", () => {
  const error = new DialRefusedError("x:1", "no agent available: connection refused", 503);
  expect(error).toMatchObject({ code: "DB_NO_AGENT", remedy: expect.not.stringContaining("nothing listens") });
});

test.each([
  ["ENOENT", "this socket does not exist (ENOENT)"],
  ["ECONNREFUSED", "no process listens on this socket any more (ECONNREFUSED)"],
  ["EACCES", "this user may not open the socket (EACCES)"],
  ["EIO", "connect EIO"],
])("a socket that fails with %s is explained", (code, words) => {
  const { message } = socketUnreachable("/run/x.sock", Object.assign(new Error(`connect ${code}`), { code }));
  expect(message).toBe(`the proxy-server at /run/x.sock cannot be reached: ${words}.`);
});

test.each([
  [import.meta.dirname, "directory"],
  [import.meta.filename, "file"],
])("what is not a socket is not called one that nobody listens on: %s", async (path, what) => {
  const dialled = dialThrough({ mode: "http-connect", uds: path }, "10.0.0.1:80");
  const words = `this is a ${what} and not a socket; the server's is that of its --uds-name`;
  await expect(dialled).rejects.toMatchObject({ code: "DB_FRONTEND", message: expect.stringContaining(words) });
});

test.each(["EMFILE", "ENFILE"])("a process that cannot open a socket (%s) says so, and blames no server", (code) => {
  const reason = Object.assign(new Error(`connect ${code}`), { code });
  const known = { code: "DB_OPEN_FILES", message: expect.stringContaining(`too many open files (${code})`) };
  expect(socketUnreachable("/run/x.sock", reason)).toMatchObject(known);
  expect(explainConnect("127.0.0.1:8090", reason)).toMatchObject(known);
  expect(directError({ host: "10.0.0.7", port: 443 }, reason)).toMatchObject(known);
});
