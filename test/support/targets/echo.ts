import { listen, type Target } from "./listener.js";

/** Sends back what it gets, and ends when its peer ends. */
export function startEcho(): Promise<Target> {
  return listen((socket) => socket.pipe(socket));
}

/** Speaks first, in the same moment it accepts; then echoes. */
export function startBanner(banner: string | Buffer): Promise<Target> {
  return listen((socket) => {
    socket.write(banner);
    socket.pipe(socket);
  });
}
