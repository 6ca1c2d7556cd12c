/** The host's side of a teardown: this host's own, or that of one which is reached over SSH. */

import { messageOf, reasonOf } from "../../../base/errors/error.js";
import { waitFor } from "../host/host.js";
import { serverProcesses } from "../host/steps/server.js";
import { callingScript } from "../ssh/host-script.js";
import { SshFailure } from "../ssh/ssh.js";
import type { Removal } from "./receipt.js";
import { type ApiServerRelease, bootkubeMarks, releaseApiServer, releaseFromBootkube } from "./release.js";
import { type HostThing, isNeededByBootkube, type TeardownSite } from "./scope.js";
import library from "./shell/remove.sh?raw";

export interface HostSide {
  /** Before all else: the kube-apiserver stops using the bridge. */
  release(): Promise<ApiServerRelease>;
  /** Server first, directories after what is in them. */
  remove(): AsyncIterable<readonly [HostThing, Removal]>;
}

export function thisHostSide(site: TeardownSite): HostSide {
  const { host, model, hostThings } = site;
  return {
    release: () => releaseApiServer(site),
    async *remove() {
      const isAtWork = model.for === "openshift" && (await host.files.status(bootkubeMarks.through)) === undefined;
      for (const thing of hostThings) {
        if (isAtWork && isNeededByBootkube(thing)) continue;
        yield [thing, await removeHere(site, thing).catch(leftBecause)] as const;
      }
    },
  };
}

const leftBecause = (reason: unknown): Removal => ({ state: "left", detail: reasonOf(reason) });

const GRACE_MS = 10_000;

async function removeHere(site: TeardownSite, thing: HostThing): Promise<Removal> {
  const { host, limit } = site;
  switch (thing.type) {
    case "static-pod": {
      const there = await host.files.remove(thing.path);
      return serverGone(site, there, "the kubelet has not ended its container yet");
    }
    case "unit": {
      const there = (await host.files.status(thing.path)) !== undefined;
      const disable = ["systemctl", "disable", "--now", thing.name];
      const { code, stderr } = there
        ? await host.run(disable, { timeoutMs: limit.requestMs(60_000) })
        : { code: 0, stderr: "" };
      if (code !== 0) return { state: "left", detail: `${disable.join(" ")} ended with ${code}: ${stderr.trim()}` };
      await host.files.remove(thing.path);
      if (there) await host.run(["systemctl", "daemon-reload"]);
      return serverGone(site, there, "systemd has not ended it yet");
    }
    case "process":
      return endProcesses(site);
    case "parent": {
      const there = (await host.files.status(thing.path)) !== undefined;
      if (await host.files.removeEmpty(thing.path)) return gone(there);
      return { state: "absent", detail: "others use it now, so it stays" };
    }
    default:
      return gone(await host.files.remove(thing.path));
  }
}

function gone(there: boolean): Removal {
  return { state: there ? "removed" : "absent", detail: "" };
}

/** Its directories may go only when nothing makes files in them any more. */
async function serverGone({ host, model, limit }: TeardownSite, there: boolean, why: string): Promise<Removal> {
  const isGone = async () => (await serverProcesses(host, model)).length === 0;
  return (await waitFor(host, limit.end, isGone)) ? gone(there) : { state: "left", detail: why };
}

/** Told to end, then made to. */
async function endProcesses({ host, model }: TeardownSite): Promise<Removal> {
  const running = await serverProcesses(host, model);
  if (running.length === 0) return gone(false);
  const isGone = async () => (await serverProcesses(host, model)).length === 0;
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    for (const { pid } of await serverProcesses(host, model)) host.signal(pid, signal);
    if (await waitFor(host, host.now() + GRACE_MS, isGone, 50)) return gone(true);
  }
  return { state: "left", detail: `process ${running.map(({ pid }) => pid).join(", ")} does not end` };
}

export interface RemoteHost {
  /** Where it answers. */
  readonly name: string;
  /** Runs a script with root's rights and gives what it prints. Throws DB_SSH. */
  run(script: string, timeoutMs: number): Promise<string>;
}

const LOOK_MS = 30_000;
/** For ssh itself, beside what the script waits for. */
const MARGIN_MS = 5_000;

/**
 * An OpenShift bootstrap host, seen from a workstation: drawbridge is not there, so a script does what is to be done.
 * When nothing answers any more, the machine is taken for gone, and what was on it with it.
 */
export function remoteHostSide(remote: RemoteHost | undefined, site: TeardownSite): HostSide {
  const { model, hostThings, limit } = site;
  /** How far bootkube.sh is; undefined when it is not known. */
  let marks: HostAnswers | undefined;
  const hasMark = (path: string): boolean => marks?.get(path)?.state === "there";
  return {
    async release() {
      if (remote === undefined) {
        const note =
          "The bootstrap machine, if there still is one: the install directory does not say where it is; name it with --bootstrap.";
        return { state: "absent", detail: "where the bootstrap host is, is not known", notes: [note] };
      }
      try {
        const looks = Object.values(bootkubeMarks).map((path) => ["look", path]);
        marks = await ask(remote, looks, LOOK_MS);
      } catch (reason) {
        return unseen(reason, remote);
      }
      return releaseFromBootkube(hasMark(bootkubeMarks.assets), hasMark(bootkubeMarks.done));
    },
    async *remove() {
      if (remote === undefined || marks === undefined) return;
      const isThrough = hasMark(bootkubeMarks.through);
      const things = hostThings.flatMap((thing) =>
        "path" in thing && (isThrough || !isNeededByBootkube(thing)) ? [thing] : [],
      );
      const seconds = Math.max(1, Math.min(60, Math.floor((limit.leftMs - MARGIN_MS) / 1000)));
      const calls = things.map((thing) => {
        if (thing.type === "unit") return ["drop_unit", thing.path, thing.name];
        if (thing.type === "static-pod") return ["drop_pod", thing.path, model.paths.socket.server, String(seconds)];
        return ["drop", thing.path];
      });
      const answers = await ask(remote, calls, seconds * 1000 + MARGIN_MS).catch(leftBecause);
      for (const thing of things)
        yield [thing, answers instanceof Map ? removalIn(answers, thing.path) : (answers as Removal)];
    },
  };
}

function unseen(reason: unknown, { name }: RemoteHost): ApiServerRelease {
  const sentence = messageOf(reason);
  if (reason instanceof SshFailure && reason.isAway) {
    const note = `The bootstrap machine, if it still exists: ${sentence} What is on it goes with it.`;
    return { state: "absent", detail: `${name} does not answer any more`, notes: [note] };
  }
  const gone = "if the machine is gone and another has its address, give --kubeconfig and no --dir";
  const warning = `${sentence.replace(/\.$/, "")}; ${gone}.`;
  return { state: "absent", detail: "the bootstrap host could not be asked", warnings: [warning], isUnknown: true };
}

/** What the script printed about each path. */
type HostAnswers = ReadonlyMap<string, { readonly state: string; readonly detail: string }>;

async function ask(remote: RemoteHost, calls: readonly (readonly string[])[], timeoutMs: number): Promise<HostAnswers> {
  const rows = (await remote.run(callingScript(library, calls), timeoutMs)).split("\n").map((line) => line.split("\t"));
  return new Map(rows.map(([path = "", state = "", detail = ""]) => [path, { state, detail }]));
}

function removalIn(answers: HostAnswers, path: string): Removal {
  const { state, detail } = answers.get(path) ?? { state: "", detail: "" };
  if (state === "removed" || state === "absent") return { state, detail };
  return { state: "left", detail: detail || "the host did not say what became of it" };
}
