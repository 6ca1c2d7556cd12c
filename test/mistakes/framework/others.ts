/** Programs of others that stand where ours were told to go. */
import { PORT, type Stage } from "./stage.js";

export interface WebAnswer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  readonly location?: string;
}

async function startScript(stage: Stage, name: string, code: string): Promise<void> {
  await stage.start(name, [process.execPath, "-e", code]).log.waitFor(/listens/, 10_000);
}

/** A web server with a good certificate that gives everybody the same answer. */
export async function startWeb(stage: Stage, { status, type, body, location }: WebAnswer): Promise<string> {
  const { cert, key } = stage.pki.server;
  const headers = { "content-type": type, ...(location && { location }) };
  const code = `
    const { readFileSync } = require("node:fs");
    const files = { cert: readFileSync(${JSON.stringify(cert)}), key: readFileSync(${JSON.stringify(key)}) };
    require("node:https")
      .createServer(files, (question, answer) => answer.writeHead(${status}, ${JSON.stringify(headers)}).end(${JSON.stringify(body)}))
      .listen(${PORT.target}, "127.0.0.1", () => console.log("listens"));`;
  await startScript(stage, "web server", code);
  return `https://127.0.0.1:${PORT.target}`;
}

/** An HTTP proxy that answers every CONNECT with this status. */
export async function startProxy(stage: Stage, status: number): Promise<string> {
  const code = `
    require("node:http").createServer()
      .on("connect", (question, socket) => {
        socket.on("error", () => {});
        socket.end("HTTP/1.1 ${status} No\\r\\nProxy-Authenticate: Basic realm=net\\r\\nContent-Length: 0\\r\\n\\r\\n");
      })
      .listen(${PORT.target}, "127.0.0.1", () => console.log("listens"));`;
  await startScript(stage, "proxy", code);
  return `http://127.0.0.1:${PORT.target}`;
}
