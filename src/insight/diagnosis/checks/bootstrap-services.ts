/** Checks of the service records of the bootstrap host: which stage failed, and with which error. */
import { cause, type Likelihood } from "../../../base/finding.js";
import { type Bundle, bundleCheck, evidence } from "../bundle/bundle.js";
import type { ServiceRecord } from "../bundle/service-records.js";

/** Without the release image nothing else can have worked. */
function suspects({ services }: Bundle): ServiceRecord[] {
  const [image, bootkube] = [services.get("release-image"), services.get("bootkube")];
  if (image !== undefined && (image.starts === 0 || image.failingStage !== undefined)) return [image];
  return bootkube === undefined ? [] : [bootkube];
}

const serviceRecords = bundleCheck(
  "no-service-records",
  "The bundle has service records of the bootstrap host",
  ({ kind, services }) => {
    if (kind !== "openshift-install" || services.size > 0) return undefined;
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
  "konnectivity-cleanup": {
    what: "the bridge's objects could not be removed at the end",
    remedy: "Remove them with drawbridge bootstrap teardown --dir INSTALLDIR once the API answers.",
  },
};

/** These only wait for others, so they fail for reasons that are recorded elsewhere. */
const WAITING = /^(cb-bootstrap|wait-for-|resolve-|check-)/;

const stagesSucceeded = bundleCheck("stage-failed", "No stage of the bootstrap host's services failed", (bundle) =>
  suspects(bundle).flatMap(failedStage),
);

function failedStage({ name, failingStage: stage, failure, lastError, starts }: ServiceRecord) {
  if (stage === undefined || failure === undefined) return [];
  const known = advice[stage];
  const likelihood: Likelihood = known !== undefined ? "certain" : WAITING.test(stage) ? "possible" : "likely";
  const what = known === undefined ? "" : `${known.what}: `;
  const where = stage === "" ? `${name} failed` : `${name} failed at stage ${stage}`;
  const often = starts > 1 ? ` (started ${starts} times)` : "";
  const reason = lastError === "" ? "" : `, its last error was: ${lastLine(lastError)}`;
  const remedy = known?.remedy ?? `Read bootstrap/journals/${name}.log before the time of the failure.`;
  return [cause(likelihood, `${what}${where}${often}${reason}`, remedy, [failure])];
}

function lastLine(text: string): string {
  const line = text.trim().split("\n").at(-1) ?? "";
  return line.length > 200 ? `${line.slice(0, 200)}...` : line;
}

export const serviceChecks = [serviceRecords, servicesStarted, stagesSucceeded];

/** Sentences about services that have ended or are in a stage. */
export function serviceObservations({ services }: Bundle): string[] {
  return [...services.values()].flatMap(({ name, openStage, starts, successful }) => {
    if (successful) return [`${name} ended successfully.`];
    const again = starts > 1 ? ` It was started ${starts} times.` : "";
    return openStage === undefined ? [] : [`${name} was in stage ${openStage.name} since ${openStage.since}.${again}`];
  });
}
