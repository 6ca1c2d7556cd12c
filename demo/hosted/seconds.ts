/** For lines below each other: ` 12.3 s`. */
export const secondsSince = (began: number): string => `${((Date.now() - began) / 1000).toFixed(1).padStart(5)} s`;
