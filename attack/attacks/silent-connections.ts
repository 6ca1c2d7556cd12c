import { type Attack, BOUND_MIB } from "../attack.js";
import { PREFACE } from "../raw/frames.js";

const silent = (name: string, at: "agents" | "connect-tls", fixture: "server" | "tokens", against: string): Attack => ({
  ...{ name, against, fixture },
  description: `400 connections that finish TLS and then say nothing, at the ${against}`,
  boundMiB: BOUND_MIB,
  seconds: 3,
  shortSeconds: 1.5,
  upstream: at === "agents",
  async run(target, work) {
    const open = async () => {
      for (let count = 0; count < 100 && !work.over; count++) {
        const socket = await work.connect(target.listeners[at]!);
        socket?.resume();
        await work.sleep(1);
      }
    };
    await Promise.all([open(), open(), open(), open()]);
    await work.until(() => work.openConnections === 0);
  },
});

export const silentConnections: readonly Attack[] = [
  silent("silent-after-tls-strangers", "agents", "tokens", "agents' listener, before authentication"),
  silent("silent-after-tls-agents", "agents", "server", "agents' listener, with an agent's certificate"),
  {
    name: "slow-preface",
    against: "agents' listener, before authentication",
    description: "100 connections that send HTTP/2's preface byte by byte",
    fixture: "tokens",
    boundMiB: BOUND_MIB,
    upstream: true,
    async run(target, work) {
      const one = async () => {
        const socket = await work.connect(target.listeners.agents!);
        socket?.resume();
        for (let at = 0; socket && at < PREFACE.length - 1; at++) {
          if (!(await work.write(socket, PREFACE.subarray(at, at + 1)))) return;
          await work.sleep(150);
        }
      };
      await Promise.all(Array.from({ length: 100 }, one));
    },
  },
];
