import { type Attack, BOUND_MIB } from "../attack.js";

const common = { fixture: "sidecar", boundMiB: BOUND_MIB } as const;

/** The origin insists on the body of what is sent there. */
const WHOLE = "/whole";
const SMUGGLED = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
/** Each hides a second request in what one reader takes for a body, and another for the next request. */
const smuggling = (origin: string): readonly string[] => {
  const request = (headers: string, body: string, path = "/", method = "POST") =>
    `${method} http://${origin}${path} HTTP/1.1\r\nHost: ${origin}\r\n${headers}\r\n${body}`;
  const length = `Content-Length: ${SMUGGLED.length}\r\n`;
  const chunked = `0\r\n\r\n${SMUGGLED}`;
  return [
    request(`${length}Connection: content-length\r\n`, SMUGGLED, WHOLE),
    request(`${length}Connection: close, Content-Length\r\n`, SMUGGLED, WHOLE),
    request(`${length}Connection: keep-alive\r\nConnection: content-length\r\n`, SMUGGLED, WHOLE),
    request(`Content-Length: 0\r\n${length}`, SMUGGLED),
    request(`Content-Length: 0, ${SMUGGLED.length}\r\n`, SMUGGLED),
    request(`Content-Length: +${SMUGGLED.length}\r\n`, SMUGGLED),
    request(`Content-Length: ${chunked.length}\r\nTransfer-Encoding: chunked\r\n`, chunked),
    request(
      `Content-Length: ${chunked.length}\r\nTransfer-Encoding: chunked\r\nConnection: transfer-encoding\r\n`,
      chunked,
    ),
    request(`Content-Length: ${chunked.length}\r\nTransfer-Encoding : chunked\r\n`, chunked),
    request(`Content-Length: ${chunked.length}\r\nTransfer-Encoding: xchunked\r\n`, chunked),
    request(`Content-Length: ${chunked.length}\r\nTransfer-Encoding:\x0bchunked\r\n`, chunked),
    request(`Content-Length: ${chunked.length}\r\nX: y\nTransfer-Encoding: chunked\r\n`, chunked),
    request(`Content-Length: ${SMUGGLED.length}\r\nUpgrade: websocket\r\nConnection: upgrade\r\n`, SMUGGLED),
    request(`${length}Connection: content-length\r\n`, SMUGGLED, WHOLE, "GET"),
    request(`${length}Connection: content-length\r\n`, SMUGGLED, WHOLE, "DELETE"),
    `GET http://${origin}/%0d%0a HTTP/1.1\r\nHost: ${origin}\r\nX: y\r\n\tGET /smuggled HTTP/1.1\r\n\r\n`,
  ];
};

export const sidecarAttacks: readonly Attack[] = [
  {
    ...common,
    name: "sidecar-smuggling",
    against: "sidecar's HTTP proxy, as a client",
    description: "requests whose length two readers may see differently: the origin must never see the hidden one",
    noSink: true,
    shortSeconds: 3,
    async run(target, work) {
      for (const bytes of smuggling(target.extra.origin!)) {
        const socket = (await work.connect(target.listeners["sidecar-http"]!))?.resume();
        if (!socket) continue;
        let answered = false;
        socket.once("data", () => {
          answered = true;
        });
        await work.write(socket, Buffer.from(bytes, "latin1"));
        await work.until(() => answered || socket.destroyed);
        await work.sleep(50);
        work.drop(socket);
      }
    },
  },
  {
    ...common,
    name: "sidecar-slow-heads",
    against: "sidecar's HTTP proxy, as a client",
    description: "500 requests that arrive byte by byte and never end",
    async run(target, work) {
      const sockets = Array.from({ length: 500 }, () => work.connectBelow(target.listeners["sidecar-http"]!).resume());
      for (const socket of sockets) socket.write("CONNECT 127.0.0.2:1 HTTP/1.1\r\nX: ");
      while (!work.over) {
        for (const socket of sockets) if (!socket.destroyed) socket.write("y");
        await work.sleep(100);
      }
    },
  },
  {
    ...common,
    name: "sidecar-long-heads",
    against: "sidecar's HTTP proxy, as a client",
    description: "300 requests with endless headers",
    mustEnd: true,
    async run(target, work) {
      const header = Buffer.from(`X: ${"b".repeat(8000)}\r\n`);
      const one = async () => {
        const socket = (await work.connect(target.listeners["sidecar-http"]!))?.resume();
        if (!socket) return;
        socket.write("CONNECT 127.0.0.2:1 HTTP/1.1\r\n");
        await work.flood(socket, header, { times: 100, perSecond: 200 });
      };
      await Promise.all(Array.from({ length: 300 }, one));
      await work.untilEnded();
    },
  },
  {
    ...common,
    name: "socks5-half-greetings",
    against: "sidecar's SOCKS5 proxy, as a client",
    description: "800 connections that stop in the middle of the greeting, of the request, or of a name",
    async run(target, work) {
      const beginnings = [
        "05",
        "0503",
        "050100",
        "0501000501",
        "050100050100",
        "0501000501000340",
        "0501000501000340616161",
      ];
      for (let count = 0; count < 800 && !work.over; count++) {
        const socket = work.connectBelow(target.listeners["sidecar-socks5"]!).resume();
        socket.write(Buffer.from(beginnings[count % beginnings.length]!, "hex"));
        if (count % 20 === 19) await work.sleep(5);
      }
      await work.untilOver();
    },
  },
  {
    ...common,
    name: "socks5-garbage",
    against: "sidecar's SOCKS5 proxy, as a client",
    description: "random bytes instead of SOCKS5, seeded",
    async run(target, work) {
      for (let count = 0; count < 2000 && !work.over; count++) {
        const socket = (await work.connect(target.listeners["sidecar-socks5"]!))?.resume();
        if (!socket) continue;
        const begin = work.random.pick([[], [5], [5, 1, 0], [5, 1, 0, 5, 1, 0], [4, 1]]);
        await work.write(socket, Buffer.concat([Buffer.from(begin), work.random.bytes(1 + work.random.below(300))]));
        await work.sleep(2);
        work.drop(socket);
      }
    },
  },
];
