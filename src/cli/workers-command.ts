/** `drawbridge workers`: machines that become nodes of a pool. */
import { type Family, runFamily } from "./subcommands.js";

const program = "drawbridge workers";

const workers: Family = {
  program,
  purpose: "Makes user data for machines that become nodes, makes the machines, and remembers which to expect.",
  commands: {
    create: {
      summary: "See to it that a pool has so many workers: user data, records, machines",
      run: async (argv) => (await import("./workers-create.js")).workersCreate(`${program} create`, argv),
    },
    delete: {
      summary: "Remove workers and what is remembered of them",
      run: async (argv) => (await import("./workers-delete.js")).workersDelete(`${program} delete`, argv),
    },
    list: {
      summary: "List workers, and whose configuration is behind their pool's",
      run: async (argv) => (await import("./workers-list.js")).workersList(`${program} list`, argv),
    },
    userdata: {
      summary: "Print a worker's user data with today's token",
      run: async (argv) => (await import("./workers-userdata.js")).workersUserdata(`${program} userdata`, argv),
    },
  },
};

export function workersCommand(argv: readonly string[]): Promise<number> {
  return runFamily(workers, argv);
}
