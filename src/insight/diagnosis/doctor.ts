/** Asks everything that makes sense where it runs. A check that fails to be asked is an answer, too. */
import { messageOf } from "../../base/errors/error.js";
import { addressChoice } from "./checks/address.js";
import { adminApi, agentsConnected, path, refusals, serversConnected } from "./checks/admin.js";
import { certificates } from "./checks/certificates.js";
import { clock } from "./checks/clock.js";
import { access, permissions } from "./checks/cluster.js";
import { lease, pools } from "./checks/controllers.js";
import { egressAgreement } from "./checks/egress.js";
import { health } from "./checks/health.js";
import { ignitionCertificate, ignitionTokens } from "./checks/ignition.js";
import { certificatesInUse, listeners } from "./checks/in-use.js";
import { overlap, routeToPods } from "./checks/networks.js";
import { portsFree } from "./checks/ports.js";
import { fips, nodeVersion, openFiles } from "./checks/runtime.js";
import { serverReachable } from "./checks/server-reachable.js";
import { frontend, resolution } from "./checks/sidecar.js";
import { socketPath } from "./checks/socket.js";
import type { DoctorContext } from "./context.js";
import { type Check, type Diagnosis, wrong } from "./diagnosis.js";

export const checks: readonly Check<DoctorContext>[] = [
  nodeVersion,
  fips,
  openFiles,
  overlap,
  routeToPods,
  addressChoice,
  portsFree,
  socketPath,
  certificates,
  egressAgreement,
  health,
  serverReachable,
  frontend,
  resolution,
  ignitionCertificate,
  ignitionTokens,
  lease,
  pools,
  adminApi,
  agentsConnected,
  serversConnected,
  path,
  certificatesInUse,
  listeners,
  refusals,
  access,
  permissions,
  clock,
];

export async function diagnose(context: DoctorContext): Promise<Diagnosis[]> {
  const found: Diagnosis[] = [];
  for (const check of checks.filter(({ roles }) => roles.includes(context.role))) {
    const outcomes = await check
      .run(context)
      .catch((reason: unknown) => [
        wrong(
          `${check.id} could not be checked: ${messageOf(reason).split("\n")[0]}`,
          "Run doctor as root, on the host it is about.",
        ),
      ]);
    found.push(...outcomes.map((outcome) => ({ id: check.id, ...outcome })));
  }
  return found;
}
