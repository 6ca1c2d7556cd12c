/** The admin port of another process that a command asks, and the token it shows there. */

import { DrawbridgeError } from "../../base/errors/error.js";
import { unreadBecause } from "../../base/errors/unread.js";
import { type AdminHere, adminsHere } from "../../insight/diagnosis/host/admin-here.js";
import { readAs } from "../../insight/diagnosis/host/this-host.js";
import { PROGRAMS } from "../../insight/diagnosis/programs.js";
import { isOurName } from "../../insight/observe/admin/own-name.js";
import { AdminPort } from "../../insight/watch/admin-port.js";
import { filePath, inGroup, text, type Values } from "../flags/flag.js";
import { refused } from "../flags/parse.js";
import type { Environment } from "../framework/define.js";
import { readInput } from "../framework/files.js";

export const adminPortFlags = (env: Environment) => ({
  admin: text(
    "Admin port of the process, http://127.0.0.1:8095 say; https beyond loopback. If empty, that of the process that runs here.",
  ),
  "token-file": filePath(
    "File with the admin token. If empty, DRAWBRIDGE_ADMIN_TOKEN_FILE, then the process' own --admin-token-file.",
    env.DRAWBRIDGE_ADMIN_TOKEN_FILE ?? "",
  ),
  ...inGroup("tls", {
    "ca-file": filePath("CA bundle that signed the admin port's certificate. If empty, the system's authorities."),
  }),
});

type AdminPortFlags = Values<ReturnType<typeof adminPortFlags>>;

export function checkAdminUrl(admin: string): void {
  const url = URL.canParse(admin) ? new URL(admin) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "")
    throw refused("--admin must be a URL such as http://127.0.0.1:8095, without a user or a password");
  // The process would refuse it, but only after the token was sent in the clear.
  if (url.protocol === "http:" && !isOurName(url.host, []))
    throw refused("--admin must be https beyond loopback: the token would be sent in the clear");
}

/** `title`: the program that the question is about, which is meant where others run here, too. */
export async function openAdminPort(flags: AdminPortFlags, title?: string): Promise<AdminPort> {
  const { caFile } = flags;
  if (flags.admin !== "") checkAdminUrl(flags.admin);
  const { url, tokenFile, pid } = chosenProcess(flags, await adminsHere(), title);
  const token = pid === undefined ? await readToken(tokenFile) : await tokenOf(pid, tokenFile);
  const ca = await readCa(caFile);
  return new AdminPort({ url: new URL(url), token: token.trim(), ca, caFile });
}

/** That of a process that runs here, with its own token. */
export async function openOwnPort({ pid, tokenFile, url }: AdminHere): Promise<AdminPort> {
  return new AdminPort({ url: new URL(url!), token: (await tokenOf(pid, tokenFile!)).trim() });
}

const CORRECT_CA = "Give --ca-file the file of the CA that issued the admin port's certificate.";
const CORRECT_TOKEN =
  "Give --token-file, or DRAWBRIDGE_ADMIN_TOKEN_FILE, the file that the process was given with --admin-token-file.";

/** The admin token in a file that a flag or the environment names. */
export const readToken = async (file: string): Promise<string> =>
  (await readInput(file, "DB_FLAG_VALUE", CORRECT_TOKEN)).toString();

/** Of --ca-file; undefined: the system's authorities. */
export const readCa = async (file: string): Promise<string | undefined> =>
  file === "" ? undefined : (await readInput(file, "DB_FLAG_VALUE", CORRECT_CA)).toString();

async function tokenOf(pid: number, file: string): Promise<string> {
  const token = await readAs(pid, file).catch((cause: unknown) => {
    const message = `${file}, the admin token file of process ${pid}, cannot be read: ${unreadBecause(cause)}.`;
    throw new DrawbridgeError("DB_ADMIN_TOKEN_FILE", message, { cause });
  });
  if (token === undefined)
    throw unknown(
      `process ${pid} names ${file} as its admin token file, but may not read it itself`,
      "Look whose process that is; where it is yours, let its user read the file, or give --token-file.",
    );
  return token;
}

/** Who chooses agents, and has frontends. */
export const SERVER = PROGRAMS.server.title;

const USUAL = "http://127.0.0.1:8095";

/** The process that is meant, by what the flags say and by which processes run here; `pid` where the token file is its own. */
export function chosenProcess(
  { admin, tokenFile }: Pick<AdminPortFlags, "admin" | "tokenFile">,
  all: readonly AdminHere[],
  concern = "",
) {
  const concerned = all.filter((each) => each.title === concern && each.tokenFile !== undefined);
  const here = admin === "" && concerned.length > 0 ? concerned : all;
  const able = here.filter((each) => each.tokenFile !== undefined);
  // One that was started without a token cannot be asked, so it is not meant while there is another.
  const meant = (admin === "" && able.length > 0 ? able : here).filter(({ url, tokenFile: own }) =>
    admin === "" ? tokenFile === "" || own === tokenFile : url === new URL(admin).origin,
  );
  if (admin === "" && tokenFile === "" && meant.length > 1) {
    const which = meant.map(({ pid, title, url }) => `${title} ${pid} at ${url}`).join(", ");
    throw unknown(`several processes run here (${which})`, "Name one of them with --admin.");
  }
  const isThere = concern === "" || admin !== "" || all.some(({ title }) => title === concern);
  if (!isThere && tokenFile === "" && able.length === 0 && all.length > 0)
    throw unknown(
      `no ${concern} runs here, only ${all.map(({ title, pid }) => `${title} ${pid}`).join(", ")}`,
      "Start it, or give --admin and --token-file of one that runs elsewhere.",
    );
  const [process] = meant;
  const file = tokenFile || process?.tokenFile;
  const pid = tokenFile === "" ? process?.pid : undefined;
  if (file !== undefined) return { url: admin || process?.url || USUAL, tokenFile: file, pid };
  if (process === undefined && admin === "") throw unknown("no process of drawbridge with an admin port runs here");
  if (process === undefined)
    throw unknown(`no process of drawbridge here has its admin port at ${new URL(admin).host}`);
  const { title, pid: number } = process;
  const without = "was started without --admin-token-file, or with one that it may not read, so nobody can ask it";
  const others = admin !== "" || all.some((each) => each.title === SERVER) ? "" : `; no ${SERVER} runs here`;
  throw unknown(`the ${title} ${number} ${without}${others}`, "Start it with --admin-token-file.");
}

/** Nothing is wrong with the flags: a script has to tell this from a wrong call. */
const unknown = (sentence: string, remedy?: string): DrawbridgeError =>
  new DrawbridgeError("DB_ADMIN_UNKNOWN", `${sentence}.`, { remedy });
