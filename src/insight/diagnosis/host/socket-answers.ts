import { connect } from "node:net";

/** Whether somebody takes connections on a Unix socket. */
export function socketAnswers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const end = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("connect", () => end(true)).once("error", () => end(false));
  });
}
