// Runs as the program of a component's own container, in an image that has Node and nothing else:
// `node --input-type=module -e THIS port-of-the-sidecar host path calls-per-second`. Each call is a line as in calls.ts.
// Asked to end, it begins no further call and ends when the open ones have.
import { once } from "node:events";
import { connect } from "node:net";
import { connect as secure } from "node:tls";

const DEADLINE_MS = 10_000;
const STATUS_EVERY_MS = 500;
const [port, host, path, perSecond] = process.argv.slice(1);
const open = new Set();
const write = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

async function get() {
  const signal = AbortSignal.timeout(DEADLINE_MS);
  const proxy = connect(Number(port), "127.0.0.1");
  let waitsFor = "the sidecar's connection";
  try {
    const answer = async () => (await once(proxy, "data", { signal }))[0];
    await once(proxy, "connect", { signal });
    waitsFor = "the sidecar's greeting";
    proxy.write(Buffer.from([5, 1, 0]));
    await answer();
    waitsFor = "the SOCKS5 reply";
    proxy.write(Buffer.from([5, 1, 0, 3, host.length, ...Buffer.from(host), 443 >> 8, 443 & 255]));
    const [, reply] = await answer();
    if (reply !== 0) throw new Error(`SOCKS5 reply ${reply}`);
    waitsFor = "the TLS handshake";
    const tls = secure({ socket: proxy, servername: host, rejectUnauthorized: false });
    tls.once("secureConnect", () => {
      waitsFor = "the answer's end";
    });
    // The answer's end is the connection's end.
    tls.write(`GET ${path} HTTP/1.0\r\nHost: ${host}\r\n\r\n`);
    let text = "";
    tls.setEncoding("utf8").on("data", (piece) => {
      text += piece;
    });
    await once(tls, "end", { signal });
    if (!/^HTTP\/1\.\d 200 /.test(text)) throw new Error(`answered ${JSON.stringify(text.slice(0, 200))}`);
  } catch (reason) {
    throw signal.aborted ? new Error(`waited ${DEADLINE_MS} ms for ${waitsFor}`) : reason;
  } finally {
    proxy.on("error", () => {});
    proxy.destroy();
  }
}

async function call() {
  const at = Date.now();
  const member = { at };
  open.add(member);
  const said = await get().then(
    () => undefined,
    (reason) => String(reason.cause ?? reason),
  );
  open.delete(member);
  write({ kind: "socks5", at, tookMs: Date.now() - at, said });
}

/** As components do that are started at the same time as their sidecar. */
async function sidecarListens() {
  for (;;) {
    const trial = connect(Number(port), "127.0.0.1");
    try {
      await once(trial, "connect");
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 100));
    } finally {
      trial.destroy();
    }
  }
}

await sidecarListens();
const status = setInterval(() => write({ source: "socks5", oldest: [...open][0]?.at ?? Date.now() }), STATUS_EVERY_MS);
const calls = setInterval(call, 1000 / Number(perSecond));

process.once("SIGTERM", () => {
  clearInterval(status);
  clearInterval(calls);
});
