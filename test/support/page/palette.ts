/** A picture in 256 colours: a page has hardly more, and its file is a third as large. */
import { crc32, deflateSync, inflateSync } from "node:zlib";

const SIGNATURE = 8;
const MOST = 256;

/** Of a PNG as browsers write it: eight bits, RGB or RGBA, not interlaced. */
export function withPalette(png: Buffer): Buffer {
  const { width, height, channels, pixels } = decoded(png);
  const counts = new Map<number, number>();
  for (let at = 0; at < pixels.length; at += channels) {
    const colour = pixels.readUIntBE(at, 3);
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  // Close shades of one edge are one: what is frequent stays as it is.
  const sorted = [...counts].sort(([, one], [, other]) => other - one).map(([colour]) => colour);
  const palette: number[] = [];
  for (const apart of [24, 0]) {
    for (const colour of sorted) {
      if (palette.length === MOST) break;
      if (palette.every((each) => distance(each, colour) > apart)) palette.push(colour);
    }
  }
  const nearest = new Map(palette.map((colour, index) => [colour, index]));
  const rows = Buffer.alloc((width + 1) * height);
  for (let at = 0, pixel = 0; at < pixels.length; at += channels, pixel++) {
    const colour = pixels.readUIntBE(at, 3);
    let index = nearest.get(colour);
    if (index === undefined) {
      index = palette.reduce(
        (best, each, n) => (distance(each, colour) < distance(palette[best]!, colour) ? n : best),
        0,
      );
      nearest.set(colour, index);
    }
    rows[Math.floor(pixel / width) * (width + 1) + 1 + (pixel % width)] = index;
  }
  const head = Buffer.from(png.subarray(SIGNATURE + 8, SIGNATURE + 8 + 13));
  head[9] = 3;
  const colours = Buffer.from(palette.flatMap((each) => [each >> 16, (each >> 8) & 255, each & 255]));
  const data = deflateSync(rows, { level: 9 });
  const parts = [chunk("IHDR", head), chunk("PLTE", colours), chunk("IDAT", data), chunk("IEND", Buffer.alloc(0))];
  return Buffer.concat([png.subarray(0, SIGNATURE), ...parts]);
}

function distance(one: number, other: number): number {
  const [red, green, blue] = [16, 8, 0].map((bits) => ((one >> bits) & 255) - ((other >> bits) & 255)) as number[];
  return red! ** 2 + green! ** 2 + blue! ** 2;
}

function chunk(name: string, content: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name), content]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(content.length);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}

function decoded(png: Buffer) {
  const data: Buffer[] = [];
  for (let at = SIGNATURE; at < png.length; at += 12 + png.readUInt32BE(at)) {
    if (png.toString("latin1", at + 4, at + 8) === "IDAT")
      data.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  }
  const [width, height] = [png.readUInt32BE(SIGNATURE + 8), png.readUInt32BE(SIGNATURE + 12)];
  const channels = png[SIGNATURE + 8 + 9] === 6 ? 4 : 3;
  const filtered = inflateSync(Buffer.concat(data));
  const length = width * channels;
  const pixels = Buffer.alloc(length * height);
  for (let row = 0; row < height; row++) {
    const filter = filtered[row * (length + 1)]!;
    for (let at = 0; at < length; at++) {
      const here = row * length + at;
      const left = at < channels ? 0 : pixels[here - channels]!;
      const above = row === 0 ? 0 : pixels[here - length]!;
      const corner = row === 0 || at < channels ? 0 : pixels[here - length - channels]!;
      pixels[here] = filtered[row * (length + 1) + 1 + at]! + predicted(filter, left, above, corner);
    }
  }
  return { width, height, channels, pixels };
}

function predicted(filter: number, left: number, above: number, corner: number): number {
  if (filter < 3) return [0, left, above][filter]!;
  if (filter === 3) return (left + above) >> 1;
  const away = [left, above, corner].map((each) => Math.abs(left + above - corner - each)) as [number, number, number];
  if (away[0] <= away[1] && away[0] <= away[2]) return left;
  return away[1] <= away[2] ? above : corner;
}
