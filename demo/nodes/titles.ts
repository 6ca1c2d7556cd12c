/** The steps of the nodes' story, in order. */
export const NODES_TITLES = {
  cluster: "an API server and a signer",
  pool: "a pool and its controller",
  workers: "user data for two machines",
  early: "a machine that is too early",
  serving: "drawbridge ignition serve",
  joining: "two machines become nodes",
  forged: "forged requests",
  tidyUp: "nothing left behind",
} as const;
