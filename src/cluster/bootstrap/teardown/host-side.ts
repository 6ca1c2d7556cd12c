/** The host's side of a teardown: this host's own, or that of one which is reached over SSH. */

import { messageOf } from "../../../base/errors/error.js";
import { type Host, waitFor } from "../host/host.js";
import type { BridgeThing } from "../host/record.js";
import { serverProcesses } from "../host/steps/server.js";
import type { BridgeModel } from "../model/model.js";
import { openshiftHost } from "../model/names.js";
import { SshFailure } from "../ssh/ssh.js";
import type { FinalState } from "./receipt.js";
import {
  type ApiServerRelease,
  bootkubeMarks,
  type ReleaseInput,
  releaseApiServer,
  released,
  type TeardownLimit,
} from "./release.js";
import { isNeeded } from "./scope.js";
import library from "./shell/remove.sh?raw";

export interface RemovedThing extends Removed {
  readonly thing: BridgeThing;
}

export interface HostSide {
  /** Before all else: the kube-apiserver lets go. */
  release(): Promise<ApiServerRelease>;
  /** Server first, directories after what is in them. */
  remove(): AsyncIterable<RemovedThing>;
  /** Whether it is unknown what is left there. */
  readonly isUnknown: boolean;
  /** What only somebody else can see to; one sentence each. */
  readonly notes: readonly string[];
}

export function thisHostSide(input: ReleaseInput, things: readonly BridgeThing[]): HostSide {
  const { host, model, limit } = input;
  return {
    release: () => releaseApiServer(input),
    remove: () => removeInTurn(host, model, things, limit),
    isUnknown: false,
    notes: [],
  };
}

async function* removeInTurn(host: Host, model: BridgeModel, things: readonly BridgeThing[], limit: TeardownLimit) {
  for (const thing of things) yield { thing, ...(await removeHostThing(host, model, thing, limit)) };
}

// Takes the bridge's server, socket, certificates and files from the host.

export interface Removed {
  readonly state: FinalState;
  readonly detail: string;
}

const GRACE_MS = 10_000;

export async function removeHostThing(
  host: Host,
  model: BridgeModel,
  thing: BridgeThing,
  limit: TeardownLimit,
): Promise<Removed> {
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
        const before = await host.files.status(thing.path);
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
  { path, name }: Extract<BridgeThing, { type: "unit" }>,
  limit: TeardownLimit,
): Promise<Removed> {
  const there = (await host.files.status(path)) !== undefined;
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
async function serverGone(
  host: Host,
  model: BridgeModel,
  there: boolean,
  limit: TeardownLimit,
  why: string,
): Promise<Removed> {
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

// An OpenShift bootstrap host, seen from a workstation: drawbridge is not there, so a script does what is to be done. When
// nothing answers any more, the machine is taken for gone, and what was on it with it.

export interface RemoteHost {
  /** Where it answers. */
  readonly name: string;
  /** Runs a script with root's rights and gives what it prints. Throws DB_SSH. */
  run(script: string, timeoutMs: number): Promise<string>;
}

interface Answer {
  readonly path: string;
  readonly state: string;
  readonly detail: string;
}

const LOOK_MS = 30_000;
/** For ssh itself, beside what the script waits for. */
const MARGIN_MS = 5_000;

export class RemoteHostSide implements HostSide {
  readonly notes: string[] = [];
  isUnknown = false;
  readonly #host: RemoteHost | undefined;
  readonly #model: BridgeModel;
  readonly #things: readonly BridgeThing[];
  readonly #limit: TeardownLimit;
  /** What it has of these; undefined when nobody can tell. */
  #marks: ReadonlySet<string> | undefined;

  constructor(host: RemoteHost | undefined, model: BridgeModel, things: readonly BridgeThing[], limit: TeardownLimit) {
    this.#host = host;
    this.#model = model;
    this.#things = things;
    this.#limit = limit;
  }

  async release(): Promise<ApiServerRelease> {
    if (this.#host === undefined) {
      this.notes.push(
        "The bootstrap machine, if there still is one: the install directory does not say where it is; name it with --bootstrap.",
      );
      return released("where the bootstrap host is, is not known");
    }
    const { assets } = openshiftHost;
    try {
      const answers = await this.#ask(
        [assets, bootkubeMarks.done, bootkubeMarks.through].map((path) => ["look", path]),
        LOOK_MS,
      );
      this.#marks = new Set(answers.filter(({ state }) => state === "there").map(({ path }) => path));
    } catch (reason) {
      return this.#unseen(reason, this.#host);
    }
    const isAtWork = this.#marks.has(assets) && !this.#marks.has(bootkubeMarks.done);
    return isAtWork ? bootkubeMarks.release : released();
  }

  async *remove(): AsyncGenerator<RemovedThing> {
    const marks = this.#marks;
    if (marks === undefined) return;
    const isThrough = marks.has(bootkubeMarks.through);
    const things = this.#things.filter((thing) => "path" in thing && (isThrough || !isNeeded(thing.path)));
    const seconds = Math.max(1, Math.min(60, Math.floor((this.#limit.leftMs - MARGIN_MS) / 1000)));
    let answers: readonly Answer[];
    try {
      answers = await this.#ask(
        things.flatMap((thing) => callFor(thing, this.#model, seconds)),
        seconds * 1000 + MARGIN_MS,
      );
    } catch (reason) {
      this.isUnknown = true;
      for (const thing of things) yield { thing, state: "left", detail: messageOf(reason).replace(/\.$/, "") };
      return;
    }
    for (const thing of things) yield { thing, ...stateOf(thing, answers) };
  }

  #unseen(reason: unknown, { name }: RemoteHost): ApiServerRelease {
    const sentence = messageOf(reason);
    if (reason instanceof SshFailure && reason.isAway) {
      this.notes.push(`The bootstrap machine, if it still exists: ${sentence} What is on it goes with it.`);
      return released(`${name} does not answer any more`);
    }
    this.isUnknown = true;
    const gone = "if the machine is gone and another has its address, give --kubeconfig and no --dir";
    return {
      ...released("the bootstrap host could not be asked"),
      warnings: [`${sentence.replace(/\.$/, "")}; ${gone}.`],
    };
  }

  async #ask(calls: readonly (readonly string[])[], timeoutMs: number): Promise<Answer[]> {
    const lines = calls.map((words) => `  ${words.map(quoted).join(" ")}`);
    // In a function, so that bash has read it all before any command could read from the same input.
    const script = `${library}\nanswer() {\n${lines.join("\n")}\n}\nanswer </dev/null\n`;
    const text = (await this.#host?.run(script, timeoutMs)) ?? "";
    return text.split("\n").flatMap((line) => {
      const [path = "", state = "", detail = ""] = line.split("\t");
      return state === "" ? [] : [{ path, state, detail }];
    });
  }
}

function callFor(thing: BridgeThing, { paths }: BridgeModel, seconds: number): string[][] {
  if (!("path" in thing)) return [];
  if (thing.type === "static-pod") return [["drop_pod", thing.path, paths.socket.server, String(seconds)]];
  return [["drop", thing.path]];
}

function stateOf(thing: BridgeThing, answers: readonly Answer[]): Pick<RemovedThing, "state" | "detail"> {
  const answer = answers.find(({ path }) => "path" in thing && path === thing.path);
  if (answer?.state === "removed" || answer?.state === "absent") return { state: answer.state, detail: answer.detail };
  return { state: "left", detail: answer?.detail || "the host did not say what became of it" };
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
