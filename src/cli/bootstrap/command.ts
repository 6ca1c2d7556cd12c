/** `drawbridge bootstrap`: the temporary bridge, one command for each thing done with it. */
import { type Family, runFamily } from "../framework/subcommands.js";

const program = "drawbridge bootstrap";

const bootstrap: Family = {
  program,
  purpose: "Builds the bridge that a kube-apiserver needs for the hour of bootstrap, proves it and takes it away.",
  commands: {
    analyze: {
      summary: "Name the cause in an archive of gather or in an installer's log bundle",
      run: async (argv) => (await import("./analyze.js")).bootstrapAnalyze(`${program} analyze`, argv),
    },
    gather: {
      summary: "Collect everything that explains the bridge into one archive, without secrets",
      run: async (argv) => (await import("./gather.js")).bootstrapGather(`${program} gather`, argv),
    },
    inject: {
      summary: "Put the bridge into an OpenShift bootstrap.ign, check it, or take it out",
      run: async (argv) => (await import("./inject.js")).bootstrapInject(`${program} inject`, argv),
    },
    render: {
      summary: "Print or write every manifest, flag and unit of the bridge",
      run: async (argv) => (await import("./render.js")).bootstrapRender(`${program} render`, argv),
    },
    status: {
      summary: "Show how the bridge on this host stands",
      run: async (argv) => (await import("./status.js")).bootstrapStatus(`${program} status`, argv),
    },
    teardown: {
      summary: "Take the bridge away and write a receipt",
      run: async (argv) => (await import("./teardown.js")).bootstrapTeardown(`${program} teardown`, argv),
    },
    up: {
      summary: "Bring the bridge up on this host of a kubeadm or bare control plane",
      run: async (argv) => (await import("./up.js")).bootstrapUp(`${program} up`, argv),
    },
    verify: {
      summary: "Prove that the bridge works, up to a rehearsal of every webhook through it",
      run: async (argv) => (await import("./verify.js")).bootstrapVerify(`${program} verify`, argv),
    },
  },
};

export function bootstrapCommand(argv: readonly string[]): Promise<number> {
  return runFamily(bootstrap, argv);
}
