/** Numbers that follow from a seed. */

export class Random {
  #a: number;
  #b: number;
  #c: number;
  #d: number;

  constructor(seed: number, name = "") {
    this.#a = 0x9e3779b9 ^ seed;
    this.#b = 0x243f6a88 ^ hashOf(name);
    this.#c = 0xb7e15162 ^ Math.floor(seed / 2 ** 32);
    this.#d = 1;
    for (let i = 0; i < 12; i++) this.uint32();
  }

  /** The generator sfc32. */
  uint32(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#d) | 0;
    this.#d = (this.#d + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
    return sum >>> 0;
  }

  /** At least 0, less than 1. */
  float(): number {
    return this.uint32() / 2 ** 32;
  }

  between(least: number, most: number): number {
    return least + this.float() * (most - least);
  }

  /** A whole number, both bounds included. */
  whole(least: number, most: number): number {
    return least + Math.floor(this.float() * (most - least + 1));
  }

  /** The same, with small numbers as likely as large ones by their order of magnitude. */
  scaled(least: number, most: number): number {
    return Math.round(Math.max(1, least) * (most / Math.max(1, least)) ** this.float());
  }

  chance(probability: number): boolean {
    return this.float() < probability;
  }

  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.float() * list.length)]!;
  }

  fill(bytes: Uint8Array): void {
    for (let i = 0; i < bytes.length; i++) bytes[i] = this.uint32() & 0xff;
  }
}

/** FNV-1a. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}
