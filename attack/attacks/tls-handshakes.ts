import { type Attack, BOUND_MIB, type ListenerName } from "../attack.js";

/** A ClientHello that says how long it is and never gets there. */
const HALF_HELLO = Buffer.concat([Buffer.from("160301020001" + "0001fc0303", "hex"), Buffer.alloc(100, 0xab)]);

/** Connections that hold TLS open before anything is known of the client. */
function unfinished(
  name: string,
  {
    at,
    against,
    fixture,
    connections,
    said,
  }: {
    at: ListenerName;
    against: string;
    fixture: "server" | "descriptors";
    connections: number;
    said: "nothing" | "half a hello";
  },
): Attack {
  return {
    ...{ name, against, fixture },
    description: `${connections} TLS handshakes in which ${said} is said, at the ${against}`,
    boundMiB: BOUND_MIB,
    mustEnd: "long",
    seconds: 14,
    shortSeconds: 1.5,
    upstream: fixture === "server" && at === "agents",
    async run(target, work) {
      for (let count = 0; count < connections && !work.over; count++) {
        const socket = work.connectBelow(target.listeners[at]!);
        if (said === "half a hello") socket.write(HALF_HELLO);
        socket.resume();
        if (count % 10 === 9) await work.sleep(10);
      }
      await work.until(() => work.openConnections === 0);
    },
  };
}

export const tlsHandshakes: readonly Attack[] = [
  unfinished("tls-half-hello-agents", {
    ...{ at: "agents", against: "agents' listener, before authentication", fixture: "server" },
    ...{ connections: 2000, said: "half a hello" },
  }),
  unfinished("tls-no-hello-agents", {
    ...{ at: "agents", against: "agents' listener, before authentication", fixture: "server" },
    ...{ connections: 2000, said: "nothing" },
  }),
  unfinished("tls-half-hello-connect", {
    ...{ at: "connect-tls", against: "CONNECT frontend (TLS), before authentication", fixture: "server" },
    ...{ connections: 2000, said: "half a hello" },
  }),
  unfinished("few-descriptors-agents", {
    ...{
      at: "agents",
      against: "agents' listener with 256 descriptors, before authentication",
      fixture: "descriptors",
    },
    ...{ connections: 400, said: "half a hello" },
  }),
  unfinished("few-descriptors-connect", {
    ...{ at: "connect-tls", against: "CONNECT frontend with 256 descriptors, before authentication" },
    ...{ fixture: "descriptors", connections: 400, said: "half a hello" },
  }),
];
