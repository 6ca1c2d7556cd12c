/** `drawbridge nodepool`: pools of machines that become nodes. */
import { type Family, runFamily } from "../framework/subcommands.js";

const program = "drawbridge nodepool";

const nodepool: Family = {
  program,
  purpose: "Looks after pools of machines: their configuration, the tokens that open it, their user data.",
  commands: {
    apply: {
      summary: "Bring pools and their cluster from a file into a cluster or a directory",
      run: async (argv) => (await import("./apply.js")).nodepoolApply(`${program} apply`, argv),
    },
    controller: {
      summary: "Keep the Secrets and the status of pools as their objects say",
      run: async (argv) => (await import("./controller.js")).nodepoolController(`${program} controller`, argv),
    },
    install: {
      summary: "Bring the NodePool resource, the controller and the CSR approver into a cluster without HyperShift",
      run: async (argv) => (await import("./install.js")).nodepoolInstall(`${program} install`, argv),
    },
    status: {
      summary: "Say how pools stand",
      run: async (argv) => (await import("./status.js")).nodepoolStatus(`${program} status`, argv),
    },
  },
};

export function nodepoolCommand(argv: readonly string[]): Promise<number> {
  return runFamily(nodepool, argv);
}
