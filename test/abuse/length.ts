/**
 * How long the suites of this folder go on: `short` as part of `npm test`, `long` by `ABUSE=long npx vitest run test/abuse`, which sets
 * `ABUSE=long`.
 */
export const LONG: boolean = process.env['ABUSE'] === 'long';

/** One of two sizes, by the length of this run. */
export const sized = (sizes: { short: number; long: number }): number => (LONG ? sizes.long : sizes.short);
