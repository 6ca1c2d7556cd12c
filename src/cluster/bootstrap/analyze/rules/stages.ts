/** What the services of the bootstrap host recorded: which stage failed, and with what. */
import { evidence } from "../evidence.js";
import type { Facts } from "../facts/facts.js";
import type { ServiceRecord } from "../facts/service-records.js";
import type { Finding, Likelihood } from "../finding.js";

interface StageAdvice {
  readonly what: string;
  readonly remedy: string;
}

const advice: Readonly<Record<string, StageAdvice>> = {
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

/** These only wait for others, so they fail for reasons that stand elsewhere. */
const WAITING = /^(cb-bootstrap|wait-for-|resolve-|check-)/;

export function stages(facts: Facts): Finding[] {
  if (facts.kind !== "openshift-install" || facts.services.size > 0) return failures(facts);
  return [
    {
      id: "no-service-records",
      likelihood: "certain",
      message: "the bundle holds no service records: the bootstrap host could not be reached when it was made",
      evidence: [evidence("bootstrap/services/", "no <service>.json in it")],
      remedy:
        "Reach the host over SSH (port 22, user core) and gather again with drawbridge bootstrap gather --dir INSTALLDIR.",
    },
  ];
}

function failures({ services }: Facts): Finding[] {
  const [image, bootkube] = [services.get("release-image"), services.get("bootkube")];
  const first = image && [...notStarted(image), ...failed(image)];
  // Without the release image nothing else can have worked.
  if (first !== undefined && first.length > 0) return first;
  return bootkube === undefined ? [] : [...notStarted(bootkube), ...failed(bootkube)];
}

function notStarted({ name, file, starts }: ServiceRecord): Finding[] {
  if (starts > 0) return [];
  return [
    {
      id: "service-not-started",
      likelihood: "certain",
      message: `${name}.service was never executed on the bootstrap host`,
      evidence: [evidence(file, "no entry of phase service start", 1)],
      remedy: `Look at systemctl status ${name} and at bootstrap/journals/ for what it waits for.`,
    },
  ];
}

function failed({ name, failingStage, failure, lastError, starts }: ServiceRecord): Finding[] {
  if (failingStage === undefined || failure === undefined) return [];
  const known = advice[failingStage];
  const where = failingStage === "" ? `${name} failed` : `${name} failed at stage ${failingStage}`;
  const reason = lastError === "" ? "" : `, its last words were: ${firstLine(lastError)}`;
  return [
    {
      id: "stage-failed",
      likelihood: likelihoodOf(failingStage),
      message: `${known === undefined ? "" : `${known.what}: `}${where}${starts > 1 ? ` (started ${starts} times)` : ""}${reason}`,
      evidence: [failure],
      remedy: known?.remedy ?? `Read bootstrap/journals/${name}.log before the time of the failure.`,
    },
  ];
}

function likelihoodOf(stage: string): Likelihood {
  if (advice[stage] !== undefined) return "certain";
  return WAITING.test(stage) ? "possible" : "likely";
}

function firstLine(text: string): string {
  const line = text.trim().split("\n").at(-1) ?? "";
  return line.length > 200 ? `${line.slice(0, 200)}...` : line;
}

/** Agents that lose their server after this stage are as they should be. */
export function isTakenDown({ services }: Facts): boolean {
  return services.get("bootkube")?.succeeded.has("konnectivity-cleanup") ?? false;
}

export function stageObservations({ services }: Facts): string[] {
  return [...services.values()].flatMap(({ name, openStage, starts, successful }) => {
    if (successful) return [`${name} ended well.`];
    const again = starts > 1 ? ` It was started ${starts} times.` : "";
    return openStage === undefined ? [] : [`${name} was in stage ${openStage.name} since ${openStage.since}.${again}`];
  });
}
