/** Where agents dial: kept beside the certificates, and the same at every run. */
import { dirname } from "node:path";
import { DrawbridgeError } from "../../../errors/error.js";
import { type AddressChoice, keepAddress, readAddressRecord } from "../../address/index.js";
import type { BridgeModel } from "../../model/model.js";
import type { Host } from "../host.js";
import type { Site } from "../site.js";
import type { Step } from "../step.js";

/** `choose` looks at the host as it is now. */
export function addressStep({ host, model }: Site, choose: () => Promise<AddressChoice>): Step {
  return {
    name: "address",
    title: "Address that agents dial",
    makes: async () => [],
    async check() {
      const choice = await choose();
      const changed = changeOf(model, choice);
      if (changed !== undefined) return { state: "wrong", detail: changed };
      const detail = `${choice.target} (from ${choice.source})`;
      const kept = await readAddressRecord(host.files.real(addressDirectory(model)));
      return { state: kept === undefined ? "missing" : "done", detail };
    },
    async do() {
      const choice = await choose();
      const changed = changeOf(model, choice);
      if (changed !== undefined) throw new DrawbridgeError("DB_ADDRESS_CHANGED", `${changed}.`);
      await keepAddress(host.files.real(addressDirectory(model)), choice);
    },
  };
}

function changeOf({ serverAddresses: [told] }: BridgeModel, { target, source }: AddressChoice): string | undefined {
  if (target === told) return undefined;
  return `The bridge was made for ${told}, but the address of this host is now ${target} (from ${source})`;
}

export function addressDirectory({ paths }: BridgeModel): string {
  return dirname(paths.egressConfig.host);
}

/** The names of the server's certificate as they were chosen the first time. */
export async function keptNames(host: Host, model: BridgeModel): Promise<readonly string[]> {
  const kept = await readAddressRecord(host.files.real(addressDirectory(model)));
  return kept?.sans ?? model.serverAddresses;
}
