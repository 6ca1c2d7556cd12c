import { given, lines, OPENS_ITSELF, type PlanStep, type PlatformPlan, type PlatformPlanInput } from "../plan.js";

/** The installer's own name for it, so that its removal finds ours. */
const ruleName = (infraId: string): string => `${infraId}-bootstrap-in-konnectivity`;

export function gcpPlan(asked: PlatformPlanInput): PlatformPlan {
  return asked.upi ? userProvisioned(asked) : installerProvisioned(asked);
}

function installerProvisioned(asked: PlatformPlanInput): PlatformPlan {
  const { infraId, byoNetwork } = asked;
  const name = ruleName(infraId);
  const network = byoNetwork ? given("NETWORK", "name of your network") : `${infraId}-network`;
  return {
    where: `firewall rule ${name} of network ${byoNetwork ? "NETWORK" : network}`,
    sources: [`tag ${infraId}-control-plane`, `tag ${infraId}-worker`],
    opened: [
      {
        by: OPENS_ITSELF,
        what: `creates ${name} once the network is there, right after the rule for SSH; nothing to do`,
      },
      {
        by: "earlier installers",
        what: "do not; run the command below during create cluster, as soon as the network exists",
      },
      { by: "any installer with firewallRulesManagement: Unmanaged", what: "creates nothing: you do" },
    ],
    removed: [
      { by: OPENS_ITSELF, what: `deletes ${name} before the bootstrap machine, and fails when it is not there` },
      { by: "earlier installers", what: "do not; run the removal below" },
    ],
    forgotten: [`${name}, with installers before 4.23 and with firewallRulesManagement: Unmanaged.`],
    open: [createRule(asked, network, [`${infraId}-worker`, `${infraId}-control-plane`], `${infraId}-control-plane`)],
    remove: [deleteRule(infraId)],
    notes: [
      `destroy bootstrap of 4.23 and later is not repeatable: if ${name} is missing (deleted by hand, or the cluster was made by an older installer), create it again first, otherwise the command stops before it deletes the machine.`,
      "In a shared VPC the rule belongs to the network's project: set PROJECT to that one.",
      `Installers before 4.17 tag masters ${infraId}-master instead of ${infraId}-control-plane.`,
    ],
  };
}

function userProvisioned(asked: PlatformPlanInput): PlatformPlan {
  const { infraId, rule } = asked;
  return {
    where: `firewall rule ${ruleName(infraId)} of the cluster's network`,
    sources: [`tag ${infraId}-master`, `tag ${infraId}-worker`],
    opened: [{ by: "you", what: "with the Terraform part or the command below, before the bootstrap machine starts" }],
    removed: [{ by: "you", what: "with terraform destroy of 04_bootstrap, or the command below" }],
    forgotten: [`${ruleName(infraId)}, if it was not part of 04_bootstrap.`],
    open: [
      {
        title: "Either add this to 04_bootstrap/04_bootstrap.tf",
        language: "terraform",
        text: lines(
          'resource "google_compute_firewall" "bootstrap_in_konnectivity" {',
          `  name        = "\${var.infra_id}-bootstrap-in-konnectivity"`,
          "  network     = var.cluster_network",
          "  project     = var.project",
          '  direction   = "INGRESS"',
          `  source_tags = ["\${var.infra_id}-master", "\${var.infra_id}-worker"]`,
          `  target_tags = ["\${var.infra_id}-bootstrap"]`,
          "  allow {",
          '    protocol = "tcp"',
          `    ports    = ["${rule.port}"]`,
          "  }",
          "}",
        ),
      },
      createRule(
        asked,
        given("NETWORK", "name of your network"),
        [`${infraId}-master`, `${infraId}-worker`],
        `${infraId}-bootstrap`,
      ),
    ],
    remove: [deleteRule(infraId)],
    notes: [],
  };
}

const PROJECT = given("PROJECT", "project of the network");

function createRule(
  { infraId, rule }: PlatformPlanInput,
  network: string,
  sources: readonly string[],
  target: string,
): PlanStep {
  return {
    title: "Create the rule",
    language: "shell",
    text: lines(
      `gcloud compute firewall-rules create ${ruleName(infraId)} --project ${PROJECT} \\`,
      `  --network ${network} --direction INGRESS --action ALLOW --rules tcp:${rule.port} \\`,
      `  --source-tags ${sources.join(",")} --target-tags ${target}`,
    ),
  };
}

function deleteRule(infraId: string): PlanStep {
  const name = ruleName(infraId);
  return {
    title: "Delete the rule if it is there (with installers from 4.23 on only after destroy bootstrap)",
    language: "shell",
    text: lines(
      `if gcloud compute firewall-rules describe ${name} --project ${PROJECT} >/dev/null 2>&1; then`,
      `  gcloud compute firewall-rules delete ${name} --project ${PROJECT} --quiet`,
      "fi",
    ),
  };
}
