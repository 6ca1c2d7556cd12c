import { expect, test } from "vitest";
import { certificate, processInfo } from "./testing/overview.js";
import { traceCommand } from "./trace-command.js";

const listener = (address: string) => ({ what: "http-connect frontend", address });
const frontendCertificate = { ...certificate, use: "http-connect frontend" };

test.each([
  ["a socket, which trace finds itself", [listener(":8090"), listener("/run/k.sock")], ["DNS:s.example"], ""],
  ["an address", [listener("10.0.0.7:8090")], ["DNS:s.example"], "10.0.0.7:8090"],
  ["every address", [listener(":8090")], ["DNS:*.s.example", "IP Address:10.0.0.1"], "10.0.0.1:8090"],
  ["every address, by IPv6", [listener("[::]:8090")], ["IP Address:fd00::1"], "[fd00::1]:8090"],
  ["every address, under no name", [listener("0.0.0.0:8090")], [], "SERVER:8090"],
])("of a server that listens on %s the command is whole", (_, listeners, names, place) => {
  const server = { process: processInfo, listeners, certificates: [{ ...frontendCertificate, names }] };
  const flag = place === "" ? "" : ` --frontend http-connect+tcp:${place},ca=FILE,cert=FILE,key=FILE`;
  expect(traceCommand("10.128.0.5:8443", server)).toBe(`drawbridge trace 10.128.0.5:8443${flag}`);
});

test("an agent has no frontend: its server is named", () => {
  const agent = { process: { ...processInfo, role: "agent" as const }, listeners: [], certificates: [] };
  expect(traceCommand("10.128.0.5:8443", agent)).toBe("drawbridge trace 10.128.0.5:8443 on the server's host");
});
