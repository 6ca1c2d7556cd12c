/** The steps of the story, in order. */
export const TITLES = {
  certificates: "one-day certificates",
  webhook: "webhook on the agents' side",
  tunnel: "proxy-server and two agents",
  direct: "direct call to the webhook",
  admission: "admission through the tunnel",
  otherFrontends: "the same through other frontends",
  agentKilled: "agent killed in mid-transfer",
  rotation: "certificates replaced live",
  slowReader: "slow reader beside fast ones",
  tidyUp: "nothing left behind",
} as const;
