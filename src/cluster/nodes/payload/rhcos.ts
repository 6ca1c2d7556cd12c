/** What OpenShift's machine config server adds to a rendered MachineConfig before it hands it out. */
import { USUAL_MINOR } from "../../ignition/emit.js";
import type { Config } from "../../ignition/model/config.js";
import { versionOf } from "../../ignition/model/spec.js";
import { configOf, file } from "./files.js";
import type { HostSettings } from "./machine-config.js";

const MCO = "machineconfiguration.openshift.io";

/** Read at first boot by the operating system's own service, which applies it and usually reboots. */
export function firstBootConfig(name: string, host: HostSettings): Config {
  const encapsulated = {
    apiVersion: `${MCO}/v1`,
    kind: "MachineConfig",
    metadata: { name, creationTimestamp: null },
    spec: { ...host, config: { ignition: { version: versionOf(USUAL_MINOR) } } },
  };
  const state = {
    [`${MCO}/currentConfig`]: name,
    [`${MCO}/desiredConfig`]: name,
    [`${MCO}/state`]: "Done",
  };
  return configOf({
    files: [
      file("/etc/ignition-machine-config-encapsulated.json", JSON.stringify(encapsulated)),
      file("/etc/machine-config-daemon/node-annotations.json", JSON.stringify(state)),
    ],
  });
}
