import { hostname } from "node:os";
import { type Attack, BOUND_MIB, type Target } from "../attack.js";
import type { Work } from "../harness/work.js";
import { PROXY_PATH } from "../raw/headers.js";
import { dialRequest, PacketType } from "../raw/packets.js";
import { RawPeer } from "../raw/peer.js";
import { awaitAgent } from "./link.js";

/** Ways to write this host that a policy may not see through. */
const HOSTS = [
  ...[
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "0177.0.0.1",
    "127.000.000.001",
    "127.0.0.1.",
  ],
  ...["0.0.0.0", "0", "00", "0x0", "0.0", "0.0.0", "000.000.000.000", "127.0.0.5", "127.255.255.254"],
  ...["[::]", "[::1]", "[0:0:0:0:0:0:0:1]", "[0::1]", "[::0.0.0.1]", "[::0.0.0.0]", "[::127.0.0.1]", "::1", "::"],
  ...["[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::FFFF:127.0.0.1]", "[::ffff:0.0.0.0]", "[::ffff:0:0]"],
  ...["[0:0:0:0:0:ffff:127.0.0.1]", "[::ffff:0:127.0.0.1]", "[64:ff9b::127.0.0.1]", "[2002:7f00:1::]"],
  ...["[::1%lo]", "[::%lo]", "[::1%1]", "[fe80::1%lo]", "[::1]%lo", "[::1", "::1]", "[127.0.0.1]"],
  ...["localhost", "LOCALHOST", "localhost.", "localhost..", "ip6-localhost", "localhost.localdomain", hostname()],
  ...["127.0.0.1\0.svc.cluster.local", "localhost\0.svc.cluster.local", "0.0.0.0\0.svc.cluster.local"],
  ...["127.0.0.1\0", "\0localhost", "127.0.0.1\0.192.0.2.1", "127.0.0.1\n.svc.cluster.local"],
  ...["ⓛocalhost", "ｌｏｃａｌｈｏｓｔ", "loc\u00adalhost", "local\u200dhost", "localhoſt", "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ"],
  ...["127。0。0。1", "１２７.０.０.１", "127．0．0．1", "①②⑦.⓪.⓪.①", "0｡0｡0｡0", "xn--localhost-"],
  ...[" 127.0.0.1", "127.0.0.1 ", "\t127.0.0.1", "127.0.0.1\r\n", "127.0.0.1#.svc.cluster.local"],
  ...["127.0.0.1/.svc.cluster.local", "127.0.0.1@x.svc.cluster.local", "x.svc.cluster.local@127.0.0.1"],
  ...["127.0.0.1%00.svc.cluster.local", "127.0.0.1%.svc.cluster.local", "127.0.0.1,x.svc.cluster.local"],
  ...["127.0.0.1:80@x.svc.cluster.local", "127.0.0.1\\.svc.cluster.local", "*.svc.cluster.local", ".svc.cluster.local"],
];

const addresses = ({ extra }: Target): string[] => HOSTS.map((host) => `${host}:${extra.forbiddenPort}`);

async function byGrpc(target: Target, work: Work): Promise<void> {
  for (const address of addresses(target)) {
    const socket = await work.connect(target.listeners["grpc-uds"]!);
    if (!socket) continue;
    const peer = new RawPeer(socket, "client");
    let answered = false;
    peer.onPacket = ({ type, error }) => {
      answered = true;
      if (type === PacketType.DIAL_RSP && error === "") work.violation(`${JSON.stringify(address)} was dialled`);
    };
    peer.onEnded = () => {
      answered = true;
    };
    peer.greet();
    peer.open(1, PROXY_PATH);
    peer.send(1, dialRequest(Buffer.from(address), 1n));
    void work.until(() => answered || socket.destroyed).then(() => work.drop(socket));
    if (work.openConnections > 16) await work.until(() => work.openConnections <= 8);
  }
  await work.until(() => work.openConnections === 0);
}

async function byConnect(target: Target, work: Work): Promise<void> {
  for (const address of addresses(target)) {
    const socket = await work.connect(target.listeners["connect-uds"]!);
    if (!socket) continue;
    let answer = "";
    socket.on("data", (chunk: Buffer) => {
      answer += chunk.toString("latin1");
    });
    socket.write(Buffer.from(`CONNECT ${address} HTTP/1.1\r\nHost: x\r\n\r\n`));
    void work
      .until(() => answer.includes("\r\n") || socket.destroyed)
      .then(() => {
        if (answer.startsWith("HTTP/1.1 200")) work.violation(`${JSON.stringify(address)} was dialled`);
        work.drop(socket);
      });
    if (work.openConnections > 16) await work.until(() => work.openConnections <= 8);
  }
  await work.until(() => work.openConnections === 0);
}

/** Past the server's own look at names. */
async function byServer(target: Target, work: Work): Promise<void> {
  const link = await awaitAgent(target.hostile!, work);
  if (!link) return;
  const all = addresses(target);
  const answered = new Set<bigint>();
  link.peer.onPacket = ({ type, random, error }) => {
    if (type !== PacketType.DIAL_RSP) return;
    answered.add(random);
    if (error === "") work.violation(`${JSON.stringify(all[Number(random) - 1])} was dialled`);
  };
  for (const [index, address] of all.entries()) {
    link.peer.send(link.stream, dialRequest(Buffer.from(address), BigInt(index + 1)));
    await work.sleep(2);
  }
  await work.until(() => answered.size === all.length || link.socket.destroyed);
  if (answered.size < all.length) work.note(`${all.length - answered.size} of ${all.length} dials were not answered`);
}

const ways = {
  grpc: { run: byGrpc, from: "gRPC caller" },
  connect: { run: byConnect, from: "CONNECT caller" },
  server: { run: byServer, from: "its server" },
};

export const policySpellings: readonly Attack[] = (["policy-allow", "policy-deny"] as const).flatMap((fixture) =>
  Object.entries(ways).map(([way, { run, from }]) => ({
    name: `${fixture}-${way}`,
    against: `agent with ${fixture === "policy-allow" ? "--allow" : "--deny"}, as a ${from}`,
    description: `${HOSTS.length} spellings of this host's own addresses, for endpoints that the policy forbids`,
    fixture,
    boundMiB: BOUND_MIB,
    seconds: 10,
    shortSeconds: 6,
    noSink: true,
    run,
  })),
);
