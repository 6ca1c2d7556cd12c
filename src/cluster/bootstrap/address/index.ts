export {
  type AddressChoice,
  type AddressInput,
  type Consideration,
  chooseAddress,
} from "./choose.js";
export { type HostAddress, type HostNetwork, hostNetwork } from "./host-network.js";
export { type AddressRecord, findAddressRecord, keepAddress, readAddressRecord } from "./record.js";
export type { AddressSource } from "./search.js";
