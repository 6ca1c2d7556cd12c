import { messageOf } from "./error.js";

/** Why a file was not read, in words that go on from its name. */
export function unreadBecause(reason: unknown): string {
  switch ((reason as NodeJS.ErrnoException | null)?.code) {
    case "ENOENT":
      return "it does not exist";
    case "EISDIR":
      return "it is a directory";
    case "EACCES":
      return `user ${process.getuid?.() ?? ""} may not read it; give it to that user with chown`;
    default:
      return messageOf(reason);
  }
}
