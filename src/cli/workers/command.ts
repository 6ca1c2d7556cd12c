/** `drawbridge workers`: machines that become nodes of a pool. */
import { type Family, runFamily } from "../framework/subcommands.js";

const program = "drawbridge workers";

const workers: Family = {
  program,
  purpose: "Makes user data for machines that become nodes, makes the machines, and remembers which to expect.",
  commands: {
    create: {
      summary: "See to it that a pool has so many workers: user data, records, machines",
      run: async (argv) => (await import("./create.js")).workersCreate(`${program} create`, argv),
    },
    delete: {
      summary: "Remove workers and what is remembered of them",
      run: async (argv) => (await import("./delete.js")).workersDelete(`${program} delete`, argv),
    },
    doctor: {
      summary: "Find what keeps machines from becoming nodes, and mend what can be mended",
      run: async (argv) => (await import("./doctor.js")).workersDoctor(`${program} doctor`, argv),
    },
    list: {
      summary: "List workers, and whose configuration is behind their pool's",
      run: async (argv) => (await import("./list.js")).workersList(`${program} list`, argv),
    },
    replace: {
      summary: "Put fresh machines in the place of workers, drained first",
      run: async (argv) => (await import("./replace.js")).workersReplace(`${program} replace`, argv),
    },
    scale: {
      summary: "Bring a pool to another number of workers, drained first",
      run: async (argv) => (await import("./scale.js")).workersScale(`${program} scale`, argv),
    },
    up: {
      summary: "From a declared pool to nodes that run pods; can be killed and resumed",
      run: async (argv) => (await import("./up.js")).workersUp(`${program} up`, argv),
    },
    userdata: {
      summary: "Print a worker's user data with today's token",
      run: async (argv) => (await import("./userdata.js")).workersUserdata(`${program} userdata`, argv),
    },
    verify: {
      summary: "Say whether workers are at work, and what is missing where",
      run: async (argv) => (await import("./verify.js")).workersVerify(`${program} verify`, argv),
    },
  },
};

export function workersCommand(argv: readonly string[]): Promise<number> {
  return runFamily(workers, argv);
}
