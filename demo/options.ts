import { parseArgs } from "node:util";
import { messageOf } from "../src/base/errors/error.js";

export interface Options {
  readonly output: "text" | "json";
  readonly isolation: "auto" | "namespace" | "simulated";
  readonly caller: "auto" | "stand-in";
  /** Another one than the usual: a flag of its own each. */
  readonly story: (typeof STORIES)[number] | undefined;
}

const STORIES = ["bootstrap", "hosted", "nodes"] as const;

const CHOICES = {
  output: ["text", "json"],
  isolation: ["auto", "namespace", "simulated"],
  caller: ["auto", "stand-in"],
} as const satisfies Record<Exclude<keyof Options, "story">, readonly string[]>;

export const HELP = `Shows what drawbridge is for: a control plane reaches a webhook in a network it has no route to.

Usage:
  npm run demo -- [flags]

Flags:
  -h, --help               this text
  -o, --output string      text, or json: progress on stderr, the result on stdout (default "text")
      --isolation string   namespace: the webhook is in a network of its own; simulated: a stand-in on loopback;
                           auto: a namespace where the system allows one, with or without root (default "auto")
      --caller string      stand-in: the demo calls as kube-apiserver would; auto: a real kube-apiserver where one
                           is there together with etcd (npm run peers, or PATH) (default "auto")
      --bootstrap          the whole life of a bootstrap bridge on real nodes: up, webhook call, agent lost and back,
                           verify, teardown, receipt (needs root and npm run peers; takes about a minute)
      --hosted             a hosted cluster whose control plane is pods of another one: its kube-apiservers are rolled
                           out and a pod is killed while callers go on and on, and their calls are counted (needs root
                           and npm run peers; takes about three minutes)
      --nodes              a pool, its Ignition server, two machines that become nodes and a forged request that is
                           refused: in a real API server where one is there with etcd and kube-controller-manager (npm
                           run peers; takes half a minute), else in a directory (needs nothing but Node; ten seconds)

Nothing stays behind: processes, namespaces and files go at the end, also after Ctrl-C. The exit code is 0 only when
every step passed. With npm, "npm run --silent demo -- --output json" keeps npm's own lines out of the output.
`;

/** Throws an Error with one sentence; undefined means that help was asked for. */
export function parseOptions(args: readonly string[]): Options | undefined {
  const { values } = parse(args);
  if (values.help) return undefined;
  const [story, another] = STORIES.filter((name) => values[name]);
  if (another !== undefined) throw new Error(`--${story} and --${another} are two stories: choose one`);
  return {
    output: choice("output", values.output),
    isolation: choice("isolation", values.isolation),
    caller: choice("caller", values.caller),
    story,
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        help: { type: "boolean", short: "h", default: false },
        output: { type: "string", short: "o", default: "text" },
        isolation: { type: "string", default: "auto" },
        caller: { type: "string", default: "auto" },
        bootstrap: { type: "boolean", default: false },
        hosted: { type: "boolean", default: false },
        nodes: { type: "boolean", default: false },
      },
    });
  } catch (reason) {
    throw new Error(`${messageOf(reason).split(". ")[0]}; --help lists the flags`);
  }
}

function choice<Name extends keyof typeof CHOICES>(name: Name, value: string): Options[Name] {
  const choices: readonly string[] = CHOICES[name];
  if (!choices.includes(value)) throw new Error(`--${name} is ${choices.join(" or ")}, not "${value}"`);
  return value as Options[Name];
}
