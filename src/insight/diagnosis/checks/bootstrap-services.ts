/** What the services of the bootstrap host recorded: which stage failed, and with what. */
import { cause, type Likelihood } from "../../../base/finding.js";
import { evidence } from "../bundle/facts.js";
import type { ServiceRecord } from "../bundle/service-records.js";
import { defineCheck } from "../check.js";
import type { Facts } from "../facts.js";

type Services = Facts["services"];

/** Agents that lose their server after this stage are as they should be. */
export const isTakenDown = (services: Services): boolean =>
  services.get("bootkube")?.succeeded.has("konnectivity-cleanup") ?? false;

/** Without the release image nothing else can have worked. */
function suspects(services: Services): ServiceRecord[] {
  const [image, bootkube] = [services.get("release-image"), services.get("bootkube")];
  if (image !== undefined && (image.starts === 0 || image.failingStage !== undefined)) return [image];
  return bootkube === undefined ? [] : [bootkube];
}

export const serviceRecords = defineCheck({
  id: "no-service-records",
  about: "The bundle has service records of the bootstrap host",
  needs: ["bundle", "services"],
  judge: ({ bundle, services }) =>
    bundle.kind !== "openshift-install" || services.size > 0
      ? []
      : [
          cause(
            "certain",
            "the bundle holds no service records: the bootstrap host could not be reached when it was made",
            "Reach the host over SSH (port 22, user core) and gather again with drawbridge bootstrap gather --dir INSTALLDIR.",
            [evidence("bootstrap/services/", "no <service>.json in it")],
          ),
        ],
});

export const servicesStarted = defineCheck({
  id: "service-not-started",
  about: "The services of the bootstrap host were started",
  needs: ["services"],
  judge: ({ services }) =>
    suspects(services)
      .filter(({ starts }) => starts === 0)
      .map(({ name, file }) =>
        cause(
          "certain",
          `${name}.service was never executed on the bootstrap host`,
          `Look at systemctl status ${name} and at bootstrap/journals/ for what it waits for.`,
          [evidence(file, "no entry of phase service start", 1)],
        ),
      ),
});

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

export const stagesSucceeded = defineCheck({
  id: "stage-failed",
  about: "No stage of the bootstrap host's services failed",
  needs: ["services"],
  judge: ({ services }) => suspects(services).flatMap(failedStage),
});

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

/** What is neither right nor wrong. */
export function serviceObservations(services: Services): string[] {
  return [...services.values()].flatMap(({ name, openStage, starts, successful }) => {
    if (successful) return [`${name} ended successfully.`];
    const again = starts > 1 ? ` It was started ${starts} times.` : "";
    return openStage === undefined ? [] : [`${name} was in stage ${openStage.name} since ${openStage.since}.${again}`];
  });
}
