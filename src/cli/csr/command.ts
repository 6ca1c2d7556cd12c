/** `drawbridge csr`: who may become a node. */
import { type Family, runFamily } from "../framework/subcommands.js";

const program = "drawbridge csr";

const csr: Family = {
  program,
  purpose: "Approves certificate signing requests of machines that are expected, and of no others.",
  commands: {
    approve: {
      summary: "Approve one request by hand, naming the rules that may be broken",
      run: async (argv) => (await import("./approve.js")).csrApprove(`${program} approve`, argv),
    },
    approver: {
      summary: "Watch a cluster and approve what is in order",
      run: async (argv) => (await import("./approver.js")).csrApprover(`${program} approver`, argv),
    },
    explain: {
      summary: "Go through every rule for one request",
      run: async (argv) => (await import("./explain.js")).csrExplain(`${program} explain`, argv),
    },
    list: {
      summary: "List pending requests with what an approver would do",
      run: async (argv) => (await import("./list.js")).csrList(`${program} list`, argv),
    },
  },
};

export function csrCommand(argv: readonly string[]): Promise<number> {
  return runFamily(csr, argv);
}
