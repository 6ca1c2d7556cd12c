import { expect, test } from "vitest";
import type { ListenerConfig } from "../../tunnel/server/config.js";
import { type ListenerDefaults, parseFrontend, parseListen } from "./addresses.js";

const defaults: ListenerDefaults = {
  deleteExisting: true,
  fileMode: 0o770,
  owner: undefined,
  tls: { certFile: "C", keyFile: "K", clientCaFile: "A" },
};
const uds = { transport: "uds", deleteExisting: true } as const;

test.each<[string, ListenerConfig]>([
  ["grpc+uds:/run/g.sock", { ...uds, mode: "grpc", path: "/run/g.sock", fileMode: 0o770 }],
  [
    "http-connect+uds:/run/k.sock,mode=0660,owner=0:1000",
    { ...uds, mode: "http-connect", path: "/run/k.sock", fileMode: 0o660, owner: { uid: 0, gid: 1000 } },
  ],
  ["grpc+uds:relative:name.sock", { ...uds, mode: "grpc", path: "relative:name.sock", fileMode: 0o770 }],
  ["grpc+tcp:[::1]:8443", { mode: "grpc", transport: "tcp", host: "::1", port: 8443, tls: defaults.tls }],
  ["grpc+tcp::8443", { mode: "grpc", transport: "tcp", host: "", port: 8443, tls: defaults.tls }],
  [
    "http-connect+tcp:0.0.0.0:8090,cert=c=1,key=k,ca=a",
    {
      mode: "http-connect",
      transport: "tcp",
      host: "0.0.0.0",
      port: 8090,
      tls: { certFile: "c=1", keyFile: "k", clientCaFile: "a" },
    },
  ],
])("%s", (text, listener) => {
  expect(parseListen(text, defaults)).toEqual(listener);
});

test.each([
  ["", "must look like MODE+TRANSPORT:ADDRESS"],
  ["socks+uds:/x", "must look like MODE+TRANSPORT:ADDRESS"],
  ["grpc+uds:", "must look like MODE+TRANSPORT:ADDRESS"],
  ["grpc+uds:/x,cert=y", "has the setting cert=y; allowed are, once each: mode=, owner="],
  ["grpc+uds:/x,mode=0660,mode=0600", "allowed are, once each"],
  ["grpc+uds:/x,mode=", "allowed are, once each"],
  ["grpc+uds:/x,", "allowed are, once each"],
  ["grpc+uds:/x,mode=8", "socket mode 8 must be three octal digits"],
  ["grpc+uds:/x,owner=a:b", "socket owner a:b must be a numeric uid:gid"],
  ["grpc+tcp:8443", "has no usable address: address 8443: missing port in address"],
  ["grpc+tcp:::1:8443", "too many colons in address"],
  ["grpc+tcp:h:0", "needs a port from 1 to 65535"],
  ["grpc+tcp:h:65536", "needs a port from 1 to 65535"],
  ["grpc+tcp:h:http", "needs a port from 1 to 65535"],
])("%j is refused", (text, message) => {
  expect(() => parseListen(text, defaults)).toThrow(message);
});

test("a TCP listener is never without TLS and client certificates", () => {
  const none = { ...defaults, tls: { certFile: "", keyFile: "", clientCaFile: "" } };
  expect(() => parseListen("grpc+tcp::1,cert=c,key=k", none)).toThrow("needs ca= or --server-ca-cert");
});

test.each([
  ["cert=c.crt", "has cert= without key=: give both"],
  ["key=c.key", "has key= without cert=: give both"],
])("a frontend with only %s is refused in words", (setting, words) => {
  expect(() => parseFrontend(`grpc+tcp:h:1,${setting}`, {})).toThrow(words);
});
