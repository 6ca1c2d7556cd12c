/** The front door's socket: a path that fits, and nobody in who must not be. */
import { lstat } from "node:fs/promises";
import { dirname } from "node:path";
import type { DoctorContext } from "../context.js";
import { type Check, type Outcome, ok, warning, wrong } from "../diagnosis.js";
import { socketAnswers } from "../host/socket-answers.js";

/** sockaddr_un's. */
const LONGEST = 107;
const FOR_OTHERS = 0o007;

export const socketPath: Check<DoctorContext> = {
  id: "socket",
  roles: ["server", "bootstrap"],
  run: async ({ socket, model }) => {
    const length = Buffer.byteLength(socket);
    if (length > LONGEST) {
      return [
        wrong(
          `the socket's path has ${length} bytes, and ${LONGEST} fit`,
          "Choose a shorter one with --uds-name.",
          socket,
        ),
      ];
    }
    // On OpenShift the directory is the bootstrap host's; there the socket's own mode keeps others out.
    const directory = model.for === "openshift" ? [] : await judgeDirectory(dirname(socket));
    return [...directory, await judgeSocket(socket)];
  },
};

async function judgeDirectory(path: string): Promise<Outcome[]> {
  const status = await lstat(path).catch(() => undefined);
  if (status === undefined) return [];
  const mode = status.mode & 0o777;
  if (!status.isDirectory())
    return [wrong(`${path} is not a directory`, `Remove it, or choose another place with --uds-name.`)];
  if ((mode & FOR_OTHERS) === 0) return [];
  return [
    wrong(
      `everybody may enter the socket's directory ${path}, and the socket opens the whole pod network`,
      `chmod 0770 ${path}`,
      `${path}: mode ${octal(mode)}`,
    ),
  ];
}

async function judgeSocket(path: string): Promise<Outcome> {
  const status = await lstat(path).catch(() => undefined);
  if (status === undefined) return ok(`${path} is not there yet; its path fits`);
  if (!status.isSocket()) {
    return wrong(
      `${path} is there and is not a socket, so the server refuses to start`,
      `Look what it is and remove it: rm ${path}`,
    );
  }
  const mode = status.mode & 0o777;
  if ((mode & FOR_OTHERS) !== 0) {
    return wrong(
      `everybody may use the socket ${path}`,
      `chmod 0770 ${path}; start the server with umask 0007`,
      `mode ${octal(mode)}`,
    );
  }
  if (await socketAnswers(path)) return ok(`somebody listens on ${path}`, `mode ${octal(mode)}`);
  return warning(
    `nobody listens on the socket ${path}: a server that was killed left it behind`,
    "Start the server; it removes the old one (--delete-existing-uds-file, the default).",
  );
}

const octal = (mode: number): string => mode.toString(8).padStart(4, "0");
