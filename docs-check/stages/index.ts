import type { StageKind } from "../stage.js";

/** By the names that pages use. Each is loaded when a page needs it: with it comes a lab. */
export const stages: Readonly<Record<string, () => Promise<StageKind>>> = {
  files: async () => (await import("./files.js")).files,
  tunnel: async () => (await import("./tunnel.js")).tunnel,
  bare: async () => (await import("./bare.js")).bare,
  kubeadm: async () => (await import("./kubeadm.js")).kubeadm,
  openshift: async () => (await import("./openshift.js")).openshift,
  hosted: async () => (await import("./hosted.js")).hosted,
  nodes: async () => (await import("./nodes.js")).nodes,
  directory: async () => (await import("./directory.js")).directory,
};
