/** The steps of the bridge's story, in order. */
export const BRIDGE_TITLES = {
  lab: "a cluster under construction",
  webhook: "webhook in the pod network",
  direct: "call without a bridge",
  up: "drawbridge bootstrap up",
  call: "webhook call through the bridge",
  agentLost: "agent lost and back",
  verify: "drawbridge bootstrap verify",
  teardown: "teardown under writes",
  receipt: "the receipt",
  tidyUp: "nothing left behind",
} as const;
