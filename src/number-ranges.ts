/** Numbers in equal steps are written as a range from this length on; consecutive numbers from three on. */
const LEAST_STEPPED = 4;
const LEAST_NEIGHBOURS = 3;

/** Writes ascending numbers as a reader would: `0, 2 to 5, 7, 8`, or `0, 3 to 255 in steps of 2`. */
export function numberRanges(numbers: readonly number[]): string {
  const texts: string[] = [];
  for (let at = 0; at < numbers.length;) {
    const step = numbers[at + 1]! - numbers[at]!;
    const length = lengthOfRun(numbers, at, step);
    const isRange = length >= (step === 1 ? LEAST_NEIGHBOURS : LEAST_STEPPED);
    texts.push(isRange ? rangeText(numbers[at]!, numbers[at + length - 1]!, step) : String(numbers[at]));
    at += isRange ? length : 1;
  }
  return texts.join(', ');
}

/** How many numbers, from an index on, follow each other in equal steps. */
function lengthOfRun(numbers: readonly number[], from: number, step: number): number {
  let length = 1;
  while (numbers[from + length] === numbers[from]! + length * step) length += 1;
  return length;
}

const rangeText = (first: number, last: number, step: number): string =>
  `${first} to ${last}${step === 1 ? '' : ` in steps of ${step}`}`;
