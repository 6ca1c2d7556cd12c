import { actions, given, OPENS_ITSELF, type PlatformPlan, type PlatformPlanInput, shell, terraform } from "../plan.js";

const PROJECT = given("PROJECT", "project of the network");

export function gcpPlan({ infraId, port, upi, byoNetwork }: PlatformPlanInput): PlatformPlan {
  // The installer's own name for it, so that its removal finds ours.
  const name = `${infraId}-bootstrap-in-konnectivity`;
  const network = byoNetwork || upi ? given("NETWORK", "name of your network") : `${infraId}-network`;
  const create = (sources: string, target: string) => shell("Create the rule")`
    gcloud compute firewall-rules create ${name} --project ${PROJECT} \\
      --network ${network} --direction INGRESS --action ALLOW --rules tcp:${port} \\
      --source-tags ${sources} --target-tags ${target}`;
  const remove = [
    shell("Delete the rule if it is there (with installers from 4.23 on only after destroy bootstrap)")`
      if gcloud compute firewall-rules describe ${name} --project ${PROJECT} >/dev/null 2>&1; then
        gcloud compute firewall-rules delete ${name} --project ${PROJECT} --quiet
      fi`,
  ];
  if (upi) {
    return {
      where: `firewall rule ${name} of the cluster's network`,
      sources: [`tag ${infraId}-master`, `tag ${infraId}-worker`],
      opened: actions`you | with the Terraform part or the command below, before the bootstrap machine starts`,
      removed: actions`you | with terraform destroy of 04_bootstrap, or the command below`,
      forgotten: [`${name}, if it was not part of 04_bootstrap.`],
      open: [
        terraform("Either add this to 04_bootstrap/04_bootstrap.tf")`
          resource "google_compute_firewall" "bootstrap_in_konnectivity" {
            name        = "\${var.infra_id}-bootstrap-in-konnectivity"
            network     = var.cluster_network
            project     = var.project
            direction   = "INGRESS"
            source_tags = ["\${var.infra_id}-master", "\${var.infra_id}-worker"]
            target_tags = ["\${var.infra_id}-bootstrap"]
            allow {
              protocol = "tcp"
              ports    = ["${port}"]
            }
          }`,
        create(`${infraId}-master,${infraId}-worker`, `${infraId}-bootstrap`),
      ],
      remove,
      notes: [],
    };
  }
  return {
    where: `firewall rule ${name} of network ${byoNetwork ? "NETWORK" : network}`,
    sources: [`tag ${infraId}-control-plane`, `tag ${infraId}-worker`],
    opened: actions`
      ${OPENS_ITSELF} | creates ${name} once the network is there, right after the rule for SSH; nothing to do
      earlier installers | do not; run the command below during create cluster, as soon as the network exists
      any installer with firewallRulesManagement: Unmanaged | creates nothing: you do`,
    removed: actions`
      ${OPENS_ITSELF} | deletes ${name} before the bootstrap machine, and fails when it is not there
      earlier installers | do not; run the removal below`,
    forgotten: [`${name}, with installers before 4.23 and with firewallRulesManagement: Unmanaged.`],
    open: [create(`${infraId}-worker,${infraId}-control-plane`, `${infraId}-control-plane`)],
    remove,
    notes: [
      `destroy bootstrap of 4.23 and later is not repeatable: if ${name} is missing (deleted by hand, or the cluster was made by an older installer), create it again first, otherwise the command stops before it deletes the machine.`,
      "In a shared VPC the rule belongs to the network's project: set PROJECT to that one.",
      `Installers before 4.17 tag masters ${infraId}-master instead of ${infraId}-control-plane.`,
    ],
  };
}
