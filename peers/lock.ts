import { spawn } from "node:child_process";
import { once } from "node:events";

/**
 * Runs `work` while holding an exclusive lock on the file. The lock belongs to a `flock` child that ends with our end of
 * its stdin, so the kernel releases it however this process dies.
 */
export async function withLock<T>(file: string, onWait: () => void, work: () => Promise<T>): Promise<T> {
  const holder = spawn("flock", [file, "sh", "-c", "echo held; exec cat >/dev/null"], {
    stdio: ["pipe", "pipe", "inherit"],
    // A Ctrl-C at the terminal must not release the lock before the build it guards has stopped.
    detached: true,
  });
  const exited = once(holder, "exit");
  exited.catch(() => undefined);
  const slow = setTimeout(onWait, 500);
  try {
    const refused = exited.then(() => Promise.reject(new Error(`cannot lock ${file}: flock ended early`)));
    await Promise.race([once(holder.stdout, "data"), refused]);
  } finally {
    clearTimeout(slow);
  }
  try {
    return await work();
  } finally {
    holder.stdin.end();
    await exited;
  }
}
