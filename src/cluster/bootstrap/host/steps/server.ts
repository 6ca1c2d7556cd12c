/** The server, kept running by the kubelet, by systemd or by nobody. */
import { DrawbridgeError } from "../../../../base/errors/error.js";
import type { BridgeThing } from "../../model/created.js";
import { serverArguments } from "../../model/created.js";
import type { BridgeModel } from "../../model/model.js";
import { SERVER_NAME, SERVER_NAMESPACE, SERVER_UNIT } from "../../model/names.js";
import { type Host, type HostProcess, hasFlag, waitFor } from "../host.js";
import type { BridgeStep, Site, StepState } from "../step.js";
import { checkFile, parentsOf, placedFile, putFile } from "./host.js";

export function serverStep(site: Site): BridgeStep {
  const { host, model } = site;
  const form = forms[model.server.form](site);
  return {
    name: "server",
    title: "Server",
    makes: form.makes,
    async check() {
      const placed = await form.check();
      return placed.state === "done" ? checkServer(host, model) : placed;
    },
    async do() {
      await form.start();
      const deadline = host.now() + site.timeoutMs;
      const isUp = async (): Promise<boolean> => {
        if ((await checkServer(host, model)).state === "done") return true;
        // One that gave up does not come back by itself, unless somebody keeps it.
        if (model.server.form === "process" && (await serverProcesses(host, model)).length === 0) {
          throw await notStarted(site);
        }
        return false;
      };
      if (!(await waitFor(host, deadline, isUp))) throw await notStarted(site);
    },
  };
}

/** Every process that serves this bridge's socket, in whatever container it runs. */
export async function serverProcesses(host: Host, { paths }: BridgeModel): Promise<readonly HostProcess[]> {
  return (await host.processes()).filter((process) => hasFlag(process, "uds-name", paths.socket.server));
}

export function healthUrl({ ports }: BridgeModel, path: "/healthz" | "/readyz" | "/metrics"): string {
  return `http://127.0.0.1:${ports.serverHealth}${path}`;
}

async function checkServer(host: Host, model: BridgeModel): Promise<StepState> {
  const [process] = await serverProcesses(host, model);
  if (process === undefined) return { state: "missing", detail: "it does not run" };
  const answer = await host.ask(healthUrl(model, "/healthz"));
  if (answer?.status !== 200) return { state: "missing", detail: `process ${process.pid} is not healthy` };
  return { state: "done", detail: `process ${process.pid} is healthy` };
}

interface Form {
  makes(): Promise<readonly BridgeThing[]>;
  check(): Promise<StepState>;
  start(): Promise<void>;
}

const forms: Readonly<Record<BridgeModel["server"]["form"], (site: Site) => Form>> = {
  "static-pod": (site) => {
    const file = placedFile(site, site.model.paths.staticPod);
    const thing: BridgeThing = { type: "static-pod", path: file.path, namespace: SERVER_NAMESPACE, name: SERVER_NAME };
    return {
      makes: async () => [...(await parentsOf(site.host, file)), thing],
      check: () => checkFile(site.host, file),
      start: () => putFile(site.host, file),
    };
  },
  systemd: (site) => {
    const { host } = site;
    const file = placedFile(site, site.model.paths.unit);
    const systemctl = async (...words: string[]): Promise<void> => {
      const { code, stderr } = await host.run(["systemctl", ...words]);
      if (code === 0) return;
      const sentence = `systemctl ${words.join(" ")} ended with ${code}: ${stderr.trim()}`;
      throw new DrawbridgeError("DB_SERVER_START", sentence);
    };
    return {
      makes: async () => [...(await parentsOf(host, file)), { type: "unit", path: file.path, name: SERVER_UNIT }],
      check: () => checkFile(host, file),
      async start() {
        await putFile(host, file);
        await systemctl("daemon-reload");
        await systemctl("enable", SERVER_UNIT);
        await systemctl("restart", SERVER_UNIT);
      },
    };
  },
  process: (site) => {
    const { host, model, keeper } = site;
    const pidFile = keeper.file("server.pid");
    return {
      makes: async () => [{ type: "process", socket: model.paths.socket.server }],
      // What matters is the process itself; the file is for people.
      check: async () => ({ state: "done", detail: "" }),
      async start() {
        const [running] = await serverProcesses(host, model);
        const argv = [model.server.program, ...serverArguments(model)];
        const pid = running?.pid ?? (await host.launch(argv, host.files.real(serverLog(site))));
        await host.files.write(pidFile, `${pid}\n`, 0o644);
      },
    };
  },
};

export function serverLog({ keeper }: Pick<Site, "keeper">): string {
  return keeper.file("server.log");
}

async function notStarted(site: Site): Promise<DrawbridgeError> {
  const { host, model } = site;
  const { detail } = await checkServer(host, model);
  const last = model.server.form === "process" ? lastLine(await host.files.read(serverLog(site))) : "";
  const log = last === "" ? "" : `; its last words: ${last}`;
  return new DrawbridgeError("DB_SERVER_START", `The server did not come up (${detail})${log}.`);
}

function lastLine(log: string | undefined): string {
  return log?.trim().split("\n").at(-1)?.slice(0, 500) ?? "";
}
