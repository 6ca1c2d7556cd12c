import { DrawbridgeError, messageOf } from "./error.js";

/** Why a listener did not open, as one sentence. `what` names the door, `address` where it should have been. */
export function listenError(what: string, address: string, reason: unknown): DrawbridgeError {
  const code = (reason as NodeJS.ErrnoException | null)?.code;
  if (code === "EADDRINUSE") {
    return new DrawbridgeError(
      "DB_LISTEN_IN_USE",
      `The ${what} listener cannot open ${address}: it is already in use.`,
      {
        cause: reason,
      },
    );
  }
  const why =
    code === "EACCES"
      ? "this user may not use it"
      : code === "EADDRNOTAVAIL"
        ? "it is not an address of this host"
        : code === "ENOENT"
          ? "its directory does not exist"
          : messageOf(reason);
  return new DrawbridgeError("DB_LISTEN", `The ${what} listener cannot open ${address}: ${why}.`, { cause: reason });
}
