/** The server outside a cluster's pods: a systemd unit, and the directory of its socket. */
import { posix } from "node:path";
import { serverArguments } from "../model/arguments.js";
import type { BridgeModel } from "../model/model.js";

export function serverUnitText(model: BridgeModel): string {
  const { paths, server } = model;
  const runtime = paths.socketDirectory.host;
  // systemd makes directories under /run only; any other has to be there already.
  const managed = posix.dirname(runtime) === "/run";
  const command = [server.program, ...serverArguments(model)].map(escaped).join(" \\\n  ");
  return `[Unit]
Description=Temporary bridge from the kube-apiserver into the cluster (drawbridge)
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
ExecStart=${command}
Restart=always
RestartSec=2
${managed ? `${managedDirectory(posix.basename(runtime))}\n` : ""}Group=${server.socketGroup}
UMask=0007
NoNewPrivileges=yes
CapabilityBoundingSet=
ProtectSystem=strict
ProtectHome=read-only
PrivateTmp=yes
ReadWritePaths=${runtime}

[Install]
WantedBy=multi-user.target
`;
}

/** Kept over restarts: a kube-apiserver in a container would go on looking into the old directory. */
function managedDirectory(name: string): string {
  return `RuntimeDirectory=${name}\nRuntimeDirectoryMode=0770\nRuntimeDirectoryPreserve=yes`;
}

/** systemd expands % and $ in commands. */
function escaped(word: string): string {
  const text = word.replaceAll("%", "%%").replaceAll("$", "$$$$");
  return /[\s"'\\]/.test(text) ? `"${text.replace(/["\\]/g, "\\$&")}"` : text;
}

/** For systemd-tmpfiles: the directory is there, and closed to others, before the kubelet could make an open one. */
export function tmpfilesText({ paths, server }: BridgeModel): string {
  return `d ${paths.socketDirectory.host} 0770 0 ${server.socketGroup} -\n`;
}
