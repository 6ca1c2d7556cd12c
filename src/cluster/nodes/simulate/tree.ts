/** A directory that is the whole file system for a simulated machine: no path and no link leads out of it. */
import { chmod, link, lstat, mkdir, readdir, readlink, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join, resolve, sep } from "node:path";
import { DrawbridgeError, messageOf, wrapErrors } from "../../../base/errors/error.js";

/** The kernel follows as many. */
const MOST_LINKS = 40;
const DIRECTORY_MODE = 0o755;

export class Tree {
  readonly root: string;

  private constructor(root: string) {
    this.root = root;
  }

  /** Only a new or an empty directory: what is there already is somebody's. */
  static async at(path: string): Promise<Tree> {
    const root = resolve(path);
    await wrapErrors("DB_SIMULATE_ROOT", `${root} cannot be a machine's root`, async () => {
      // The configuration of machines is not for every user of this host.
      await mkdir(root, { recursive: true, mode: 0o700 });
      if ((await readdir(root)).length > 0) throw new Error("it is not empty; name a new directory");
    });
    return new Tree(root);
  }

  /** Where a path of the machine is on this host; links on the way are followed as the machine would, the last is not. */
  async place(path: string): Promise<string> {
    const rest = partsOf(path);
    const last = rest.pop();
    if (last === ".." || last === undefined) throw this.#refused(path, "it names no entry of a directory");
    const place = join(await this.#followed(path, rest), last);
    if (!place.startsWith(this.root + sep)) throw this.#refused(path, "it leads out of the root");
    return place;
  }

  async #followed(path: string, parts: readonly string[]): Promise<string> {
    let at = this.root;
    let links = 0;
    const rest = [...parts];
    for (let part = rest.shift(); part !== undefined; part = rest.shift()) {
      const next = part === ".." ? (at === this.root ? at : dirname(at)) : join(at, part);
      const target = await readlink(next).catch(() => undefined);
      if (target === undefined) at = next;
      else {
        links += 1;
        if (links > MOST_LINKS) throw this.#refused(path, "too many links lead to each other");
        if (target.startsWith("/")) at = this.root;
        rest.unshift(...partsOf(target));
      }
    }
    return at;
  }

  async write(path: string, content: Buffer | string, mode: number, options: { readonly over?: boolean } = {}) {
    const place = await this.#prepared(path);
    await this.#did(path, async () => {
      if (options.over) await rm(place, { force: true });
      await writeFile(place, content, { flag: "wx", mode: 0o600 });
      await chmod(place, mode);
    });
  }

  async directory(path: string): Promise<void> {
    const place = await this.#withoutLink(path);
    await this.#did(path, () => mkdir(place, { recursive: true, mode: DIRECTORY_MODE }));
  }

  async mode(path: string, mode: number): Promise<void> {
    const place = await this.#withoutLink(path);
    await this.#did(path, () => chmod(place, mode));
  }

  async symlink(path: string, target: string, options: { readonly over?: boolean } = {}): Promise<void> {
    const place = await this.#prepared(path);
    await this.#did(path, async () => {
      if (options.over) await rm(place, { recursive: true, force: true });
      await symlink(target, place);
    });
  }

  async hardLink(path: string, target: string): Promise<void> {
    const from = await this.place(target);
    const place = await this.#prepared(path);
    await this.#did(path, () => link(from, place));
  }

  /** Where the file of that path is on this host, links followed as the machine would; undefined when there is none. */
  async file(path: string): Promise<string | undefined> {
    const place = await this.#followed(path, partsOf(path));
    const found = await lstat(place).catch(() => undefined);
    return found?.isFile() ? place : undefined;
  }

  /** The kernel would follow it, and not as the machine does. */
  async #withoutLink(path: string): Promise<string> {
    const place = await this.place(path);
    const found = await lstat(place).catch(() => undefined);
    if (found?.isSymbolicLink()) throw this.#refused(path, "a link is there");
    return place;
  }

  async #prepared(path: string): Promise<string> {
    const place = await this.place(path);
    await this.#did(path, () => mkdir(dirname(place), { recursive: true, mode: DIRECTORY_MODE }));
    return place;
  }

  async #did(path: string, action: () => Promise<unknown>): Promise<void> {
    try {
      await action();
    } catch (reason) {
      const { code } = reason as NodeJS.ErrnoException;
      throw this.#refused(path, code === "EEXIST" ? "something is there already" : messageOf(reason));
    }
  }

  #refused(path: string, why: string): DrawbridgeError {
    return new DrawbridgeError("DB_SIMULATE_ROOT", `${path} cannot be written below ${this.root}: ${why}`);
  }
}

function partsOf(path: string): string[] {
  return path.split("/").filter((part) => part !== "" && part !== ".");
}
