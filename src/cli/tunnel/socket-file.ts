/** Mode and owner of a unix socket file, as flags write them. */

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** Octal permissions: `0770`, `660`. Throws an Error with one sentence. */
export function parseFileMode(text: string): number {
  if (!/^0?[0-7]{3}$/.test(text)) throw new Error(`socket mode ${text} must be three octal digits, e.g. 0660`);
  return Number.parseInt(text, 8);
}

/** `uid:gid` in numbers. Throws an Error with one sentence. */
export function parseOwner(text: string): Owner {
  const [, uid, gid] = /^(\d{1,10}):(\d{1,10})$/.exec(text) ?? [];
  const highest = 2 ** 32 - 2;
  if (uid === undefined || gid === undefined || Number(uid) > highest || Number(gid) > highest) {
    throw new Error(`socket owner ${text} must be a numeric uid:gid, e.g. 0:1000`);
  }
  return { uid: Number(uid), gid: Number(gid) };
}
