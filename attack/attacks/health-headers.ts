import { type Attack, BOUND_MIB } from "../attack.js";

export const healthHeaders: Attack = {
  name: "health-headers",
  against: "health port",
  description: "300 connections with request headers of up to 1 MB each",
  fixture: "server",
  boundMiB: BOUND_MIB,
  mustEnd: true,
  upstream: true,
  async run(target, work) {
    const header = Buffer.from(`X-${"a".repeat(100)}: ${"b".repeat(8000)}\r\n`);
    const one = async () => {
      const socket = (await work.connect(target.listeners.health!))?.resume();
      if (!socket) return;
      // Beyond any sensible limit in the first piece already.
      socket.write(`GET /healthz HTTP/1.1\r\nHost: localhost\r\n${String(header).repeat(4)}`);
      for (let count = 0; count < 124; count++) {
        if (!(await work.write(socket, header))) return;
        await work.sleep(2);
      }
    };
    for (let count = 0; count < 300 && !work.over; count++) {
      void one();
      await work.sleep(3);
    }
    await work.untilEnded();
  },
};
