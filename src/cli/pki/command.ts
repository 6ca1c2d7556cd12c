/** `drawbridge pki`: the certificates of a bridge or of a hosted control plane. */
import { type Family, runFamily } from "../framework/subcommands.js";

const program = "drawbridge pki";

const pki: Family = {
  program,
  purpose: "Makes, renews and explains the certificates of servers and agents.",
  commands: {
    init: {
      summary: "Make a signer and all certificates of a bridge or a hosted control plane",
      run: async (argv) => (await import("./init.js")).pkiInit(`${program} init`, argv),
    },
    inspect: {
      summary: "Say what certificates are, what is wrong with them and what to do",
      run: async (argv) => (await import("./inspect.js")).pkiInspect(`${program} inspect`, argv),
    },
    issue: {
      summary: "Issue one more certificate with a kept signer key",
      run: async (argv) => (await import("./issue.js")).pkiIssue(`${program} issue`, argv),
    },
    renew: {
      summary: "Issue again what is about to expire, with a kept signer key",
      run: async (argv) => (await import("./renew.js")).pkiRenew(`${program} renew`, argv),
    },
  },
};

export function pkiCommand(argv: readonly string[]): Promise<number> {
  return runFamily(pki, argv);
}
