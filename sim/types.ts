/**
 * What a simulation is made of, as plain data: a scenario comes from a seed, can be written down as JSON, and can lose any
 * element of its lists and still be run, which is how a failure is shrunk to its cause.
 */

export interface Scenario {
  readonly seed: number;
  readonly network: NetworkPlan;
  /** Servers keep leases in the API, and agents count them there. */
  readonly kube?: KubePlan;
  readonly parties: readonly Party[];
  readonly callers: readonly CallerPlan[];
  readonly faults: readonly Fault[];
}

/** Every connection draws its own values within these bounds. */
export interface NetworkPlan {
  readonly latencyMs: readonly [least: number, most: number];
  /** What the kernel of the sender and that of the receiver each hold of one direction. */
  readonly bufferBytes: readonly [least: number, most: number];
  /** Longest segment. */
  readonly segmentBytes: readonly [least: number, most: number];
  /** Timers are late by up to this much. */
  readonly timerLatenessMs: number;
}

export interface KubePlan {
  /** Of a request, and again of its answer. */
  readonly latencyMs: readonly [least: number, most: number];
}

export type Party = ServerPlan | AgentPlan;

export interface Limits {
  readonly tunnelQueueBytes: number;
  readonly processQueueBytes: number;
  readonly creditBudgetBytes: number;
}

export interface ServerPlan {
  readonly kind: "server";
  readonly name: string;
  readonly limits: Limits;
  readonly dialTimeoutMs: number;
  readonly waitForAgentMs: number;
  readonly keepaliveMs: number;
  readonly watchdog?: { readonly intervalMs: number; readonly timeoutMs: number; readonly failures: number };
  /** How many servers it says there are. */
  readonly serverCount: number;
  /** Agents need a token, and a review of it takes so long. */
  readonly tokens?: { readonly reviewMs: number };
}

/** Stands before all servers, also before those that do not listen any more or yet. */
export const BALANCER = "balancer";

export interface AgentPlan {
  readonly kind: "agent";
  readonly name: string;
  /** Names of the servers that it is given as addresses; BALANCER leads to any of them. */
  readonly servers: readonly string[];
  /** False: it behaves like upstream's, without credit and end of stream. */
  readonly extended: boolean;
  readonly limits: Limits;
  readonly keepaliveMs: number;
  readonly syncIntervalMs: number;
  readonly token?: "good" | "bad";
  /** It counts servers by their leases, not by what they say. */
  readonly hasLeases?: boolean;
  /** An agent that breaks the rules; see systems/wrong-agent.ts. */
  readonly wrong?: "unknown-dials" | "taken-number" | "data-unasked" | "beyond-window" | "garbage" | "never-answers";
}

/** A caller and the endpoint it asks for; each has an endpoint of its own. */
export interface CallerPlan {
  readonly name: string;
  readonly server: string;
  readonly mode: "connect" | "grpc";
  /** The caller's connection is TLS over TCP, or else a Unix socket. */
  readonly tls: boolean;
  /** By gRPC: it shares a connection with all others that do so at this server. */
  readonly shares?: boolean;
  /** By gRPC: what it grants a stream unasked; absent: as much as an agent. */
  readonly windowBytes?: number;
  /** By CONNECT: it does not wait for the answer before it sends. */
  readonly early?: boolean;
  readonly atMs: number;
  readonly sends: Sending;
  readonly reads: Reading;
  readonly ends: Ending;
  /** It gives up after so long while its dial is pending. */
  readonly patienceMs?: number;
  readonly endpoint: EndpointPlan;
}

export interface EndpointPlan {
  /** How it takes the connection. */
  readonly connects: "accepts" | "refuses" | "silent" | "unreachable";
  /** It takes so long until it does. */
  readonly lateMs?: number;
  readonly sends: Sending;
  readonly reads: Reading;
  readonly ends: Ending;
}

export interface Sending {
  readonly bytes: number;
  readonly chunkBytes: number;
  /** Between two chunks. */
  readonly pauseMs: number;
  /** It begins once it has read so much. */
  readonly afterBytes: number;
}

export interface Reading {
  /** One read of at most so many bytes every `everyMs`; 0: whatever comes at once. */
  readonly everyMs: number;
  readonly bytes: number;
  /** It stops after so many bytes, and reads on `resumesMs` after the last fault; absent: it does not stop. */
  readonly stopsAfter?: number;
}

/**
 * Once everything was sent: `fin` ends its own side at once, `last` waits for the other's end first, `close` closes both
 * directions once it has read `afterBytes`, and `reset` resets then.
 */
export type Ending =
  | { readonly how: "fin" | "last" }
  | { readonly how: "close" | "reset"; readonly afterBytes: number };

export type Fault =
  /** The connections between an agent and a server, or those of a caller or an endpoint, end. */
  | {
      readonly kind: "cut";
      readonly atMs: number;
      readonly between: string;
      readonly and: string;
      readonly how: "fin" | "rst" | "silence";
    }
  /** Nothing arrives for a while, in either direction. */
  | {
      readonly kind: "stall";
      readonly atMs: number;
      readonly between: string;
      readonly and: string;
      readonly forMs: number;
    }
  /** The process does not run for a while. */
  | { readonly kind: "freeze"; readonly atMs: number; readonly who: string; readonly forMs: number }
  /** The process is killed, and started again. */
  | { readonly kind: "restart"; readonly atMs: number; readonly who: string; readonly afterMs: number }
  /** The process drains, ends, and is started again. */
  | {
      readonly kind: "drain";
      readonly atMs: number;
      readonly who: string;
      readonly limitMs: number;
      readonly afterMs: number;
    }
  /** The server tells its agents to go elsewhere, and stays. */
  | { readonly kind: "goaway"; readonly atMs: number; readonly who: string }
  /** The host's date is set. */
  | { readonly kind: "date"; readonly atMs: number; readonly who: string; readonly byMs: number }
  /** Connections to the server are refused for a while. */
  | { readonly kind: "refuse"; readonly atMs: number; readonly who: string; readonly forMs: number };

export interface RunOptions {
  /** Gets one line for every event. Without it only the hash is made. */
  readonly trace?: (line: string) => void;
}

export interface Failure {
  readonly property: string;
  readonly message: string;
  readonly atMs: number;
}

export interface Outcome {
  readonly events: number;
  readonly virtualMs: number;
  /** The same for every run of the same scenario. */
  readonly hash: string;
  readonly failure?: Failure;
}
