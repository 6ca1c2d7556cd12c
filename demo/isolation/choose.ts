import { spawnSync } from "node:child_process";

export interface Isolation {
  readonly kind: "namespace" | "simulated";
  /** In words, for the audience. */
  readonly means: string;
  /** Put before a command, it runs in a network of its own and may make further ones. */
  readonly prefix: readonly string[];
}

const AS_ROOT: Isolation = { kind: "namespace", means: "network namespaces", prefix: ["unshare", "--net", "--"] };
const AS_ANYONE: Isolation = {
  kind: "namespace",
  means: "network namespaces in an unprivileged user namespace",
  prefix: ["unshare", "--user", "--map-root-user", "--net", "--"],
};
const NONE: Isolation = {
  kind: "simulated",
  means: "a stand-in on loopback, which turns the direct caller away",
  prefix: [],
};

/** What the story will do in there: bring links up and lay a cable into a further namespace. */
const TRIAL =
  "ip link set lo up && ip link add trial0 type veth peer name trial1 && unshare --net -- true && nsenter --net=/proc/self/ns/net -- true";

/** The best isolation that really works here; containers and hardened kernels forbid some of it. */
export function chooseIsolation(wanted: "auto" | "namespace" | "simulated"): Isolation {
  if (wanted === "simulated") return NONE;
  const candidates = process.getuid?.() === 0 ? [AS_ROOT, AS_ANYONE] : [AS_ANYONE];
  const found = candidates.find(works);
  if (found !== undefined) return found;
  if (wanted === "auto") return NONE;
  throw new Error("no network namespace can be made here: it takes iproute2, util-linux and a kernel that allows it");
}

function works({ prefix }: Isolation): boolean {
  const [command = "", ...args] = [...prefix, "sh", "-c", TRIAL];
  return spawnSync(command, args, { stdio: "ignore", timeout: 10_000 }).status === 0;
}
