import { readExactly } from "../support/callers/bytes.js";
import { openHouse } from "./house/house.js";
import { tunnelTo, knockTls } from "./house/connect.js";
import { rawCaller, rawAgent } from "./house/grpc.js";
import { startEcho } from "../support/targets/echo.js";
import { connect } from "node:net";
process.on("uncaughtException", (e) => console.log("UNCAUGHT", e));
process.on("unhandledRejection", (e) => console.log("UNHANDLED", e));
const house = await openHouse();
const echo = await startEcho();
const s = await tunnelTo(house, echo.address);
s.write("hi"); console.log("echo", (await readExactly(s, 2, 3000)).toString());
// write after end
const c = rawCaller(house);
c.send({ type: "DIAL_REQ", protocol: "tcp", address: echo.address, random: 5n });
await new Promise((r) => setTimeout(r, 200));
console.log(c.packets);
c.stream.end();
await new Promise((r) => setTimeout(r, 300));
console.log("ended", c.ended(), c.packets);
// dial + end at once
const c2 = rawCaller(house);
c2.send({ type: "DATA", connectId: 9, data: Buffer.from("x") });
c2.stream.end();
await new Promise((r) => setTimeout(r, 300));
console.log("ended2", c2.ended(), c2.packets);
// HEADERS + RST in one segment
function frame(type: number, flags: number, id: number, payload: Buffer) { const b = Buffer.alloc(9); b.writeUIntBE(payload.length, 0, 3); b[3] = type; b[4] = flags; b.writeUInt32BE(id, 5); return Buffer.concat([b, payload]); }
function lit(name: string, value: string) { return Buffer.concat([Buffer.from([0x10, name.length]), Buffer.from(name), Buffer.from([value.length]), Buffer.from(value)]); }
const headers = Buffer.concat([lit(":method", "POST"), lit(":scheme", "http"), lit(":path", "/ProxyService/Proxy"), lit(":authority", "localhost"), lit("content-type", "application/grpc"), lit("te", "trailers")]);
for (const path of ["/ProxyService/Proxy"]) {
  const raw = connect(house.grpcPath); raw.on("error", () => {});
  raw.on("data", () => {});
  const cancel = Buffer.from([0, 0, 0, 8]);
  const parts = [Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(4, 0, 0, Buffer.alloc(0))];
  for (let i = 0; i < 50; i++) { parts.push(frame(1, 4, 1 + 2 * i, headers), frame(3, 0, 1 + 2 * i, cancel)); }
  raw.write(Buffer.concat(parts));
  await new Promise((r) => setTimeout(r, 500));
  raw.destroy();
}
const headersBad = Buffer.concat([lit(":method", "POST"), lit(":scheme", "http"), lit(":path", "/Nope"), lit(":authority", "localhost")]);
{
  const raw = connect(house.grpcPath); raw.on("error", () => {}); raw.on("data", () => {});
  const parts = [Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(4, 0, 0, Buffer.alloc(0))];
  for (let i = 0; i < 50; i++) { parts.push(frame(1, 4, 1 + 2 * i, headersBad), frame(3, 0, 1 + 2 * i, Buffer.from([0,0,0,8]))); }
  raw.write(Buffer.concat(parts));
  await new Promise((r) => setTimeout(r, 500));
  raw.destroy();
}
s.write("st"); console.log("echo", (await readExactly(s, 2, 3000)).toString());
s.destroy();
await house.close(); await echo.close();
console.log("done"); process.exit(0);
