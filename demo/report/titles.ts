/** The steps of the story, in order. */
export const TITLES = {
  certificates: "one-day certificates",
  webhook: "a webhook on the agents' side",
  tunnel: "proxy-server and two agents",
  direct: "a direct call to the webhook",
  admission: "an admission request through the tunnel",
  otherDoors: "the same through the other doors",
  agentKilled: "an agent killed in mid-transfer",
  rotation: "certificates replaced under way",
  slowReader: "a slow reader beside fast ones",
  tidyUp: "nothing left behind",
} as const;

export type StepName = keyof typeof TITLES;
