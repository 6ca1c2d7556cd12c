/** All checks on one pool. A check that fails to be asked is an answer, too. */
import { messageOf } from "../../../base/errors/error.js";
import { type ObjectName, pathOf } from "../objects.js";
import { type Ailment, trouble } from "./ailment.js";
import { checkEndpoint } from "./checks/endpoint.js";
import { checkNodes } from "./checks/nodes.js";
import { checkOvnCertificate } from "./checks/ovn.js";
import { checkPayload } from "./checks/payload.js";
import { checkRequests } from "./checks/requests.js";
import { checkUserData } from "./checks/user-data.js";
import { admit, type Patient, type Surgery } from "./patient.js";

type Check = (surgery: Surgery, patient: Patient) => Ailment[] | Promise<Ailment[]>;

/** In the order in which a machine comes by. */
const checks: Readonly<Record<string, Check>> = {
  payload: (_, patient) => checkPayload(patient),
  "user-data": checkUserData,
  "ignition-server": (_, patient) => checkEndpoint(patient),
  requests: checkRequests,
  node: (_, patient) => checkNodes(patient),
  "ovn-certificate": checkOvnCertificate,
};

/** Rejects when the pool itself cannot be seen. */
export async function examine(surgery: Surgery, pool: ObjectName, names: readonly string[]): Promise<Ailment[]> {
  const patient = await admit(surgery, pool, names);
  const found: Ailment[] = [];
  for (const [id, check] of Object.entries(checks)) {
    try {
      found.push(...(await check(surgery, patient)));
    } catch (reason) {
      const about = { id, subject: pathOf(pool) };
      found.push(
        trouble(about, { code: "DB_NODE_UNCHECKED", finding: `${id} could not be checked: ${messageOf(reason)}` }),
      );
    }
  }
  return found;
}
