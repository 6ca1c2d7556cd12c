/** Rows that are not good yet, with what is missing. They are counted as they are; one that has become good must go. */
export const open: Readonly<Record<string, string>> = {
  "tls-agent-dials-frontend":
    "no cause (agent findings, agent log, agent readyz, doctor); no remedy (agent log, doctor); untrue: agent findings, doctor, server doctor, server findings",
  "tls-agent-dials-plain":
    "no cause (agent findings, agent log, agent readyz, doctor); no remedy (agent log, doctor); untrue: server doctor",
  "tls-agent-expired":
    "no cause (agent readyz, server doctor, server findings); no remedy (agent log); untrue: agent findings, doctor, server doctor, server findings",
  "tls-agent-foreign-certificate":
    "no cause (agent findings, agent readyz, server doctor, server findings); no remedy (agent log, doctor); untrue: agent findings, doctor, server doctor, server findings",
  "tls-agent-missing-intermediate":
    "no cause (agent findings, agent readyz, server doctor, server findings); no remedy (agent log, doctor); untrue: agent findings, doctor, server doctor, server findings",
  "tls-agent-no-certificate":
    "no cause (agent findings, agent readyz, server doctor, server findings); no remedy (agent log, doctor); untrue: agent findings, doctor, server doctor, server findings",
  "tls-agent-not-yet-valid":
    "no cause (agent findings, agent log, agent readyz, doctor, server doctor, server findings, server log); no remedy (agent log); untrue: agent findings, doctor, server doctor, server findings",
  "tls-agent-server-use":
    "no cause (agent findings, agent log, agent readyz, doctor, server doctor, server findings, server log); untrue: agent findings, doctor, server doctor, server findings",
  "tls-agent-wrong-ca":
    "no cause (agent findings, agent log, agent readyz, doctor); no remedy (agent log, doctor); untrue: server doctor",
  "tls-caller-expired":
    "no cause (server doctor, server findings); no remedy (server doctor, server findings); untrue: server doctor, server findings",
  "tls-caller-foreign-certificate":
    "no cause (server doctor, server findings); no remedy (server doctor, server findings); untrue: server doctor, server findings",
  "tls-caller-no-certificate":
    "no cause (server doctor, server findings); no remedy (server doctor, server findings); untrue: server doctor, server findings",
  "tls-caller-plain":
    "no cause (server doctor, server findings); no remedy (server doctor, server findings); untrue: server doctor, server findings",
  "tls-caller-server-use":
    "no cause (server doctor, server findings, server log); no remedy (server doctor, server findings); untrue: server doctor, server findings",
  "tls-server-client-use":
    "no cause (agent findings, agent log, agent readyz, doctor); no remedy (agent log, doctor); untrue: server doctor",
  "tls-server-expired": "no cause (agent findings, agent readyz, server log); no remedy (agent log, doctor)",
  "tls-server-missing-intermediate":
    "no cause (agent findings, agent log, agent readyz, doctor); no remedy (agent log, doctor); untrue: server doctor",
  "tls-server-wrong-name":
    "no cause (agent findings, agent log, agent readyz, doctor); no remedy (agent log, doctor); untrue: server doctor",
  "tls-sidecar-expired": "untrue: doctor",
  "tls-sidecar-foreign-certificate": "no cause (doctor); no remedy (doctor); untrue: doctor",
  "tls-sidecar-wrong-ca": "no cause (doctor, sidecar log)",
  "tls-sidecar-wrong-name": "docs/troubleshooting.md quotes the old words",
};
