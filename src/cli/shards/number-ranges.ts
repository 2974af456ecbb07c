/** Numbers in their order as a reader would write them: `0, 2 to 5, 7, 8`. */
export function numberRanges(numbers: readonly number[]): string {
  const ranges: [first: number, last: number][] = [];
  for (const number of numbers) {
    const range = ranges.at(-1);
    if (range?.[1] === number - 1) range[1] = number;
    else ranges.push([number, number]);
  }
  return ranges.map(rangeText).join(', ');
}

function rangeText([first, last]: readonly [number, number]): string {
  if (first === last) return String(first);
  return last === first + 1 ? `${first}, ${last}` : `${first} to ${last}`;
}
