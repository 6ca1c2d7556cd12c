/** The bootstrap host in a bundle: which stage of its services failed, whether the server runs and can become ready. */
import { cause, failed, type Likelihood } from "../../../base/finding.js";
import { cleanupEffort } from "../../../cluster/bootstrap/model/cleanup.js";
import { ports } from "../../../cluster/bootstrap/model/names.js";
import { type Bundle, bundleCheck, CLEANUP, type ContainerState, evidence } from "../bundle/bundle.js";
import type { ServiceRecord } from "../bundle/resources.js";
import { defineCheck } from "../check.js";

/** Without the release image nothing else can have worked. */
function suspects({ services }: Bundle): ServiceRecord[] {
  const [image, bootkube] = [services.get("release-image"), services.get("bootkube")];
  if (image !== undefined && (image.starts === 0 || image.failed !== undefined)) return [image];
  return bootkube === undefined ? [] : [bootkube];
}

const complete = bundleCheck("bundle-incomplete", "The bundle can be read to its end", ({ incomplete }) => {
  if (incomplete === undefined) return undefined;
  const { why, files, bytes } = incomplete;
  const size = bytes < 1024 * 1024 ? `${Math.ceil(bytes / 1024)} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
  const message = `the bundle is not whole: ${why}, after ${files} ${files === 1 ? "file" : "files"} (${size}); only what came before was judged`;
  const remedy =
    "Copy it again and compare its size with the original's, or gather again (drawbridge bootstrap gather --dir INSTALLDIR).";
  return failed(message, remedy);
});

const serviceRecords = bundleCheck(
  "no-service-records",
  "The bundle has service records of the bootstrap host",
  ({ kind, services, hasHostFiles, incomplete }) => {
    if (kind !== "openshift-install" || services.size > 0 || incomplete !== undefined) return undefined;
    // Releases before 4.8 keep none.
    if (hasHostFiles) return undefined;
    const message = "the bundle holds no service records: the bootstrap host could not be reached when it was made";
    const remedy =
      "Reach the host over SSH (port 22, user core) and gather again with drawbridge bootstrap gather --dir INSTALLDIR.";
    return cause("certain", message, remedy, [evidence("bootstrap/services/", "no <service>.json in it")]);
  },
);

const servicesStarted = bundleCheck(
  "service-not-started",
  "The services of the bootstrap host were started",
  (bundle) =>
    suspects(bundle)
      .filter(({ starts }) => starts === 0)
      .map(({ name, file }) =>
        cause(
          "certain",
          `${name}.service was never executed on the bootstrap host`,
          `Look at systemctl status ${name} and at bootstrap/journals/ for what it waits for.`,
          [evidence(file, "no entry of phase service start", 1)],
        ),
      ),
);

const advice: Readonly<Record<string, { readonly what: string; readonly remedy: string }>> = {
  "konnectivity-certs": {
    what: "the certificates of the bridge could not be made",
    remedy:
      "Correct what the error names; where no address was found, give it with drawbridge bootstrap inject --bootstrap-ip or the variable OPENSHIFT_INSTALL_BOOTSTRAP_NODE_IP, and write bootstrap.ign again.",
  },
  "konnectivity-server-bootstrap": {
    what: "the server of the bridge could not be set up",
    remedy:
      "If the release has no image apiserver-network-proxy, inject again with drawbridge bootstrap inject --image PULLSPEC; otherwise correct what the error names.",
  },
  "konnectivity-agent-manifest": {
    what: "the manifests of the agents could not be written",
    remedy: "Correct what the error names; the templates are /opt/openshift/konnectivity-*.yaml of bootstrap.ign.",
  },
};

/** These only wait for others, so they fail for reasons that are recorded elsewhere. */
const WAITING = /^(cb-bootstrap|wait-for-|resolve-|check-)/;

const stagesSucceeded = bundleCheck("stage-failed", "No stage of the bootstrap host's services failed", (bundle) =>
  suspects(bundle).flatMap(failedStage),
);

function failedStage({ name, failed, starts }: ServiceRecord) {
  if (failed === undefined || failed.stage === CLEANUP) return [];
  const { stage, error, seen } = failed;
  const known = advice[stage];
  const likelihood: Likelihood = known !== undefined ? "certain" : WAITING.test(stage) ? "possible" : "likely";
  const what = known === undefined ? "" : `${known.what}: `;
  const where = stage === "" ? `${name} failed` : `${name} failed at stage ${stage}`;
  const often = starts > 1 ? ` (started ${starts} times)` : "";
  const reason = error === "" ? "" : `, its last error was: ${lastLine(error)}`;
  const remedy = known?.remedy ?? `Read bootstrap/journals/${name}.log before the time of the failure.`;
  return [cause(likelihood, `${what}${where}${often}${reason}`, remedy, [seen])];
}

const TEARDOWN = "drawbridge bootstrap teardown --dir INSTALLDIR (or --kubeconfig FILE)";

/** The service may have succeeded all the same: nothing that it does waits for the clean-up. */
export const cleanedUp = defineCheck({
  ...{ id: "cleanup-failed", about: "The bridge's objects were removed at the end", needs: ["cleanup"] },
  judge({ cleanup: { noted, inStage, later } }) {
    if (noted?.state === "removed" || (noted === undefined && later?.successful)) return undefined;
    if (noted === undefined && inStage === undefined) return undefined;
    const error = noted?.lastError || (later?.failed?.error ?? "") || (inStage?.error ?? "");
    const why = error === "" ? "" : `: ${lastLine(error)}`;
    if (noted?.left === "files") {
      const message = `files of the bridge are still on the bootstrap host: the clean-up ${cleanupEffort(noted)}${why}`;
      const remedy = "Make their file system writable, or remove them by hand; they hold keys.";
      return cause("certain", message, remedy, [noted.seen]);
    }
    const left = "the bridge's namespace, DaemonSet and Secret are still in the cluster";
    const proof = [noted?.seen, inStage?.seen, later?.failed?.seen].flatMap((seen) => seen ?? []);
    if (noted?.state === "pending") {
      const message = `${left}: the clean-up ${cleanupEffort(noted)}${why}`;
      const remedy = `konnectivity-cleanup.service on the bootstrap host tries until the API answers; before that host is destroyed, or without it, remove them with ${TEARDOWN}.`;
      return cause("certain", message, remedy, proof);
    }
    const message = `${left}: the clean-up failed${why}`;
    return cause("certain", message, `Remove them with ${TEARDOWN} once the API answers.`, proof);
  },
});

function lastLine(text: string): string {
  const line = text
    .trim()
    .split("\n")
    .at(-1)!
    .replace(/[.?!]+$/, "");
  return line.length > 200 ? `${line.slice(0, 200)}...` : line;
}

/** Sentences about services that have ended or are in a stage. */
export function serviceObservations({ services }: Bundle): string[] {
  return [...services.values()].flatMap(({ name, openStage, starts, successful }) => {
    if (successful) return [`${name} ended successfully.`];
    const again = starts > 1 ? ` It was started ${starts} times.` : "";
    return openStage === undefined ? [] : [`${name} was in stage ${openStage.name} since ${openStage.since}.${again}`];
  });
}

/** The port for agents that the server was started with. */
export function agentPortOf({ servers }: Bundle): number {
  return servers.map(({ flags }) => Number(flags.get("agent-port"))).find(Number.isInteger) ?? ports.agent;
}

const REMEDIES: readonly (readonly [RegExp, string])[] = [
  [
    /unknown flag|unknown shorthand/,
    "Take the flag out of konnectivity-server-pod.yaml, or choose an image that knows it (drawbridge bootstrap inject --image).",
  ],
  [/server port should be set to 0/, "Give the server --server-port=0: a Unix socket excludes the TCP port."],
  [
    /checking (cluster|server)/,
    "The named file is not in the container: check that the certificates were made and that their directory is mounted at /etc/konnectivity.",
  ],
  [
    /exec format error/,
    "The image is for another processor than this host's: name one for its architecture (drawbridge bootstrap inject --image).",
  ],
  [/no space left on device|ENOSPC/, "Make room on the host's disk (df -h; podman system prune)."],
  [
    /address already in use|EADDRINUSE/,
    "Another process has the port: find it with ss -ltnp and stop it, or change --agent-port, --health-port or --admin-port.",
  ],
  [
    /permission denied|EACCES/i,
    "The server may not use the socket's directory: give its pod seLinuxOptions type spc_t, as drawbridge bootstrap render does.",
  ],
];

const isKilled = ({ exitCode, reason }: ContainerState): boolean => exitCode === 137 || reason === "OOMKilled";

/** Undefined when the server does not end again and again. */
function crashLoop({ containers, seen }: Bundle) {
  const own = containers.filter(({ name }) => name === "konnectivity-server").sort((a, b) => b.restarts - a.restarts);
  const ended = own.filter(({ exitCode = 0, restarts }) => exitCode !== 0 && restarts > 0);
  const isNoted = seen.serverCrashLoop.count > 0 || seen.serverRestarted.count > 1 || seen.serverRefusal.count > 1;
  // Early restarts are overcome when it runs in the end and agents found it; lack of memory comes back.
  const recovered = own[0]?.running !== false && seen.agentConnected.count > 0 && !ended.some(isKilled);
  return (ended.length > 0 || isNoted) && !recovered ? { worst: ended[0] } : undefined;
}

const serverCrashes = bundleCheck("server-crash-loop", "The server does not end again and again", (bundle) => {
  const found = crashLoop(bundle);
  if (found === undefined) return undefined;
  const { worst } = found;
  const { serverRefusal, serverRestarted, serverCrashLoop } = bundle.seen;
  const reason = worst?.reason ? `, ${worst.reason}` : "";
  const codes = worst === undefined ? "" : ` (exit code ${worst.exitCode}${reason}, ${worst.restarts} restarts)`;
  const text = serverRefusal.last ?? "";
  const error = /[Ee]rror: (?:failed to validate server options with )?(.*)$/.exec(text)?.[1];
  const words = error === undefined ? "" : `: ${error.replace(/ \(DB_.*$/, "")}`;
  const remedy =
    worst !== undefined && isKilled(worst)
      ? "It was killed, most often because memory ran out: raise resources.limits.memory of the server's pod."
      : (REMEDIES.find(([pattern]) => pattern.test(text))?.[1] ??
        "Read the last lines of the server's log and correct the flag or file they name.");
  const lines = [serverRefusal, serverRestarted, serverCrashLoop].flatMap(({ last }) => last ?? []);
  return cause("certain", `the server ends again and again${codes}${words}`, remedy, [worst?.seen ?? [], lines].flat());
});

const serverStarted = bundleCheck("server-not-started", "The server was started and listens for agents", (bundle) => {
  if (crashLoop(bundle) !== undefined) return undefined;
  const { hasServer, listeningPorts, seen } = bundle;
  const unstartable = cause(
    "certain",
    "the kubelet cannot start the server's container",
    "Check that the image in /etc/kubernetes/manifests/konnectivity-server-pod.yaml can be pulled on the bootstrap host (podman pull).",
    seen.serverCannotStart.evidence,
  );
  const port = agentPortOf(bundle);
  const silent = cause(
    "likely",
    `nothing listens on TCP ${port} of the bootstrap host, where agents should find the server`,
    "Look whether /etc/kubernetes/manifests/konnectivity-server-pod.yaml is there and what the kubelet's journal says of it.",
    [listeningPorts?.seen ?? [], seen.serverStarted.last ?? []].flat(),
  );
  return [
    ...(seen.serverCannotStart.isAfter(seen.serverStarted) ? [unstartable] : []),
    ...(hasServer && listeningPorts?.ports.has(port) === false ? [silent] : []),
  ];
});

const diskHasRoom = bundleCheck("disk-full", "The bootstrap host's disk has room", ({ seen: { diskFull } }) => {
  if (diskFull.count === 0) return undefined;
  const message = `the bootstrap host's disk was full (${diskFull.count} complaints)`;
  const remedy =
    "Make room, or give the machine a larger disk (df -h, journalctl --vacuum-size=100M, podman image prune).";
  return cause("likely", message, remedy, diskFull.evidence);
});

const READY_REMEDY =
  "Start the server with --readiness=any; upstream's has no such flag, so do not wait for its /readyz. Tunnels work either way.";

const destHostFirst = ({ servers }: Bundle) =>
  servers.filter(({ flags }) => {
    return /^destHost,/.test(flags.get("proxy-strategies") ?? "") && (flags.get("readiness") ?? "agents") === "agents";
  });

/** A server, upstream's and ours alike, counts only the agents of its first strategy when asked whether it is ready. */
const serverBecomesReady = bundleCheck("never-ready", "The server is ready when agents are connected", (bundle) => {
  const { readiness, backends } = bundle;
  const isConnected = [...(backends?.byStrategy.values() ?? [])].some((count) => count > 0);
  if (readiness?.status !== 500 || backends === undefined || !isConnected) return undefined;
  const message =
    "the server says that it is not ready although agents are connected: its first strategy has none of them";
  const proof = [readiness.seen, backends.seen, ...destHostFirst(bundle).map(({ seen }) => seen)];
  return cause("certain", message, READY_REMEDY, proof);
});

/** Causes before their consequences. */
export const serverChecks = [
  ...[complete, serviceRecords, servicesStarted, stagesSucceeded, cleanedUp],
  ...[diskHasRoom, serverCrashes, serverStarted],
];
export const readinessChecks = [serverBecomesReady];

/** Without an answer of /readyz it is only worth knowing: OpenShift's own pod has no readiness probe. */
export function readinessObservations(bundle: Bundle): string[] {
  if (bundle.readiness !== undefined || destHostFirst(bundle).length === 0) return [];
  return [
    `The server runs with destHost as its first strategy: /readyz answers 500 while no agent claims a host. ${READY_REMEDY}`,
  ];
}
