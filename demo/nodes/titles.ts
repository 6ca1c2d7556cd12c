/** The steps of the nodes' story, in order. */
export const NODES_TITLES = {
  pool: "a pool in a directory",
  workers: "user data for two machines",
  early: "a machine that is too early",
  serving: "drawbridge ignition serve",
  joining: "two machines become nodes",
  forged: "forged requests",
  tidyUp: "nothing left behind",
} as const;
