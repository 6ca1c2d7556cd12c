/** `drawbridge hosted`: the tunnel of a hosted control plane, on both of its sides. */
import { type Family, runFamily } from "../framework/subcommands.js";

const program = "drawbridge hosted";

const hosted: Family = {
  program,
  purpose:
    "Builds the tunnel between a hosted control plane and its workers from one description, and says how it stands.",
  commands: {
    apply: {
      summary: "Bring both clusters in line with the description; certificates are made once and renewed when due",
      run: async (argv) => (await import("./apply.js")).hostedApply(`${program} apply`, argv),
    },
    "check-connection": {
      summary: "Stamp from inside the hosted cluster that the kube-apiserver is reached (apply deploys it)",
      run: async (argv) =>
        (await import("./check-connection.js")).hostedCheckConnection(`${program} check-connection`, argv),
    },
    delete: {
      summary: "Remove everything that apply made, from both clusters",
      run: async (argv) => (await import("./apply.js")).hostedDelete(`${program} delete`, argv),
    },
    diff: {
      summary: "Show what apply would change",
      run: async (argv) => (await import("./apply.js")).hostedDiff(`${program} diff`, argv),
    },
    render: {
      summary: "Print or write every object, and the patches for others' Deployments",
      run: async (argv) => (await import("./render.js")).hostedRender(`${program} render`, argv),
    },
    status: {
      summary: "Show servers, agents, certificates and HyperShift's conditions; only reads",
      run: async (argv) => (await import("./verify.js")).hostedStatus(`${program} status`, argv),
    },
    verify: {
      summary: "Prove that logs, webhooks and aggregated APIs come through the tunnel",
      run: async (argv) => (await import("./verify.js")).hostedVerify(`${program} verify`, argv),
    },
  },
};

export function hostedCommand(argv: readonly string[]): Promise<number> {
  return runFamily(hosted, argv);
}
