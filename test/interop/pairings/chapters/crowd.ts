import { expect, test } from "vitest";
import { payload, readExactly, sha256 } from "../../../support/callers/bytes.js";
import { startEcho } from "../../../support/targets/echo.js";
import type { PairingFixture } from "../pairing.js";

const CALLERS = 100;
const LARGEST = 96 * 1024;

export function crowd({ tunnel }: PairingFixture): void {
  test(`serves ${CALLERS} callers at once, each hearing only its own words`, async () => {
    const echo = await startEcho();
    try {
      const echoes = await Promise.all(
        Array.from({ length: CALLERS }, async (_, i) => {
          const words = payload(`caller ${i}`, 1 + ((i * 7919) % LARGEST));
          const socket = await tunnel().open(echo.address);
          socket.write(words);
          const heard = await readExactly(socket, words.length);
          socket.destroy();
          return { caller: i, ownWords: sha256(heard) === sha256(words) };
        }),
      );
      expect(echoes.filter(({ ownWords }) => !ownWords)).toEqual([]);
      expect(echo.accepted).toBe(CALLERS);
    } finally {
      await echo.close();
    }
  }, 60_000);
}
