/**
 * How long the suites of this folder run: `short` as part of `npm test`, `long` with `ABUSE=long npx vitest run test/abuse`.
 */
export const LONG: boolean = process.env['ABUSE'] === 'long';

/** One of two sizes, depending on the length of this run. */
export const sized = (sizes: { short: number; long: number }): number => (LONG ? sizes.long : sizes.short);
