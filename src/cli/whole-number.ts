import { InvalidArgumentError } from 'commander';

/** An option that is a number of things, from 1 on. */
export function wholeNumber(text: string): number {
  const number = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (number === 0) throw new InvalidArgumentError('It must be a whole number from 1 to 999999.');
  return number;
}
