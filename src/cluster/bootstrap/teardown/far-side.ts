/**
 * An OpenShift bootstrap host, seen from a workstation: drawbridge is not there, so a script does what is to be done. When
 * nothing answers any more, the machine is taken for gone, and what was on it with it.
 */
import { messageOf } from "../../../base/errors/error.js";
import type { Opened } from "../host/opened.js";
import type { BridgeModel } from "../model/model.js";
import { openshiftHost } from "../model/paths.js";
import { SshFailure } from "../ssh/ssh.js";
import type { HostSide, RemovedThing } from "./host-side.js";
import type { Limit } from "./limit.js";
import type { Release } from "./release.js";
import { atWork, letGo } from "./release-openshift.js";
import { isNeeded } from "./scope.js";
import library from "./shell/remove.sh?raw";

export interface FarHost {
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

export class FarSide implements HostSide {
  readonly notes: string[] = [];
  isUnknown = false;
  readonly #host: FarHost | undefined;
  readonly #model: BridgeModel;
  readonly #things: readonly Opened[];
  readonly #limit: Limit;
  /** What it has of these; undefined when nobody can tell. */
  #marks: ReadonlySet<string> | undefined;

  constructor(host: FarHost | undefined, model: BridgeModel, things: readonly Opened[], limit: Limit) {
    this.#host = host;
    this.#model = model;
    this.#things = things;
    this.#limit = limit;
  }

  async release(): Promise<Release> {
    if (this.#host === undefined) {
      this.notes.push(
        "The bootstrap machine, if there still is one: the install directory does not say where it is; name it with --bootstrap.",
      );
      return letGo("where the bootstrap host is, is not known");
    }
    const { assets } = openshiftHost;
    try {
      const answers = await this.#ask(
        [assets, atWork.done, atWork.through].map((path) => ["look", path]),
        LOOK_MS,
      );
      this.#marks = new Set(answers.filter(({ state }) => state === "there").map(({ path }) => path));
    } catch (reason) {
      return this.#unseen(reason, this.#host);
    }
    const isAtWork = this.#marks.has(assets) && !this.#marks.has(atWork.done);
    return isAtWork ? atWork.release : letGo();
  }

  async *remove(): AsyncGenerator<RemovedThing> {
    const marks = this.#marks;
    if (marks === undefined) return;
    const isThrough = marks.has(atWork.through);
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

  #unseen(reason: unknown, { name }: FarHost): Release {
    const sentence = messageOf(reason);
    if (reason instanceof SshFailure && reason.isAway) {
      this.notes.push(`The bootstrap machine, if it still exists: ${sentence} What is on it goes with it.`);
      return letGo(`${name} does not answer any more`);
    }
    this.isUnknown = true;
    const gone = "if the machine is gone and another has its address, give --kubeconfig and no --dir";
    return {
      ...letGo("the bootstrap host could not be asked"),
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

function callFor(thing: Opened, { paths }: BridgeModel, seconds: number): string[][] {
  if (!("path" in thing)) return [];
  if (thing.type === "static-pod") return [["drop_pod", thing.path, paths.socket.server, String(seconds)]];
  return [["drop", thing.path]];
}

function stateOf(thing: Opened, answers: readonly Answer[]): Pick<RemovedThing, "state" | "detail"> {
  const answer = answers.find(({ path }) => "path" in thing && path === thing.path);
  if (answer?.state === "removed" || answer?.state === "absent") return { state: answer.state, detail: answer.detail };
  return { state: "left", detail: answer?.detail || "the host did not say what became of it" };
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
