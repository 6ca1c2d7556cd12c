import type { Decoded, Fields, Shape } from "../config.js";
import type { ConfigPlace } from "../problems.js";

/** What an object of this shape must be besides well formed; problems are reported at its place or below it. */
export type Rule = readonly [shape: Shape, check: (entry: Fields, place: ConfigPlace) => void];

export const rule = <S extends Shape>(shape: S, check: (entry: Decoded<S>, place: ConfigPlace) => void): Rule => [
  shape,
  check as Rule[1],
];
