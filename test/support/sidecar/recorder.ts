/** Stands before a CONNECT frontend on a unix socket and keeps what callers say first, byte for byte. */
import { connect, createServer, type Socket } from "node:net";

export interface Recorder {
  readonly path: string;
  /** The head of every request so far. */
  readonly heads: string[];
  /** What stands behind CONNECT in each of them. */
  readonly targets: string[];
  /** Targets that are passed on to the real frontend; others are refused here. Undefined: all are. */
  only: string | undefined;
  forget(): void;
  close(): Promise<void>;
}

const HEAD_END = "\r\n\r\n";

export async function startRecorder(path: string, frontend: string): Promise<Recorder> {
  const heads: string[] = [];
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.once("close", () => sockets.delete(socket));
  };
  const passOn = (caller: Socket, start: Buffer): void => {
    const onward = keep(connect({ path: frontend, allowHalfOpen: true }));
    caller.on("error", () => onward.destroy());
    onward.on("error", () => caller.destroy());
    onward.write(start);
    caller.pipe(onward).pipe(caller);
  };
  const server = createServer({ allowHalfOpen: true }, (caller) => {
    keep(caller).on("error", () => {});
    let bytes: Buffer = Buffer.alloc(0);
    const onData = (chunk: Buffer): void => {
      bytes = Buffer.concat([bytes, chunk]);
      const end = bytes.indexOf(HEAD_END);
      if (end < 0) return;
      caller.off("data", onData);
      heads.push(bytes.toString("latin1", 0, end + HEAD_END.length));
      if (recorder.only === undefined || targetOf(heads.at(-1)!) === recorder.only) passOn(caller, bytes);
      else caller.end(`HTTP/1.1 502 Bad Gateway${HEAD_END}connection refused`);
    };
    caller.on("data", onData);
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const recorder: Recorder = {
    path,
    heads,
    only: undefined,
    get targets() {
      return heads.map(targetOf);
    },
    forget() {
      heads.length = 0;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
  return recorder;
}

function targetOf(head: string): string {
  return /^CONNECT (\S+) /.exec(head)?.[1] ?? head;
}
