import { type Attack, BOUND_MIB } from "../attack.js";

const HEAD = "CONNECT 127.0.0.2:1 HTTP/1.1\r\nHost: 127.0.0.2:1\r\nX: ";

export const connectHeads: readonly Attack[] = [
  {
    name: "slow-connect-heads",
    against: "CONNECT frontend (Unix socket), as a caller",
    description: "500 CONNECT requests that arrive byte by byte and never end",
    fixture: "server",
    boundMiB: BOUND_MIB,
    upstream: true,
    async run(target, work) {
      const sockets = Array.from({ length: 500 }, () => work.connectBelow(target.listeners["connect-uds"]!).resume());
      for (const socket of sockets) socket.write(HEAD);
      while (!work.over) {
        for (const socket of sockets) if (!socket.destroyed) socket.write("y");
        await work.sleep(100);
      }
    },
  },
  {
    name: "long-connect-heads",
    against: "CONNECT frontend (Unix socket), as a caller",
    description: "300 CONNECT requests with heads of 63 KiB in pieces of 1 KiB that never end",
    fixture: "server",
    boundMiB: BOUND_MIB,
    upstream: true,
    async run(target, work) {
      const one = async () => {
        const socket = (await work.connect(target.listeners["connect-uds"]!))?.resume();
        if (!socket) return;
        socket.write(HEAD);
        for (let count = 0; count < 63; count++) {
          if (!(await work.write(socket, Buffer.alloc(1024, "z")))) return;
          await work.sleep(20);
        }
      };
      await Promise.all(Array.from({ length: 300 }, one));
      await work.untilOver();
    },
  },
  {
    name: "long-connect-heads-tls",
    against: "CONNECT frontend (TLS), as a caller",
    description: "100 CONNECT requests over TLS with heads of 63 KiB that never end",
    fixture: "server",
    boundMiB: BOUND_MIB,
    async run(target, work) {
      const one = async () => {
        const socket = (await work.connect(target.listeners["connect-tls"]!))?.resume();
        if (socket) await work.write(socket, Buffer.from(HEAD + "z".repeat(63 * 1024)));
      };
      for (let turn = 0; turn < 10 && !work.over; turn++) await Promise.all(Array.from({ length: 10 }, one));
      await work.untilOver();
    },
  },
];
