export const sum = (numbers: readonly number[]): number => numbers.reduce((one, other) => one + other, 0);
