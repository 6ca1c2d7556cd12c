/** The server, kept running by the kubelet, by systemd or by nobody. */
import { DrawbridgeError } from "../../../../base/errors/error.js";
import { serverArguments, serverThing } from "../../model/created.js";
import type { BridgeModel } from "../../model/model.js";
import { SERVER_UNIT } from "../../model/names.js";
import { type Host, type HostProcess, hasFlag, waitFor } from "../host.js";
import type { BridgeStep, Site, StepState } from "../step.js";
import { placedFile } from "./host.js";

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
      await form.do();
      const isUp = async (): Promise<boolean> => {
        if ((await checkServer(host, model)).state === "done") return true;
        // One that gave up does not come back by itself, unless somebody keeps it.
        if (model.server.form === "process" && (await serverProcesses(host, model)).length === 0)
          throw await notStarted(site);
        return false;
      };
      if (!(await waitFor(host, host.now() + site.timeoutMs, isUp))) throw await notStarted(site);
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

type Form = Pick<BridgeStep, "makes" | "check" | "do">;

const forms: Readonly<Record<BridgeModel["server"]["form"], (site: Site) => Form>> = {
  "static-pod": (site) => placedFile(site, site.model.paths.staticPod, serverThing(site.model)),
  systemd: (site) => {
    const { host, model } = site;
    const unit = placedFile(site, model.paths.unit, serverThing(model));
    const systemctl = async (...words: string[]): Promise<void> => {
      const { code, stderr } = await host.run(["systemctl", ...words]);
      if (code === 0) return;
      const sentence = `systemctl ${words.join(" ")} ended with ${code}: ${stderr.trim()}`;
      throw new DrawbridgeError("DB_SERVER_START", sentence);
    };
    return {
      ...unit,
      async do() {
        await unit.do();
        await systemctl("daemon-reload");
        await systemctl("enable", SERVER_UNIT);
        await systemctl("restart", SERVER_UNIT);
      },
    };
  },
  process: ({ host, model, keeper }) => ({
    makes: async () => [serverThing(model)],
    // What matters is the process itself; the file is for people.
    check: async () => ({ state: "done", detail: "" }),
    async do() {
      const [running] = await serverProcesses(host, model);
      const argv = [model.server.program, ...serverArguments(model)];
      const pid = running?.pid ?? (await host.launch(argv, host.files.real(keeper.file("server.log"))));
      await host.files.write(keeper.file("server.pid"), `${pid}\n`, 0o644);
    },
  }),
};

async function notStarted({ host, keeper, model }: Site): Promise<DrawbridgeError> {
  const { detail } = await checkServer(host, model);
  const log = model.server.form === "process" ? await host.files.read(keeper.file("server.log")) : undefined;
  const last = log?.trim().split("\n").at(-1)?.slice(0, 500) ?? "";
  const words = last === "" ? "" : `; its last words: ${last}`;
  return new DrawbridgeError("DB_SERVER_START", `The server did not come up (${detail})${words}.`);
}
