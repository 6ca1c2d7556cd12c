/** Takes the bridge's server, socket, certificates and files from the host. */
import { messageOf } from "../../../base/errors/error.js";
import { type Host, waitFor } from "../host/host.js";
import type { Opened } from "../host/opened.js";
import { serverProcesses } from "../host/steps/server.js";
import type { BridgeModel } from "../model/model.js";
import type { Limit } from "./limit.js";
import type { FinalState } from "./receipt.js";

export interface Removed {
  readonly state: FinalState;
  readonly detail: string;
}

const GRACE_MS = 10_000;

export async function removeHostThing(host: Host, model: BridgeModel, thing: Opened, limit: Limit): Promise<Removed> {
  try {
    switch (thing.type) {
      case "static-pod": {
        const there = await host.files.remove(thing.path);
        return serverGone(host, model, there, limit, "the kubelet has not ended its container yet");
      }
      case "unit":
        return await removeUnit(host, model, thing, limit);
      case "process":
        return await endProcesses(host, model);
      case "parent": {
        const before = await host.files.look(thing.path);
        if (before === undefined) return gone(false);
        return (await host.files.removeEmpty(thing.path))
          ? gone(true)
          : { state: "absent", detail: "others use it now, so it stays" };
      }
      case "socket":
      case "file":
      case "directory":
        return gone(await host.files.remove(thing.path));
      default:
        throw new Error(`a ${thing.type} is not a thing of the host`);
    }
  } catch (reason) {
    return { state: "left", detail: messageOf(reason).replace(/\.$/, "") };
  }
}

function gone(there: boolean): Removed {
  return { state: there ? "removed" : "absent", detail: "" };
}

async function removeUnit(
  host: Host,
  model: BridgeModel,
  { path, name }: Extract<Opened, { type: "unit" }>,
  limit: Limit,
): Promise<Removed> {
  const there = (await host.files.look(path)) !== undefined;
  if (there) {
    const { code, stderr } = await host.run(["systemctl", "disable", "--now", name], {
      timeoutMs: limit.requestMs(60_000),
    });
    if (code !== 0)
      return { state: "left", detail: `systemctl disable --now ${name} ended with ${code}: ${stderr.trim()}` };
  }
  await host.files.remove(path);
  if (there) await host.run(["systemctl", "daemon-reload"]);
  return serverGone(host, model, there, limit, "systemd has not ended it yet");
}

/** Its directories may go only when nothing makes files in them any more. */
async function serverGone(host: Host, model: BridgeModel, there: boolean, limit: Limit, why: string): Promise<Removed> {
  const isGone = async () => (await serverProcesses(host, model)).length === 0;
  return (await waitFor(host, limit.end, isGone)) ? gone(there) : { state: "left", detail: why };
}

/** Told to end, then made to. */
async function endProcesses(host: Host, model: BridgeModel): Promise<Removed> {
  const running = await serverProcesses(host, model);
  if (running.length === 0) return gone(false);
  const isGone = async () => (await serverProcesses(host, model)).length === 0;
  for (const { pid } of running) host.signal(pid, "SIGTERM");
  if (await waitFor(host, host.now() + GRACE_MS, isGone, 50)) return gone(true);
  for (const { pid } of await serverProcesses(host, model)) host.signal(pid, "SIGKILL");
  if (await waitFor(host, host.now() + GRACE_MS, isGone, 50)) return gone(true);
  return { state: "left", detail: `process ${running.map(({ pid }) => pid).join(", ")} does not end` };
}
