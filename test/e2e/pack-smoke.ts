/** The story that every shipped form has to tell: certificates, a server, an agent, and bytes through them. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readToEnd } from "../support/callers/bytes.js";
import { askFrontend, connectRequest } from "../support/callers/connect.js";
import { LabProcess } from "../support/lab/process.js";
import { must } from "../support/lab/run.js";
import type { Scope } from "../support/lab/scope.js";
import { until } from "../support/lab/wait.js";
import { freePorts } from "../support/processes/ports.js";

/** One of the forms, installed. */
export interface Form {
  readonly name: string;
  /** A folder that its programs see under the same path, and may write to. */
  readonly folder: string;
  /** What to run here for one of its programs to run there. */
  command(program: string, ...args: string[]): [string, ...string[]];
}

export interface Story {
  /** What an endpoint said through the tunnel: the agent's own health port, which is beside it in whatever network. */
  readonly health: string;
  /** The live page, by the same way. */
  readonly page: string;
}

export async function smoke(scope: Scope, form: Form): Promise<Story> {
  const pki = join(form.folder, "pki");
  const socket = join(form.folder, "frontend.sock");
  const [agentPort, healthPort, adminPort, agentHealth, agentAdmin] = await freePorts(5);
  await must(form.command("drawbridge", "pki", "init", "--profile=bootstrap", `--dir=${pki}`, "--ip=127.0.0.1"));
  const ca = join(pki, "ca.crt");
  const token = join(form.folder, "token");
  writeFileSync(token, "no secret, but as long as one\n", { mode: 0o644 });
  const pair = (name: string) => ({ cert: join(pki, `${name}.crt`), key: join(pki, `${name}.key`) });
  const server = start(scope, form, "proxy-server", [
    ...["--mode=http-connect", "--server-port=0", `--uds-name=${socket}`],
    ...[`--cluster-cert=${pair("server").cert}`, `--cluster-key=${pair("server").key}`, `--cluster-ca-cert=${ca}`],
    ...[
      `--agent-port=${agentPort}`,
      `--health-port=${healthPort}`,
      `--admin-port=${adminPort}`,
      `--admin-token-file=${token}`,
    ],
  ]);
  await server.ready("its socket", 60_000, () => existsSync(socket));
  const agent = start(scope, form, "proxy-agent", [
    ...["--proxy-server-host=127.0.0.1", `--proxy-server-port=${agentPort}`],
    ...[`--agent-cert=${pair("agent").cert}`, `--agent-key=${pair("agent").key}`, `--ca-cert=${ca}`],
    ...[`--health-server-port=${agentHealth}`, `--admin-server-port=${agentAdmin}`, "--drain-timeout=1s"],
  ]);
  const health = await until(`an answer through the tunnel of the ${form.name}`, 60_000, () =>
    agent.alive ? ask(socket, `127.0.0.1:${agentHealth}`, "/healthz") : Promise.reject(new Error(agent.log())),
  );
  const page = (await ask(socket, `127.0.0.1:${adminPort}`, "/")) ?? "";
  // The containers of an image are taken away by the program that runs them, when it is asked to end.
  for (const running of [agent, server]) await running.stop();
  return { health, page };
}

function start(scope: Scope, form: Form, program: string, args: readonly string[]): LabProcess {
  return LabProcess.start(scope, { name: `${form.name}-${program}`, command: form.command(program, ...args) });
}

async function ask(path: string, target: string, page: string): Promise<string | undefined> {
  const { status, socket } = await askFrontend({ transport: "uds", path }, connectRequest(target));
  try {
    if (status !== 200) return undefined;
    socket.write(`GET ${page} HTTP/1.1\r\nHost: ${target}\r\nConnection: close\r\n\r\n`);
    return (await readToEnd(socket)).bytes.toString("utf8");
  } finally {
    socket.destroy();
  }
}
