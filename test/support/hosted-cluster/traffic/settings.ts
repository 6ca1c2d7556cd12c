import type { Pair } from "../../lab/certificates.js";

/** What the program of the callers is told, in a file. */
export interface Settings {
  readonly kubectl: string;
  /** A folder for kubeconfigs. */
  readonly folder: string;
  readonly management: {
    /** An administrator's. */
    readonly kubeconfig: string;
    readonly namespace: string;
    /** Labels of the kube-apiserver's pods. */
    readonly apiServers: string;
    readonly apiPort: number;
    /** Whose pods and own container have this name. */
    readonly component: string;
  };
  readonly hosted: {
    readonly ca: string;
    readonly client: Pair;
    /** Written as a dry run, past a webhook. */
    readonly configMap: object;
    readonly namespace: string;
    /** Paths of aggregated APIs, by kind of call. */
    readonly aggregated: Readonly<Record<string, string>>;
    /** Labels of pods in which sessions are opened. */
    readonly talkers: string;
  };
  readonly perSecond: {
    readonly writes: number;
    /** Of each further kind. */
    readonly calls: number;
    readonly sessions: number;
  };
}
