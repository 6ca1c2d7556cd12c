/** The host's side of a teardown: this host's own, or that of one which is reached over SSH. */

import { messageOf } from "../../../base/errors/error.js";
import { type Host, waitFor } from "../host/host.js";
import { serverProcesses } from "../host/steps/server.js";
import type { BridgeThing } from "../model/created.js";
import type { BridgeModel } from "../model/model.js";
import { openshiftHost } from "../model/names.js";
import { SshFailure } from "../ssh/ssh.js";
import type { Removal } from "./receipt.js";
import {
  type ApiServerRelease,
  bootkubeMarks,
  type ReleaseInput,
  releaseApiServer,
  released,
  type TeardownLimit,
} from "./release.js";
import { isNeededByBootkube } from "./scope.js";
import library from "./shell/remove.sh?raw";

export interface HostSide {
  /** Before all else: the kube-apiserver stops using the bridge. */
  release(): Promise<ApiServerRelease>;
  /** Server first, directories after what is in them. */
  remove(): AsyncIterable<readonly [BridgeThing, Removal]>;
  /** Whether it is unknown what is left there. */
  readonly isUnknown: boolean;
  /** What only somebody else can see to; one sentence each. */
  readonly notes: readonly string[];
}

export function thisHostSide(input: ReleaseInput, things: readonly BridgeThing[]): HostSide {
  const { host, model, limit } = input;
  return {
    release: () => releaseApiServer(input),
    async *remove() {
      const isAtWork = model.for === "openshift" && (await host.files.status(bootkubeMarks.through)) === undefined;
      for (const thing of things) {
        if (isAtWork && isNeededByBootkube(thing)) continue;
        yield [thing, await removeHostThing(host, model, thing, limit).catch(leftBecause)] as const;
      }
    },
    isUnknown: false,
    notes: [],
  };
}

const leftBecause = (reason: unknown): Removal => ({ state: "left", detail: messageOf(reason).replace(/\.$/, "") });

const GRACE_MS = 10_000;

async function removeHostThing(
  host: Host,
  model: BridgeModel,
  thing: BridgeThing,
  limit: TeardownLimit,
): Promise<Removal> {
  switch (thing.type) {
    case "static-pod": {
      const there = await host.files.remove(thing.path);
      return serverGone(host, model, there, limit, "the kubelet has not ended its container yet");
    }
    case "unit":
      return removeUnit(host, model, thing, limit);
    case "process":
      return endProcesses(host, model);
    case "parent": {
      const there = (await host.files.status(thing.path)) !== undefined;
      if (await host.files.removeEmpty(thing.path)) return gone(there);
      return { state: "absent", detail: "others use it now, so it stays" };
    }
    case "socket":
    case "file":
    case "directory":
      return gone(await host.files.remove(thing.path));
    default:
      throw new Error(`a ${thing.type} is not a thing of the host`);
  }
}

function gone(there: boolean): Removal {
  return { state: there ? "removed" : "absent", detail: "" };
}

async function removeUnit(
  host: Host,
  model: BridgeModel,
  { path, name }: Extract<BridgeThing, { type: "unit" }>,
  limit: TeardownLimit,
): Promise<Removal> {
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
): Promise<Removal> {
  const isGone = async () => (await serverProcesses(host, model)).length === 0;
  return (await waitFor(host, limit.end, isGone)) ? gone(there) : { state: "left", detail: why };
}

/** Told to end, then made to. */
async function endProcesses(host: Host, model: BridgeModel): Promise<Removal> {
  const running = await serverProcesses(host, model);
  if (running.length === 0) return gone(false);
  const isGone = async () => (await serverProcesses(host, model)).length === 0;
  for (const { pid } of running) host.signal(pid, "SIGTERM");
  if (await waitFor(host, host.now() + GRACE_MS, isGone, 50)) return gone(true);
  for (const { pid } of await serverProcesses(host, model)) host.signal(pid, "SIGKILL");
  if (await waitFor(host, host.now() + GRACE_MS, isGone, 50)) return gone(true);
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
export class RemoteHostSide implements HostSide {
  readonly notes: string[] = [];
  isUnknown = false;
  readonly #host: RemoteHost | undefined;
  readonly #model: BridgeModel;
  readonly #things: readonly BridgeThing[];
  readonly #limit: TeardownLimit;
  /** How far bootkube.sh is; undefined when it is not known. */
  #marks: ReadonlyMap<string, Answer> | undefined;

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
      const looked = [assets, bootkubeMarks.done, bootkubeMarks.through].map((path) => ["look", path]);
      this.#marks = await this.#ask(looked, LOOK_MS);
    } catch (reason) {
      return this.#unseen(reason, this.#host);
    }
    return this.#hasMark(assets) && !this.#hasMark(bootkubeMarks.done) ? bootkubeMarks.release : released();
  }

  async *remove(): AsyncGenerator<readonly [BridgeThing, Removal]> {
    if (this.#marks === undefined) return;
    const isThrough = this.#hasMark(bootkubeMarks.through);
    const things = this.#things.flatMap((thing) =>
      "path" in thing && (isThrough || !isNeededByBootkube(thing)) ? [thing] : [],
    );
    const seconds = Math.max(1, Math.min(60, Math.floor((this.#limit.leftMs - MARGIN_MS) / 1000)));
    const calls = things.map(({ type, path }) =>
      type === "static-pod" ? ["drop_pod", path, this.#model.paths.socket.server, String(seconds)] : ["drop", path],
    );
    let removalOf: (path: string) => Removal;
    try {
      const answers = await this.#ask(calls, seconds * 1000 + MARGIN_MS);
      removalOf = (path) => removalIn(answers, path);
    } catch (reason) {
      this.isUnknown = true;
      removalOf = () => leftBecause(reason);
    }
    for (const thing of things) yield [thing, removalOf(thing.path)];
  }

  #hasMark(path: string): boolean {
    return this.#marks?.get(path)?.state === "there";
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

  async #ask(calls: readonly (readonly string[])[], timeoutMs: number): Promise<Map<string, Answer>> {
    const lines = calls.map((call) => `  ${call.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ")}`);
    // In a function, so that bash has read it all before any command could read from the same input.
    const script = `${library}\nanswer() {\n${lines.join("\n")}\n}\nanswer </dev/null\n`;
    const text = (await this.#host?.run(script, timeoutMs)) ?? "";
    return new Map(
      text.split("\n").map((line) => {
        const [path = "", state = "", detail = ""] = line.split("\t");
        return [path, { state, detail }];
      }),
    );
  }
}

interface Answer {
  readonly state: string;
  readonly detail: string;
}

function removalIn(answers: ReadonlyMap<string, Answer>, path: string): Removal {
  const { state, detail } = answers.get(path) ?? { state: "", detail: "" };
  if (state === "removed" || state === "absent") return { state, detail };
  return { state: "left", detail: detail || "the host did not say what became of it" };
}
