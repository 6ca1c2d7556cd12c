/** The steps of the hosted cluster's story, in order. */
export const HOSTED_TITLES = {
  lab: "a control plane of pods",
  direct: "call without a tunnel",
  tunnel: "drawbridge hosted apply",
  calls: "calls through the tunnel",
  apiServers: "kube-apiservers rolled out",
  killed: "a kube-apiserver's pod killed",
  tidyUp: "nothing left behind",
} as const;
