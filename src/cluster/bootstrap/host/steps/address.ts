/** Where agents dial: kept beside the certificates, and the same at every run. */
import { dirname } from "node:path";
import { DrawbridgeError } from "../../../../base/errors/error.js";
import { ADDRESS_VARIABLES } from "../../address/choose.js";
import { type AddressChoice, chooseAddress, keepAddress, readAddressRecord } from "../../address/index.js";
import type { BridgeModel } from "../../model/model.js";
import type { Host } from "../host.js";
import type { Site } from "../site.js";
import type { Step } from "../step.js";

export interface ToldAddress {
  /** From the command line. */
  readonly address: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * Where agents can dial this host as it is now. What was told the first time need not be told again, and an address that
 * still leads here is still good, also when the host has others by now.
 */
export async function addressNow(host: Host, told: ToldAddress, model?: BridgeModel): Promise<AddressChoice> {
  const { address, env } = told;
  const isTold = address !== undefined || ADDRESS_VARIABLES.some((name) => env[name]);
  const earlier = isTold || model === undefined ? undefined : await earlierAddress(host, model);
  const value = address ?? earlier;
  const flag = value === undefined ? undefined : { name: "--address", value };
  return chooseAddress({ flag, env, host: host.network });
}

async function earlierAddress(host: Host, model: BridgeModel): Promise<string | undefined> {
  const [address] = model.serverAddresses;
  const kept = await readAddressRecord(host.files.real(addressDirectory(model)));
  const wasTold = kept?.source === "flag" || kept?.source === "environment";
  const isOwn = (await host.network.globalAddresses()).some((own) => own.address === address);
  return wasTold || isOwn ? address : undefined;
}

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
