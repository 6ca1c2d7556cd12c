import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { performance } from "node:perf_hooks";
import { Worker } from "node:worker_threads";
import { afterEach, expect, test } from "vitest";
import { makePki } from "../../../test/support/processes/certs.js";
import { Scope } from "../../../test/support/processes/scope.js";
import { isUnseen } from "./redial.js";
import { reachFrontend } from "./transport.js";

const scope = new Scope();
const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0)) await end();
  await scope.close();
});

/** Listens, and takes no connection: when the kernel's queue is full, it answers no more of them. */
const DEAF = `
  const { parentPort } = require("node:worker_threads");
  const server = require("node:net").createServer().listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
    parentPort.postMessage(server.address().port);
    setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
  });
`;

test("a frontend whose address is silent is given up soon, so that the dial can be made again", async () => {
  const worker = new Worker(DEAF, { eval: true });
  endings.push(() => worker.terminate());
  const [port] = (await once(worker, "message")) as [number];
  const waiting: Socket[] = [];
  for (let count = 0; count < 4; count++) waiting.push(connect(port, "127.0.0.1").on("error", () => {}));
  endings.push(() => void waiting.map((socket) => socket.destroy()));
  await once(waiting[0]!, "connect");
  const { caller } = makePki(scope.tempDir());
  const tls = { caFile: caller.ca, certFile: caller.cert, keyFile: caller.key };
  const frontend = { mode: "http-connect", host: "127.0.0.1", port, tls } as const;
  const began = performance.now();
  const reach = reachFrontend(frontend, { alpn: [], allowHalfOpen: false, acceptMs: 200 }, AbortSignal.timeout(10_000));
  const reason = await reach.catch((each: unknown) => each);
  expect(reason).toMatchObject({ code: "DB_CONNECT_TIMEOUT", message: expect.stringContaining("no answer in time") });
  expect(isUnseen(reason)).toBe(true);
  expect(performance.now() - began).toBeLessThan(3_000);
});
