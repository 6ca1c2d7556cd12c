import { openHouse } from "./house/house.js";
import { tunnelTo, knock } from "./house/connect.js";
import { rawCaller, rawAgent } from "./house/grpc.js";
import { startEcho } from "../support/targets/echo.js";
import { startSilent } from "../support/targets/stalled.js";
import { readExactly } from "../support/callers/bytes.js";
import { streamError, tunnelCut, serverDialEnded } from "../../src/observe/channels.js";
import tls from "node:tls";
process.on("uncaughtException", (e) => console.log("UNCAUGHT", e));
process.on("unhandledRejection", (e) => console.log("UNHANDLED", e));
const sleep = (ms: number) => new Promise((r) => setTimeout(r, ms));
const house = await openHouse();
streamError.subscribe((m) => console.log("streamError", m.segment, m.code));
const echo = await startEcho();
{
  const c = rawCaller(house);
  c.send({ type: "DATA", connectId: 9, data: Buffer.from("x") });
  c.stream.end();
  await sleep(300);
  console.log("write-after-end", c.ended(), c.packets);
}
// memory: gRPC caller to a silent endpoint
const silent = await startSilent();
{
  const before = process.memoryUsage();
  const callers = [];
  const chunk = Buffer.alloc(32 * 1024, 7);
  for (let i = 0; i < 20; i++) {
    const c = rawCaller(house); callers.push(c);
    c.send({ type: "DIAL_REQ", protocol: "tcp", address: silent.address, random: BigInt(i + 100) });
  }
  await sleep(1000);
  for (const c of callers) { const id = (c.packets[0] as any).connectId; for (let n = 0; n < 300; n++) c.send({ type: "DATA", connectId: id, data: chunk }); }
  await sleep(3000);
  for (const c of callers.slice(0, 3)) console.log("still at client", c.stream.writableLength, "of", 300 * 32 * 1024, c.stream.bufferSize);
  console.log((house.server.describeTunnels() as any[]).slice(0, 3).map((t) => [t.bytesToAgent, t.queuedBytes]));
  const taken = callers.reduce((s, c) => s + 300 * 32 * 1024 - c.stream.bufferSize, 0);
  console.log("taken in total MB", taken / 1e6, "rss", before.rss / 1e6, process.memoryUsage().rss / 1e6, process.memoryUsage().arrayBuffers / 1e6);
  for (const c of callers) c.close();
}
await sleep(500);
// HEADERS + RST over TLS on the agent door
function frame(type: number, flags: number, id: number, payload: Buffer) { const b = Buffer.alloc(9); b.writeUIntBE(payload.length, 0, 3); b[3] = type; b[4] = flags; b.writeUInt32BE(id, 5); return Buffer.concat([b, payload]); }
function lit(name: string, value: string) { return Buffer.concat([Buffer.from([0x10, name.length]), Buffer.from(name), Buffer.from([value.length]), Buffer.from(value)]); }
const headers = Buffer.concat([lit(":method", "POST"), lit(":scheme", "http"), lit(":path", "/AgentService/Connect"), lit(":authority", "localhost"), lit("agentid", "x"), lit("te", "trailers")]);
{
  const raw = tls.connect({ host: "127.0.0.1", port: house.agentPort, ALPNProtocols: ["h2"], ...house.pki.clientTls });
  raw.on("error", () => {}); raw.on("data", () => {});
  await new Promise((r) => raw.once("secureConnect", r));
  const parts = [Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(4, 0, 0, Buffer.alloc(0))];
  for (let i = 0; i < 50; i++) { parts.push(frame(1, 4, 1 + 2 * i, headers), frame(3, 0, 1 + 2 * i, Buffer.from([0,0,0,8]))); }
  raw.write(Buffer.concat(parts));
  await sleep(500);
  console.log("links", house.server.board.registry.size);
  raw.destroy();
  await sleep(300);
  console.log("links", house.server.board.registry.size);
}
// pipelined 405
{
  const s = await knock(house); s.pause();
  const req = Buffer.from("GET / HTTP/1.1\r\n\r\n".repeat(3000));
  let sent = 0;
  for (let n = 0; n < 400; n++) { if (!s.write(req)) await Promise.race([new Promise((r) => s.once("drain", r)), sleep(500)]); sent += req.length; }
  console.log("405 flood: client queued", s.writableLength, "of", sent, "rss", process.memoryUsage().rss / 1e6);
  s.destroy();
}
const s = await tunnelTo(house, echo.address);
s.write("st"); console.log("echo", (await readExactly(s, 2)).toString());
process.exit(0);
