import { number } from '../ui/format.ts';

/** `900 (31)`: the score and, if there is one, the secondary score. */
export const scoreText = ({ value, secondaryScore }: { value: number; secondaryScore?: number }): string =>
  secondaryScore === undefined ? number(value) : `${number(value)} (${number(secondaryScore)})`;
