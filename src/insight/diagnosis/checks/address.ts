/** Which address agents would be told, and why not the others. */
import { dirname } from "node:path";
import { DrawbridgeError } from "../../../base/errors/error.js";
import { chooseAddress, readAddressRecord } from "../../../cluster/bootstrap/address/index.js";
import type { DoctorContext } from "../context.js";
import { type Check, type Outcome, ok, warning, wrong } from "../diagnosis.js";

export const addressChoice: Check<DoctorContext> = {
  id: "address",
  roles: ["server", "bootstrap"],
  async run({ host, env, networks, pki, egressConfig }) {
    try {
      const choice = await chooseAddress({
        env,
        host: host.network,
        machineNetworks: networks.machine,
        serviceNetworks: networks.service,
      });
      const considered = choice.considered.map(({ outcome, detail }) => `${outcome}: ${detail}`);
      const record = (await readAddressRecord(pki)) ?? (await readAddressRecord(dirname(egressConfig)));
      const moved = record !== undefined && record.target !== choice.target;
      return [
        moved ? changed(record.target, choice.target, considered) : ok(`agents dial ${choice.target}`, ...considered),
        ...choice.warnings.map((text) =>
          warning(text.replace(/\.$/, ""), "Give the address that agents reach with DRAWBRIDGE_BOOTSTRAP_NODE_IP."),
        ),
      ];
    } catch (reason) {
      if (!(reason instanceof DrawbridgeError)) throw reason;
      return [wrong(reason.message.replace(/\.$/, ""), reason.remedy)];
    }
  },
};

function changed(before: string, now: string, considered: readonly string[]): Outcome {
  return wrong(
    `certificates and agents were made for ${before}, but this host would now be ${now}`,
    `Give the host ${before} back, or make the bridge anew: drawbridge bootstrap teardown, then up.`,
    ...considered,
  );
}
